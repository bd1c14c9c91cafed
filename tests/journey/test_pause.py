"""The kill switch and the running program: real processes, a real mailbox and mail server, a scripted model (S12).

Nothing here waits for a time to pass: that a mail does not go out is told by one that came later and did.
"""

from __future__ import annotations

import email
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email import policy
from pathlib import Path
from typing import Any

import pytest

from support_agent.demo.servers import DemoServers
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.store.records import MailStatus, OutboxRecord, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from tests.acceptance.program import PROGRAM, Done
from tests.journey.mails import DESK, EMMA, WAYS
from tests.journey.program import COMMAND
from tests.servers.tcp_proxy import CuttingProxy, cutting_proxy

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
"""No promise about speed: only so that a program that hangs is seen."""
LOOK_S = 0.1


class Workplace:
    """A workspace, the servers around it, and the program in it; `smtp` can cut the way to the mail server."""

    def __init__(self, folder: Path, servers: DemoServers, smtp: CuttingProxy, store: Store) -> None:
        self.folder, self.servers, self.smtp, self.store = folder, servers, smtp, store
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._numbers = iter(range(1, 100))

    # The program

    def start(self) -> None:
        """One life of `support-agent run`, until the engine has been launched."""
        launched = self.said("engine_launched")
        with self.log.open("ab") as log:
            arguments = [*COMMAND, "run", "--config", str(self.folder / CONFIG_FILE)]
            self.process = subprocess.Popen(arguments, cwd=ROOT, env=self._environment(), stderr=log)
        self.wait(lambda: self.said("engine_launched") > launched)

    def kill(self) -> None:
        """`kill -9`."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """As an operator does; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def command(self, *arguments: str) -> Done:
        """Another command, of the program as it is installed, beside the one that runs."""
        done = subprocess.run(
            [PROGRAM, *arguments, "--config", str(self.folder / CONFIG_FILE)],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def wait(self, is_so: Callable[[], bool]) -> None:
        """Until something is so; the log tells why it never was."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert self.process is None or self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(LOOK_S)

    def said(self, event: str) -> int:
        """How often the log has an event."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return sum(json.loads(line)["event"] == event for line in lines if line.startswith("{") and line.endswith("}"))

    def _environment(self) -> dict[str, str]:
        local = {"HOST": self.servers.host, "SECURITY": "plain"}
        settings = {f"{section}__{key}": value for section in ("IMAP", "SMTP") for key, value in local.items()}
        settings |= {"IMAP__USER": self.servers.user, "IMAP__PASSWORD": self.servers.password}
        settings |= {"IMAP__PORT": str(self.servers.imap_port), "SMTP__PORT": str(self.smtp.port)}
        settings |= {"IMAP__SKIP_EXISTING": "false"}
        settings |= {"IMAP__POLL_INTERVAL_S": "0.1", "ENGINE__POLL_INTERVAL_S": "0.02", "LOG__FORMAT": "json"}
        settings |= {"SMTP__RETRY_BASE_S": "0.01", "SMTP__RETRY_MAX_S": "0.02", "SMTP__MAX_ATTEMPTS": "100"}
        settings |= {"SMTP__IDLE_S": "0", "AGENT__IDENTICAL_ANSWER_DAYS": "0", "AUTONOMY__START": "auto"}
        settings |= {"MODEL__CACHE_DIR": str(self.folder / "models")}  # none there: `doctor` need not hash them
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SUPPORT_AGENT_")}
        return kept | {f"SUPPORT_AGENT__{key}": value for key, value in settings.items()}

    # The mails

    def deliver(self, way: str) -> bytes:
        """Put the next mail of this kind into the mailbox."""
        raw = WAYS[way].mail(next(self._numbers))
        self.servers.deliver(raw)
        return raw

    def status(self, raw: bytes) -> MailStatus | None:
        mail = self.store.mails.get(mail_id_of(raw))
        return None if mail is None else mail.status

    def outbox(self, raw: bytes) -> dict[OutgoingKind, OutboxRecord]:
        """What went or is to go out for a mail."""
        return {row.kind: row for row in self.store.outbox.find(mail_id=mail_id_of(raw))}

    def arrived(self) -> Counter[str]:
        """How often each address got a mail."""
        return Counter(recipient for mail in self.servers.received() for recipient in mail.recipients)

    def replies_to(self, raw: bytes) -> int:
        """How many of the mails that arrived answer this one."""
        message_id = email.message_from_bytes(raw)["Message-ID"]
        heads = [email.message_from_bytes(mail.raw, policy=policy.default) for mail in self.servers.received_by(EMMA)]
        return sum(head["In-Reply-To"] == message_id for head in heads)

    def pass_a_round(self) -> bytes:
        """A mail for a person comes, and its packet arrives: all that was due before has been looked at."""
        raw = self.deliver("escalated")
        self.wait(lambda: self.status(raw) is MailStatus.ESCALATED)
        # Its packet goes out in its own journey; what is due after all journeys of the round, before the next one's.
        later = self.deliver("escalated")
        self.wait(lambda: self.status(later) is MailStatus.ESCALATED)
        return raw


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    """An empty mailbox, and a program that does not run yet."""
    folder = tmp_path / "workspace"
    init(folder, datetime.now(UTC).date())
    with ExitStack() as stack:
        servers = stack.enter_context(DemoServers())
        smtp = stack.enter_context(cutting_proxy(servers.smtp_port))
        url = f"sqlite:///{folder / 'support-agent.sqlite3'}"
        store = stack.enter_context(Store.open(url))
        store.upgrade()
        place = Workplace(folder, servers, smtp, store)
        stack.callback(place.kill)
        yield place


def doctor(place: Workplace) -> list[tuple[str, str]]:
    """What `doctor` says of automatic mail."""
    entries: list[dict[str, Any]] = json.loads(place.command("doctor", "--json").out)
    return [(entry["severity"], entry["what"]) for entry in entries if entry["subject"] == "automatic mail"]


def test_s12_paused_program_records_and_is_silent_and_after_a_kill_and_resume_answers_each_once(
    place: Workplace,
) -> None:
    """What a rule gives to a person reaches the desk all the same; `kill -9` meanwhile loses nothing."""
    (place.folder / "paused").write_text("wrong refund policy\n")  # by hand, while nothing runs
    place.start()
    questions = [place.deliver("answered")]
    absence, person = place.deliver("filed"), place.deliver("escalated")
    place.wait(lambda: place.said("mail_waits") == 1)
    place.wait(lambda: place.status(person) is MailStatus.ESCALATED)
    place.wait(lambda: place.status(absence) is MailStatus.FILED)
    place.kill()
    questions.append(place.deliver("answered"))
    place.start()
    place.wait(lambda: place.status(questions[1]) is MailStatus.NEW)
    place.pass_a_round()
    assert [place.status(raw) for raw in questions] == [MailStatus.NEW] * 2
    assert place.arrived() == {DESK: 3}  # not even that a person has it is told to a customer
    assert [set(place.outbox(raw)) for raw in (*questions, absence)] == [set(), set(), set()]

    (paused, why), (fine, used) = doctor(place)
    assert (paused, why.startswith("paused: wrong refund policy"), fine) == ("warning", True, "ok")
    assert used.startswith("this hour 3/200; one sender a day 0/10; one case 0/5; identical answers may be sent")
    assert used.endswith("2 mails to handle")

    assert place.command("resume") == (0, "resumed\n", "")
    place.wait(lambda: [place.status(raw) for raw in questions] == [MailStatus.ANSWERED] * 2)
    place.wait(lambda: place.said("automatic_mail_resumed") == 1)
    place.pass_a_round()
    assert [place.replies_to(raw) for raw in questions] == [1, 1]
    assert (place.replies_to(person), place.replies_to(absence)) == (0, 0)
    assert place.stop() == 0


def test_s12_pause_stops_what_waits_in_the_outbox(place: Workplace) -> None:
    """Decided, and the mail server away: when it is back, only the desk's mail goes out until it is resumed."""
    place.smtp.cut_after = 0
    place.start()
    question = place.deliver("answered")
    place.wait(lambda: any(row.attempts for row in place.outbox(question).values()))
    told = place.command("pause", "--reason", "wrong refund policy")
    assert (told.code, told.out.startswith("paused: wrong refund policy")) == (0, True)
    place.wait(lambda: place.said("automatic_mail_stopped") == 1)
    place.smtp.cut_after = None
    place.pass_a_round()
    assert place.outbox(question)[OutgoingKind.ANSWER].status is OutboxStatus.READY
    assert place.arrived() == {DESK: 2}
    (place.folder / "paused").unlink()
    place.wait(lambda: place.outbox(question)[OutgoingKind.ANSWER].status is OutboxStatus.SENT)
    place.pass_a_round()
    assert place.replies_to(question) == 1
    assert place.stop() == 0
