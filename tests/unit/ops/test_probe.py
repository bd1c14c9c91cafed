"""The canary: an ordinary mail of an ordinary sender, timed hop by hop, and never one too many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from email import message_from_bytes, policy
from typing import Any

import pytest
from pydantic import SecretStr

from support_agent.cases.pause import write_pause
from support_agent.cli.printing import probed as printed
from support_agent.config.mail_servers import ImapSettings, SignIn, SmtpSettings
from support_agent.config.settings import Settings
from support_agent.config.watch import ProbeSettings
from support_agent.core.modes import Mode
from support_agent.demo import AUTHSERV_ID
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.probe import Probe, Probed, canary_imap, canary_smtp
from support_agent.store.records import OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_journey import DESK, NOON, Office, with_agent
from tests.fakes_worker import At

CANARY = "canary@customers.example"


@dataclass
class Loop:
    """The way of the canary: its server proves it and hands it to an agent at work, and its mailbox gets the answer."""

    office: Office
    delivery: Delivery = field(default_factory=lambda: Delivery(status="sent", detail="250 ok"))
    arrives: bool = True
    is_read: bool = True
    raws: list[bytes] = field(default_factory=list)
    waited_s: float = 0.0

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        self.raws.append(raw)
        proof = f"Authentication-Results: {AUTHSERV_ID}; dmarc=pass header.from=customers.example\r\n"
        if self.delivery.status == "sent" and self.is_read:
            self.office.handle(proof.encode() + raw)
        return self.delivery

    def close_idle(self) -> None:
        """Nothing is open."""

    def has_message_id(self, folder: str, message_id: str) -> bool:
        return self.arrives and any(message_id.encode() in raw for _, raw in self.office.transport.given)

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds

    def probe(self, nonce: str = "n1") -> Probed:
        office = self.office
        return Probe(
            office.settings, self, lambda: self, office.store, office.clock, lambda: self.waited_s, self.wait
        ).run(nonce)


def with_probe(office: Office, **values: object) -> Office:
    base = {"address": CANARY, "question": "Can I get a refund?", "timeout_s": 60}
    settings = office.settings.model_copy(update={"probe": ProbeSettings.model_validate({**base, **values})})
    return replace(office, settings=settings)


@pytest.fixture
def loop(office: Office) -> Loop:
    return Loop(with_probe(office))


def test_each_hop_is_timed(loop: Loop) -> None:
    found = loop.probe()
    assert (found.is_ok, found.outcome, found.document, found.why) == (True, "answered", 1, "")
    assert [hop.name for hop in found.hops] == ["submitted", "recorded", "planned", "sent", "back"]
    assert found.seconds == pytest.approx(sum(hop.seconds for hop in found.hops))
    lines = printed(found).splitlines()
    assert lines[0].split()[0] == "submitted"
    assert lines[-1].endswith("answered by document 1")


def test_the_canary_is_an_ordinary_mail(loop: Loop) -> None:
    """Rule: nothing in it tells it from a customer's, and each has an address of its own."""
    loop.probe("n1")
    mail = message_from_bytes(loop.raws[0], policy=policy.SMTP)
    assert sorted(mail.keys()) == [
        "Content-Transfer-Encoding",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
        "Subject",
        "To",
    ]
    local, _, domain = str(mail["From"]).partition("@")
    assert local.startswith("canary+2026")
    assert (domain, mail["Message-ID"]) == ("customers.example", "<n1@customers.example>")


def test_the_desk_hears_nothing_of_probes_and_the_next_is_answered_too(loop: Loop) -> None:
    """Failure: the same answer to the same sender goes to a person, within agent.identical_answer_days."""
    assert [loop.probe(f"n{number}").is_ok for number in range(3)] == [True] * 3
    assert DESK not in [to for to, _ in loop.office.transport.given]


def test_a_probe_too_many_is_not_sent(loop: Loop) -> None:
    """Rule: a limit that would give the mail to a person is respected before, not bypassed; tags count as one."""
    loop.office = with_agent(loop.office, max_mails_per_sender_a_day=2)
    assert [loop.probe(f"n{number}").is_ok for number in range(2)] == [True] * 2
    with pytest.raises(PermanentError, match="probe less often"):
        loop.probe("n3")
    assert len(loop.raws) == 2
    assert DESK not in [to for to, _ in loop.office.transport.given]


def test_without_tags_one_probe_is_answered_until_the_answer_may_be_repeated(office: Office) -> None:
    clock = At(NOON)
    loop = Loop(replace(with_probe(office, has_tags=False), clock=clock))
    assert loop.probe("n1").is_ok
    with pytest.raises(PermanentError, match="identical_answer_days"):
        loop.probe("n2")
    clock.instant += timedelta(days=office.settings.agent.identical_answer_days, seconds=1)
    assert loop.probe("n3").is_ok
    assert DESK not in [to for to, _ in loop.office.transport.given]


@pytest.mark.parametrize(
    ("broken", "why", "hops"),
    [
        ({"delivery": Delivery(status="retry", detail="421 later")}, "not sent: 421 later", 0),
        ({"is_read": False}, "no worker recorded it within 60 s", 1),
        ({"arrives": False}, "the answer was sent, and did not arrive within 60 s", 4),
    ],
    ids=["submission", "worker", "way back"],
)
def test_the_hop_that_fails_is_named(loop: Loop, broken: dict[str, Any], why: str, hops: int) -> None:
    found = replace(loop, **broken).probe()
    assert not found.is_ok
    assert found.why.startswith(why)
    assert len(found.hops) == hops
    assert why in printed(found)


def test_an_answer_that_cannot_leave_is_said(loop: Loop) -> None:
    loop.office.transport.deliveries = [Delivery(status="retry", detail="450 later")]
    assert loop.probe().why == "the answer is ready: 450 later"


def test_an_answer_that_waits_for_a_person_is_said(office: Office) -> None:
    """A new workspace is in shadow: the message says how the canary's answer may leave."""
    shadow = office.settings.autonomy.model_copy(update={"start": Mode.SHADOW})
    office = replace(office, settings=office.settings.model_copy(update={"autonomy": shadow}))
    found = Loop(with_probe(office)).probe()
    assert (found.is_ok, found.document) == (False, 1)
    assert "waits for a person: `support-agent autonomy set" in found.why


def test_a_question_that_a_person_gets_is_a_failure_at_once(office: Office) -> None:
    """The acknowledgement comes back, but no document answered."""
    loop = Loop(with_probe(office, question="Do you have a table for four?", document=1))
    found = loop.probe()
    assert (found.is_ok, found.outcome) == (False, "acknowledged")
    assert found.why == "document 1 should have answered, not an acknowledgement"
    assert loop.office.store.outbox.find(kind=OutgoingKind.PACKET)


def test_another_document_is_a_failure(office: Office) -> None:
    found = Loop(with_probe(office, document=2)).probe()
    assert (found.document, found.why) == (1, "document 2 should have answered, not 1")


def test_a_paused_agent_does_not_answer(loop: Loop) -> None:
    """Rule: no exception for the canary."""
    write_pause(loop.office.settings.agent, "a test")
    try:
        found = loop.probe()
    finally:
        loop.office.settings.agent.pause_file.unlink()
    assert (found.is_ok, found.why) == (False, "it was recorded, and not decided within 60 s")
    assert loop.waited_s == 60


@pytest.mark.parametrize(
    "values",
    [{"address": ""}, {"question": " "}, {"address": DESK.upper()}, {"address": "support+canary@harborfile.example"}],
)
def test_settings_that_cannot_work_are_refused(office: Office, values: dict[str, str]) -> None:
    loop = Loop(with_probe(office, **values))
    with pytest.raises(ConfigError, match=r"probe\.address"):
        loop.probe()
    assert loop.raws == []


def test_the_canarys_servers_are_the_agents_unless_they_are_named() -> None:
    """It signs in as itself, with a password, whatever the agent does."""
    settings = Settings(
        imap=ImapSettings(host="imap.example.com", auth=SignIn.XOAUTH2, user="agent", move_handled_to="Done"),
        smtp=SmtpSettings(host="smtp.example.com", port=587, user="agent", verp=True),
        probe=ProbeSettings(address=CANARY, password=SecretStr("x"), imap_host="imap.canary.example", imap_port=1993),
    )
    imap, smtp = canary_imap(settings), canary_smtp(settings)
    assert (imap.host, imap.port, imap.user, imap.auth) == ("imap.canary.example", 1993, CANARY, SignIn.PASSWORD)
    assert (imap.folder, imap.move_handled_to) == ("INBOX", "")
    assert (smtp.host, smtp.port, smtp.user, smtp.verp) == ("smtp.example.com", 587, CANARY, False)
