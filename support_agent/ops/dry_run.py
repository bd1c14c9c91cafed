"""The dry run: a mail's whole journey on a temporary store; nothing is sent and nothing is kept.

Invariant: it runs `pipeline.handle` with the worker's stages, so its result is what a customer would get. Only the
store, the clock and the transport differ, and an unset address or key has a substitute; it is never paused and never
waits. Checked by tests/unit/ops/test_dry_run.py and tests/acceptance/test_try.py.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, SecretStr

from support_agent.answer.sources import RenderedAnswer
from support_agent.cases.copies import known_as
from support_agent.cases.decision import Decision
from support_agent.cases.intentions import Intention
from support_agent.cases.route import Route
from support_agent.company.accounts import Accounts
from support_agent.config.settings import Settings
from support_agent.core.cursor import Cursor
from support_agent.core.frozen import Frozen
from support_agent.core.levels import CUSTOMER, Level
from support_agent.core.modes import Mode
from support_agent.engine.steps import Steps
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.mail.message import parse, read_file
from support_agent.mail.senders.identity import Sender
from support_agent.store.desk_records import ModeChange
from support_agent.store.records import CaseId, MailId, MailStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.transport.submission import Delivery, Transport

Journey = Callable[[MailId, Steps], str]
Clock = Callable[[], datetime]
JourneyOn = Callable[[Settings, Store, Transport, Clock], Journey]
Outcome = Literal["answer", "escalate", "filed", "held"]
HELD = "held"
"""The outcome of a mail that has to wait."""

OUTCOMES: Mapping[str, Outcome] = {
    MailStatus.ANSWERED: "answer",
    MailStatus.ESCALATED: "escalate",
    MailStatus.FILED: "filed",
    HELD: "held",
}
NO_ADDRESS = "nobody@dry-run.invalid"
"""Replaces an address that is not configured yet: a dry run needs none."""
NO_SECRET = SecretStr("the mails of a dry run are sent to nobody")


class DryRunCall(Frozen):
    tool: str
    args: dict[str, str | int | bool]
    confidence: Annotated[float, Field(ge=0, le=1)]


class DryRunAnswer(Frozen):
    subject: str
    text: str
    html: str


class DryRunLine(Frozen):
    """One line of `try --json`; `reason` is the stored reason code, or the rule that filed the mail.

    `level` is 0, too, for a mail that was filed before its sender was identified. `mode` is that in which the answer
    would leave, None if there is none: an answer that waits for a person is an answer here.
    """

    file: str
    outcome: Outcome
    reason: str | None
    level: Level
    calls: tuple[DryRunCall, ...]
    answer: DryRunAnswer | None
    seconds: float
    forward_passes: int
    mode: Mode | None = None


class DryRunResult(NamedTuple):
    """The line, and what the steps recorded, for printing; None for a step that was not reached.

    `why` explains the reason in one sentence, or is "". `intention` is what the sender means, if the mail is a reply.
    `desk` is the address that gets the case and the rule that says so, "" if no packet is made.
    """

    line: DryRunLine
    screening: Screening
    sender: Sender | None
    decision: Decision | None
    why: str
    intention: Intention | None = None
    desk: str = ""


class DryTransport:
    """The transport of a dry run: accepts every mail, as a server would, and sends none."""

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Accept the mail."""
        return Delivery(status="sent", detail="a dry run sends nothing")

    def close_idle(self) -> None:
        """Do nothing: there is no connection."""


@dataclass(frozen=True)
class DryRun:
    """Takes mails through the journey, each on a store of its own.

    `journey_on` returns the journey of the worker on that store (see `app.dry_runs`).
    """

    settings: Settings
    accounts: Accounts
    journey_on: JourneyOn
    modes: tuple[ModeChange, ...] = ()
    """The changes of modes that hold in `try_mail`."""

    @property
    def memory(self) -> timedelta:
        """How long the sender's other mails matter: for repeated answers, and for the limits of a day."""
        return timedelta(days=max(self.settings.agent.identical_answer_days, 1))

    def try_mail(
        self, file: str, raw: bytes, now: datetime, *, as_level: int | None = None, as_customer: str | None = None
    ) -> DryRunResult:
        """What would happen to a mail that arrived now.

        Args:
            file: Its name in the result.
            as_level: The sender level to assume in place of the proven one.
            as_customer: The customer's address to assume; implies level 3 unless a level is given.
        Raises:
            ConfigError: there is no such customer, or the model cannot be opened.
        """
        assumed = self._assumed(raw, as_level, as_customer)
        with temporary_store() as store:
            cursor = Cursor(folder=self.settings.imap.folder, uid_validity=1, last_uid=1)
            mail_id = store.mails.record(raw, known_as(parse(raw)), cursor, now).id
            for change in self.modes:
                if change.undone_at is None:
                    store.modes.change(
                        **change.model_dump(exclude={"number", "changed_at", "undone_at"}), at=change.changed_at
                    )
            if assumed is not None:
                store.mails.save_sender(mail_id, *assumed)
            return self.run(file, store, mail_id, now)

    def run(self, file: str, store: Store, mail_id: MailId, now: datetime, *, mode: Mode | None = None) -> DryRunResult:
        """Take a mail through its journey; it is `new` in a temporary store.

        A journey that fails escalates the mail, as the worker does (`Notices.quarantine`).

        Args:
            mode: The mode of items that have none in that store; None: as in the settings.
        Raises:
            ConfigError: a part cannot be opened.
        """
        seen: dict[str, Any] = {}
        started = time.monotonic()
        failure: SupportAgentError | None = None
        with tempfile.TemporaryDirectory() as folder:
            settings = _runnable(self.settings, Path(folder), store.mails.raw(mail_id))
            if mode is not None:
                autonomy = settings.autonomy.model_copy(update={"start": mode})
                settings = settings.model_copy(update={"autonomy": autonomy})
            journey = self.journey_on(settings, store, DryTransport(), lambda: now)
            try:
                once = Steps(lambda _name, work: work(), settings.engine, _no_wait, seen.__setitem__)
                ended = journey(mail_id, once)
            except ConfigError:
                raise
            except SupportAgentError as error:
                ended, failure = MailStatus.ESCALATED.value, error
        mail = store.mails.get(mail_id)
        reason, why = (mail.reason_code, mail.why or "") if mail is not None else (None, "")
        if failure is not None:
            reason, why = failure.code, str(failure)
        decision: Decision | None = seen.get("plan")
        route: Route | None = seen.get("route")
        answer, outcome = None if failure is not None else answer_of(store, mail_id), OUTCOMES[ended]
        mode = _mode(reason, answer)
        if answer is not None and outcome == "escalate" and decision is not None:  # it waits for a person
            outcome, reason, why = "answer", decision.plan.reason, ""
        unscreened = Screening(verdict=Verdict.DESK, rule=None, why=why)
        return DryRunResult(
            line=DryRunLine(
                file=file,
                outcome=outcome,
                reason=reason,
                level=0 if mail is None or mail.level is None else mail.level,
                calls=() if decision is None else _calls(decision),
                answer=answer,
                seconds=round(time.monotonic() - started, 3),
                forward_passes=0 if decision is None else decision.forward_passes,
                mode=mode,
            ),
            screening=seen.get("screen", unscreened),
            sender=seen.get("identify"),
            decision=decision,
            why=why,
            intention=route.intention if route is not None else None,
            desk=_desk(store, mail.case_id if mail is not None else None),
        )

    def _assumed(self, raw: bytes, level: int | None, customer: str | None) -> tuple[str, Level, str] | None:
        """Address, level and reason of the sender to assume; None: use the sender of the mail."""
        if level is None and customer is None:
            return None
        if customer is not None:
            found = self.accounts.customer(customer)
            if found is None:
                raise ConfigError(
                    f"no customer has the address {customer!r}: correct --as-customer, or the mail's label"
                )
            address = found.address
        else:
            author = parse(raw).from_
            address = author.addr if author is not None else ""
        return address, CUSTOMER if level is None else level, "assumed for this dry run"


@contextmanager
def temporary_store() -> Iterator[Store]:
    """An empty store at the current schema, deleted at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        path.write_bytes(_empty_store())
        with _store(path) as store:
            yield store


@cache
def _empty_store() -> bytes:
    """The file of an empty store. It is made once, because the migrations take a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        with _store(path) as store:
            store.upgrade()
        return path.read_bytes()


def _store(path: Path) -> Store:
    return Store.open(f"sqlite:///{path}")


def read_mail(path: Path, max_bytes: int) -> bytes:
    """The bytes of a mail file, within the bounds of `message.read_file`.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return read_file(path, max_bytes)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a readable .eml file") from error


def _runnable(settings: Settings, folder: Path, raw: bytes) -> Settings:
    """The settings of a worker that is not paused, completed with what only a mail that is sent needs.

    Where no address of ours is configured yet, the mail's own recipient stands for it: it was written to us.
    """
    agent, desk = settings.agent, settings.desk
    to = next((address.addr for address in parse(raw).to if address.addr), NO_ADDRESS) if not agent.address else ""
    own = {
        "paused": False,
        "pause_file": folder / "paused",
        "address": agent.address or to,
        "secret": agent.secret if agent.secret.get_secret_value() else NO_SECRET,
    }
    desk = desk.model_copy(update={"address": desk.address or NO_ADDRESS})
    return settings.model_copy(update={"agent": agent.model_copy(update=own), "desk": desk})


def _desk(store: Store, case_id: CaseId | None) -> str:
    """The desk that got the case, and why."""
    case = store.cases.get(case_id) if case_id is not None else None
    return "" if case is None or case.desk is None else f"{case.desk}, by {case.desk_why}"


def _mode(reason: str | None, answer: DryRunAnswer | None) -> Mode | None:
    """The mode in which an answer would leave; the reason names any but `auto`."""
    named = next((mode for mode in Mode if mode == reason), None)
    return named or (Mode.AUTO if answer is not None else None)


def _calls(decision: Decision) -> tuple[DryRunCall, ...]:
    return tuple(
        DryRunCall(tool=call.tool, args=call.args, confidence=round(min(call.confidence, 1.0), 4))
        for call in decision.plan.calls
        if call.status == "done"
    )


def answer_of(store: Store, mail_id: MailId) -> DryRunAnswer | None:
    """The answer to a mail in the outbox; None: there is none."""
    record = store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    if record is None:
        return None
    rendered = RenderedAnswer.model_validate(record.spans)
    return DryRunAnswer(subject=rendered.subject.text, text=rendered.text.text, html=rendered.html.text)


def _no_wait(_s: float) -> None:
    """A dry run tries each step once, so it never waits."""
