"""A connection that dies at any byte: afterwards no mail is lost, and none is there twice; rows S30, S32 and S37."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.config.settings import Settings
from support_agent.core.observing import UNOBSERVED
from support_agent.errors import TransientError
from support_agent.mail.message import parse
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from support_agent.workflow.intake import ALONE, Intake
from support_agent.workflow.stages import Stages
from support_agent.workflow.starts import Journeys, Starts
from tests.fakes_journey import Clock
from tests.integration.transport.test_mailbox import mail
from tests.servers.certificates import Certificates
from tests.servers.dovecot import NO_MOVE, Dovecot, running_dovecot
from tests.servers.tcp_proxy import cutting_proxy

pytestmark = pytest.mark.servers
NUMBERS = count(1)
MAILS = [mail(number) for number in (1, 2, 3)]
STEP_BYTES = 139
"""Between two cuts; no divisor of anything, so that they fall on all parts of a line."""


@dataclass
class Silent:
    """An engine and stages that take what they are given and do nothing: the mails stay as they were recorded."""

    def start(self, mail_id: str, thread: str) -> None:
        """Begin nothing."""

    def in_hand(self) -> tuple[int, int]:
        """Nothing."""
        return 0, 0


@pytest.fixture(scope="module")
def without_move(certificates: Certificates) -> Iterator[Dovecot]:
    """A server that copies, and expunges by UID."""
    with running_dovecot(certificates, NO_MOVE) as server:
        yield server


def read(imap: ImapSettings, store: Store) -> None:
    """One round of the agent's loop on the mailbox."""
    journeys, now = cast("Journeys", Silent()), Clock()
    starts = Starts(store, cast("Stages", None), journeys, now)
    intake = Intake(Settings(imap=imap), store, starts, lambda: Mailbox(imap), now, UNOBSERVED)
    with intake.mailbox() as mailbox:
        intake.fetch(mailbox, Event(), ALONE)


def survives_every_cut(dovecot: Dovecot, empty_store: Path, folder: Path) -> None:
    """Cut after N bytes, for N from nothing to a whole conversation; then read with a whole connection."""
    with cutting_proxy(dovecot.imap_port) as proxy:
        needed, cut_after, cuts = 1, 0, 0
        while cut_after < needed:
            user = f"cut-{next(NUMBERS)}@harborfile.example"
            dovecot.fill(user, MAILS)
            plain = {"port": proxy.port, "security": Security.PLAIN}
            imap = dovecot.settings(user, move_handled_to="Handled", **plain)
            file = folder / f"{cut_after}.sqlite3"
            shutil.copy(empty_store, file)
            with Store.open(f"sqlite:///{file}") as store:
                proxy.cut_after = cut_after
                try:
                    read(imap, store)
                except TransientError:
                    cuts += 1
                proxy.cut_after = None
                read(imap, store)
                needed = max(needed, proxy.passed)
                recorded = sorted(store.mails.raw(record.id) for record in store.mails.find())
            assert recorded == sorted(MAILS), f"cut after {cut_after} bytes"
            assert moved(dovecot, user, "Handled") == ["mail 1", "mail 2", "mail 3"], f"cut after {cut_after} bytes"
            file.unlink()
            cut_after += STEP_BYTES
    assert cuts > 20


def moved(dovecot: Dovecot, user: str, folder: str) -> list[str]:
    """The subjects of the mails in a folder; none is left in the INBOX."""
    with dovecot.as_person(user) as person:
        assert person.search() == []
        person.select_folder(folder)
        raws = [data[b"BODY[]"] for data in person.fetch(person.search(), ["BODY.PEEK[]"]).values()]
    return sorted(parse(raw).subject for raw in raws)


def test_s30_a_connection_that_dies_at_any_byte_loses_no_mail(
    dovecot: Dovecot, empty_store: Path, tmp_path: Path
) -> None:
    """Nor leaves one behind that was to be moved (S32)."""
    survives_every_cut(dovecot, empty_store, tmp_path)


def test_s32_nor_copies_one_twice_where_the_server_cannot_move(
    without_move: Dovecot, empty_store: Path, tmp_path: Path
) -> None:
    """Cut between COPY and UID EXPUNGE, the mail is in both folders; the next life looks before it copies."""
    survives_every_cut(without_move, empty_store, tmp_path)
