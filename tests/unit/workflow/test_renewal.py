"""A running worker takes over changed files of the company between two mails, and only sound ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest
from structlog.testing import capture_logs

from support_agent.company.company import stamp_of
from support_agent.errors import ConfigError, TransientError
from support_agent.ops.check import require_sound_files
from support_agent.pipeline import handle
from support_agent.store.records import OutgoingKind
from support_agent.workflow.renewal import Renewal
from support_agent.workflow.worker import Worker
from tests.fakes_documents import own_office_in, with_files
from tests.fakes_journey import ANNA, JAMES, Office, once, write
from tests.fakes_worker import FakeMailbox, InlineEngine, recipients
from tests.unit.seen import text_of

REFUND = "Can I get a refund?"


@pytest.fixture
def own_office(empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An office whose files a test may change."""
    with own_office_in(tmp_path, empty_store) as opened:
        yield opened


@dataclass
class Life:
    """A worker that runs on changing files: `rounds` are called before each round, then it stops."""

    office: Office
    rounds: list[object]

    def __post_init__(self) -> None:
        self.stop = Event()
        self.mailbox = FakeMailbox([], on_fetch=self._next)
        self.files = Renewal(lambda: stamp_of(self.office.settings.company), lambda: self.office, self._again)
        self.engine = InlineEngine(lambda mail_id: handle(mail_id, once(), self.files.current.stages))

    def _next(self) -> None:
        act = self.rounds.pop(0) if self.rounds else self.stop.set
        assert callable(act)
        act()

    def _again(self, before: Office) -> Office:
        require_sound_files(before.settings)
        return with_files(before)

    def worker(self) -> Worker:
        office = self.files.current
        return Worker(
            settings=office.settings.model_copy(update={"imap": office.settings.imap.model_copy(update={"poll_s": 1})}),
            store=office.store,
            wired=office.wired,
            engine=self.engine,
            open_mailbox=lambda: self.mailbox,
            now=office.clock,
            is_outdated=lambda: self.files.is_outdated,
            renewed=lambda: self.worker() if self.files.renew() is not None else None,
        )


def change(office: Office, old: str, new: str) -> None:
    path = office.settings.company.policies / "001-refund-policy.md"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def answers(office: Office) -> list[str]:
    return [text_of(row) for row in office.store.outbox.find(kind=OutgoingKind.ANSWER)]


def run(life: Life) -> None:
    """Rounds until the mailbox has told all; the waits between them are skipped."""
    life.stop.wait = lambda timeout=None: life.stop.is_set()  # type: ignore[method-assign]
    life.worker().run(life.stop)


def test_the_next_mail_is_answered_from_the_changed_document(own_office: Office) -> None:
    life = Life(own_office, [])
    life.rounds = [
        lambda: life.mailbox.mails.append(write(REFUND)),
        lambda: change(own_office, "A yearly plan can", "A yearly subscription can"),
        lambda: life.mailbox.mails.append(write(REFUND, sender=JAMES)),
    ]
    run(life)
    assert recipients(own_office) == [ANNA, JAMES]
    first, second = answers(own_office)
    assert "A yearly subscription can" not in first
    assert "A yearly subscription can" in second


def test_files_with_an_error_are_not_taken_over_until_it_is_mended(own_office: Office) -> None:
    life = Life(own_office, [])
    life.rounds = [
        lambda: change(own_office, "delivery: excerpt", "delivery: everything"),
        lambda: life.mailbox.mails.append(write(REFUND)),
        lambda: change(own_office, "delivery: everything", "delivery: excerpt"),
        lambda: change(own_office, "A yearly plan can", "A yearly subscription can"),
        lambda: life.mailbox.mails.append(write(REFUND, sender=JAMES)),
    ]
    with capture_logs() as logs:
        run(life)
    told = [entry for entry in logs if entry["event"].startswith("company_files")]
    assert [entry["event"] for entry in told] == ["company_files_not_used", *2 * ["company_files_taken_over"]]
    assert "delivery cannot be used" in told[0]["error"]
    first, second = answers(own_office)
    assert ["subscription can" in one for one in (first, second)] == [False, True]


def test_nothing_is_exchanged_while_a_mail_is_being_handled(own_office: Office) -> None:
    life = Life(own_office, [])
    worker = life.worker()
    change(own_office, "A yearly plan can", "A yearly subscription can")
    life.engine.is_busy = True
    assert worker._latest() is worker
    life.engine.is_busy = False
    assert worker._latest() is not worker


def test_what_cannot_be_read_now_is_tried_again_and_what_is_wrong_is_not() -> None:
    stamps, opened = [("a", 1, 1)], list[str]()
    errors: list[Exception] = [FileNotFoundError("gone"), TransientError("busy"), ConfigError("wrong")]

    def again(before: str) -> str:
        if errors:
            raise errors.pop(0)
        opened.append(before)
        return "new"

    files = Renewal(lambda: tuple(stamps), lambda: "old", again)
    assert files.renew() is None
    stamps.append(("b", 1, 1))
    assert files.renew() is None  # a file was gone
    assert files.renew() is None  # it was busy
    assert files.renew() is None  # it was wrong
    assert files.renew() is None  # it is not read again
    assert (errors, opened, files.current) == ([], [], "old")
    stamps.append(("c", 1, 1))
    assert files.renew() == "new"
    assert (opened, files.current) == (["old"], "new")


def test_a_folder_that_goes_while_it_is_listed_does_not_end_the_worker(
    own_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: `git switch` or a new ConfigMap removed a folder in the moment in which the worker listed it."""
    life = Life(own_office, [])

    def gone(*_: object) -> Iterator[Path]:
        raise FileNotFoundError(2, "No such file or directory")

    life.rounds = [
        lambda: monkeypatch.setattr(Path, "rglob", gone),
        monkeypatch.undo,
        lambda: life.mailbox.mails.append(write(REFUND)),
    ]
    with capture_logs() as logs:
        run(life)
    assert [entry["code"] for entry in logs if entry["event"] == "round_failed"] == ["company"]
    assert recipients(own_office) == [ANNA]


def test_an_expired_document_elsewhere_keeps_no_file_from_being_used(own_office: Office) -> None:
    change(own_office, "audience:", "valid_until: 2026-01-31\naudience:")
    require_sound_files(own_office.settings)
    change(own_office, "title: Refund policy", "title: Cancellation policy")
    with pytest.raises(ConfigError, match="the title is also that of"):
        require_sound_files(own_office.settings)
