"""The desk by mail with the whole program, a real Dovecot and a real Postfix; only the model is scripted.

A packet is read out of the desk's mailbox, and its line goes back as a mail that the border server has proven.
"""

from __future__ import annotations

import email
import json
import re
import time
from collections.abc import Iterator
from datetime import date
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from support_agent.demo import SUPPORT_ADDRESS
from support_agent.demo.workspace import init
from tests.acceptance.test_run_once import servers_as_settings
from tests.fakes_desk import LINE
from tests.fakes_journey import DESK, JAMES, write
from tests.servers.dovecot import Dovecot
from tests.servers.postfix import Postfix
from tests.servers.program import ForkedProgram

pytestmark = pytest.mark.servers
PATIENCE_S = 60.0
PRIYA, NOAH, OLIVIA = "priya.nair@example.net", "noah.williams@example.net", "olivia.brown@example.org"
REFUND = "Can I get a refund?"
HOLD_S = "600"
QUICKLY = {
    "AUTONOMY__START": "shadow",
    "AUTONOMY__LEAST_JUDGED": "1",
    "AUTONOMY__CONFIDENCE": "0.5",
    "AUTONOMY__APPROVE_FROM": "0.45",
    "AUTONOMY__AUTO_FROM": "0.65",
}
"""A rule by which one right answer earns `approve`, and two earn `auto`."""


class House:
    """A workspace on real servers, and the mailboxes of the people around it."""

    def __init__(self, program: ForkedProgram, folder: Path, dovecot: Dovecot, postfix: Postfix) -> None:
        self._program, self.folder, self.dovecot = program, folder, dovecot
        self.settings = servers_as_settings(dovecot, postfix)

    def program(self, *arguments: str, **settings: str) -> str:
        """Run the program to its end; its output."""
        done = self._program.run(*arguments, folder=self.folder, settings={**self.settings, **settings}, scripted=True)
        assert done.code == 0, done.err
        return done.out

    def receive(self, raw: bytes, **settings: str) -> None:
        """A mail comes to the agent's mailbox, and the program handles it."""
        with self.dovecot.as_person(SUPPORT_ADDRESS) as person:
            person.append("INBOX", raw)
        self.program("run", "--once", **settings)

    def inbox(self, user: str, count: int) -> list[EmailMessage]:
        """What a person has got, once there are so many; Postfix delivers in its own time."""
        end = time.monotonic() + PATIENCE_S
        while len(found := self._inbox(user)) < count and time.monotonic() < end:
            time.sleep(0.1)
        assert len(found) == count, [mail["Subject"] for mail in found]
        return found

    def items(self) -> dict[str, Any]:
        return {item["key"]: item for item in json.loads(self.program("autonomy", "--json"))}

    def _inbox(self, user: str) -> list[EmailMessage]:
        with self.dovecot.as_person(user) as person:
            uids = person.search()
            fetched = person.fetch(uids, ["BODY.PEEK[]"]) if uids else {}
        return [email.message_from_bytes(fetched[uid][b"BODY[]"], policy=policy.default) for uid in sorted(fetched)]

    def empty(self) -> None:
        for user in (SUPPORT_ADDRESS, DESK, JAMES, PRIYA, NOAH, OLIVIA):
            with self.dovecot.as_person(user) as person:
                if uids := person.search():
                    person.delete_messages(uids)
                    person.expunge()


@pytest.fixture
def house(program: ForkedProgram, dovecot: Dovecot, postfix: Postfix, tmp_path: Path) -> Iterator[House]:
    """A new workspace, as `init` writes it, and empty mailboxes."""
    init(tmp_path / "workspace", date(2026, 11, 20))
    made = House(program, tmp_path / "workspace", dovecot, postfix)
    made.empty()
    yield made
    made.empty()


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def lines_of(packet: EmailMessage) -> dict[str, str]:
    return {command: line for line, command, _ in LINE.findall(text_of(packet))}


def test_from_shadow_to_an_approved_answer_and_a_correction(house: House) -> None:
    """A new workspace shows its answer to the desk; approved it arrives, and a correction is remembered."""
    house.receive(write(REFUND, sender=JAMES), AUTONOMY__START="shadow")
    (acknowledgement,) = house.inbox(JAMES, 1)
    assert "refund" not in text_of(acknowledgement).lower()
    (packet,) = house.inbox(DESK, 1)
    assert "| Subject: Re: A question" in text_of(packet)

    line = lines_of(packet)["approve"]
    house.receive(write("", subject=line, sender=DESK, proof="spf", number=2), AUTONOMY__START="shadow")
    assert len(house.inbox(JAMES, 1)) == 1  # not proven

    house.receive(write("", subject=line, sender=DESK, number=3), AUTONOMY__START="shadow")
    answer = house.inbox(JAMES, 2)[1]
    assert "Refund policy" in text_of(answer)
    shown = re.findall(r"^\|(.*)$", text_of(packet), re.MULTILINE)
    assert [line.strip() for line in text_of(answer).splitlines()] == [line.strip() for line in shown][2:]

    house.receive(write(REFUND, sender=PRIYA, number=4), AUTONOMY__START="approve")
    packets = house.inbox(DESK, 3)  # and one about the mail that was not proven
    line = next(lines for lines in map(lines_of, packets[::-1]) if "approve" in lines)["document 1"]
    house.receive(write("", subject=line.replace("document 1", "document 2"), sender=DESK, number=5))
    assert "Cancellation" in text_of(house.inbox(PRIYA, 2)[1])
    item = house.items()["document:1"]
    assert (item["judged"], item["right"]) == (2, 1)
    assert "identical" in house.program("replay", "--all")


def test_an_answer_is_undone_in_the_hold_window(house: House) -> None:
    """The customer gets nothing, the desk is told, and the item is corrected."""
    holding = {"AUTONOMY__START": "auto", "AUTONOMY__HOLD_S": HOLD_S}
    house.receive(write(REFUND, sender=JAMES), **holding)
    (held,) = json.loads(house.program("outbox", "--json"))
    assert (held["status"], held["recipient"]) == ("ready", JAMES)
    assert "cancelled" in house.program("outbox", "undo", held["outbox_id"], **holding)
    house.program("run", "--once", **holding)
    (notice,) = house.inbox(DESK, 1)
    assert "undone before it left" in text_of(notice)
    assert house.inbox(JAMES, 0) == []
    assert "corrected, the operator: nothing" in house.items()["document:1"]["why"]


def test_an_item_earns_its_way_to_auto_and_a_correction_takes_it_back(house: House) -> None:
    """Each approval by mail is a judgement; the third customer is answered by no person, the fourth by one again."""
    for number, (customer, earned) in enumerate(((JAMES, "approve"), (PRIYA, "auto")), start=1):
        house.receive(write(REFUND, sender=customer, number=10 * number), **QUICKLY)
        packet = house.inbox(DESK, number)[-1]
        line = lines_of(packet)["approve"]
        house.receive(write("", subject=line, sender=DESK, number=10 * number + 1), **QUICKLY)
        assert "Refund policy" in text_of(house.inbox(customer, 2)[1])
        assert house.items()["document:1"]["mode"] == earned

    house.receive(write(REFUND, sender=NOAH, number=30), **QUICKLY)
    (answer,) = house.inbox(NOAH, 1)
    assert "Refund policy" in text_of(answer)
    house.inbox(DESK, 2)

    (case,) = [
        one["case"]["id"]
        for one in json.loads(house.program("cases", "--json"))
        if one["case"]["customer_address"] == NOAH
    ]
    house.program("autonomy", "judge", case, "own-words", **QUICKLY)
    assert house.items()["document:1"]["mode"] == "approve"
    house.receive(write(REFUND, sender=OLIVIA, number=40), **QUICKLY)
    (acknowledgement,) = house.inbox(OLIVIA, 1)
    assert "Refund policy" not in text_of(acknowledgement)
    assert "approve" in lines_of(house.inbox(DESK, 3)[-1])
    assert "identical" in house.program("replay", "--all")
