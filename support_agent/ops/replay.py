"""Render stored mails again and compare the bytes; decide stored mails again and show the difference.

Invariant: `replay` uses stored data only, so a mail differs only if the program or the store has changed. Checked by
tests/unit/ops/test_replay.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Literal, get_args

from pydantic import JsonValue, ValidationError, computed_field

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.sources import RenderedAnswer, RenderedPacket
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.company.documents import Document, parse_document
from support_agent.core.frozen import Frozen
from support_agent.core.modes import Mode
from support_agent.core.size_limits import first_line
from support_agent.errors import ConfigError, GateRefused, PermanentError
from support_agent.mail.message import parse
from support_agent.ops.dry_run import DryRun, DryRunAnswer, DryRunResult, Outcome, answer_of, temporary_store
from support_agent.ops.explain import case_timeline, unreadable
from support_agent.outbound.rendered_mail import Headers, RenderedMail, rerendered
from support_agent.planner.plan import Call, call_text
from support_agent.store.history import copy_history
from support_agent.store.keys import unless_key_is_gone
from support_agent.store.records import (
    CaseId,
    MailId,
    MailRecord,
    OutboxRecord,
    OutgoingKind,
    PlanRecord,
    RenderedMailRecord,
    ToolCallRecord,
)
from support_agent.store.store import Store

CONTEXT_LINES = 2
"""Unchanged lines around each change of a diff."""
TemplatesLookup = Callable[[str], Templates]
Status = Literal["same", "changed", "newly_answered", "newly_escalated", "newly_filed", "newly_held"]
NEWLY: Mapping[Outcome, Status] = {
    "answer": "newly_answered",
    "escalate": "newly_escalated",
    "filed": "newly_filed",
    "held": "newly_held",
}


class Replayed(Frozen):
    """One outgoing mail, rendered again.

    `diff` is a unified diff of the sent and the newly rendered mail, "" if the bytes are equal; `problems` lists other
    differences, or why the mail cannot be rendered.
    """

    case_id: CaseId | None
    mail_id: MailId
    kind: OutgoingKind
    message_id: str
    recipient: str
    diff: str
    problems: tuple[str, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_identical(self) -> bool:
        """Whether the bytes are equal and all their inputs are still stored."""
        return not self.diff and not self.problems


class PlanResult(Frozen):
    """What became of a mail, then or now: the calls that were made, and the answer, "" if there was none."""

    outcome: Outcome
    reason: str | None
    calls: tuple[str, ...]
    text: str
    html: str


class Replanned(Frozen):
    """One mail, decided again; `diff` compares the texts for the customer."""

    case_id: CaseId | None
    mail_id: MailId
    subject: str
    status: Status
    before: PlanResult
    after: PlanResult
    diff: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_changed(self) -> bool:
        """Whether the customer would get another answer."""
        return self.status != "same"


class ReplayReport(Frozen):
    """The results of a replay; `replanned` is None if no mail was decided again."""

    replayed: tuple[Replayed, ...]
    replanned: tuple[Replanned, ...] | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def counts(self) -> dict[Status, int]:
        """The number of mails with each status, of those that were decided again."""
        found = [entry.status for entry in self.replanned or ()]
        return {status: found.count(status) for status in get_args(Status)}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_different(self) -> bool:
        """Whether any mail differs from what was sent."""
        return not all(entry.is_identical for entry in self.replayed) or any(
            entry.is_changed for entry in self.replanned or ()
        )


def chosen(store: Store, *, case: str | None = None, since: datetime | None = None) -> tuple[MailId, ...]:
    """The mails of one case, those recorded since an instant, or all; the oldest first.

    Raises:
        ConfigError: there is no such case.
    """
    if case is None:
        return tuple(mail.id for mail in store.mails.find(since=since))
    return tuple(entry.mail.id for entry in case_timeline(store, case).mails)


def replay(store: Store, mails: Sequence[MailId]) -> tuple[Replayed, ...]:
    """Render every outgoing mail of these mails again, from what is stored, and compare it with the outbox.

    Mails that are no longer kept, or cannot be read any more because their key is gone, are left out.
    """

    @cache
    def templates(version: str) -> Templates:
        files = store.versions.templates(version)
        if files is None:
            raise PermanentError(f"templates {version[:12]} are not stored", code="no_templates")
        return Templates.from_files(files)

    gone = store.sealing.unreadable(mails)
    rows = [row for mail_id in mails if mail_id not in gone for row in store.outbox.find(mail_id=mail_id)]
    return tuple(_replayed(store, row, templates) for row in rows if _is_replayed(store, row))


def _is_replayed(store: Store, row: OutboxRecord) -> bool:
    """Whether a mail of ours is rendered again: its bytes, and the mails that it was made from, are kept and readable.

    A mail whose bytes are kept without the data to rebuild it is a problem that `_replayed` reports.
    """
    record = store.outbox.rendered_mail(row.mail_id, row.kind, row.number) if row.raw else None
    if record is None:
        return bool(row.raw)
    made_from = {row.mail_id, MailId(str(record.header_inputs.get("parent_mail_id", row.mail_id)))}
    there = (mail_id for mail_id in made_from if store.mails.get(mail_id) is not None)
    return all(unless_key_is_gone(partial(store.mails.raw, mail_id)) for mail_id in there)


def _replayed(store: Store, row: OutboxRecord, templates: TemplatesLookup) -> Replayed:
    problems: list[str] = []
    diff = ""
    record = store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if record is None:
        problems.append("its sources are not stored")
    else:
        try:
            rendered = rerendered(record, templates(record.templates_version))
            raw = _composed(store, record, rendered)
        except (GateRefused, ConfigError, PermanentError, ValidationError) as error:
            problems.append(f"it cannot be rendered again: {first_line(error)}")
        else:
            diff = _byte_diff(row.raw, raw)
            problems += _other_differences(row, record, rendered)
        problems += _document_mismatches(store, record)
    return Replayed(
        case_id=row.case_id,
        mail_id=row.mail_id,
        kind=row.kind,
        message_id=row.message_id,
        recipient=row.recipient,
        diff=diff,
        problems=tuple(problems),
    )


def _composed(store: Store, record: RenderedMailRecord, rendered: RenderedMail) -> bytes:
    headers = Headers.model_validate(record.header_inputs)
    original = store.mails.raw(MailId(headers.parent_mail_id))
    return rendered.compose(headers, parse(original), original, store.mails.raw(record.mail_id))


def _other_differences(row: OutboxRecord, record: RenderedMailRecord, rendered: RenderedMail) -> Iterator[str]:
    """Differences that the mail's bytes do not show: of the stored spans, and of the recipient."""
    headers = Headers.model_validate(record.header_inputs)
    if not _are_same_spans(record.kind, rendered.spans, record.spans):
        yield "the stored spans, which `why` shows, are not those of the text"
    if row.recipient != headers.to:
        yield f"it was sent to {row.recipient}, but rendered for {headers.to}"


def _are_same_spans(kind: OutgoingKind, made: Mapping[str, JsonValue], stored: Mapping[str, JsonValue]) -> bool:
    """Whether the spans are the same; a field that a later version added to a source has its default."""
    if kind is OutgoingKind.PERSON_REPLY:
        return made == stored
    parts = RenderedPacket if kind.is_for_desk else RenderedAnswer
    try:
        return parts.model_validate(made) == parts.model_validate(stored)
    except ValidationError:
        return False


def _document_mismatches(store: Store, record: RenderedMailRecord) -> tuple[str, ...]:
    """Differences between an answer and the stored versions of its documents."""
    if record.kind is not OutgoingKind.ANSWER:
        return ()

    def stored_document(version: str) -> Document | None:
        stored = store.versions.document(version)
        return None if stored is None else parse_document(Path(f"{stored.number:03d}-stored.md"), stored.raw)

    try:
        final = FinalAnswer.model_validate(record.payload)
        return tuple(Verifier(stored_document).mismatches(final, final.locale))
    except ValidationError:
        return ()  # reported already: it cannot be rendered again
    except ConfigError as error:
        return (f"a document cannot be read: {first_line(error)}",)


def plan_again(store: Store, dry_run: DryRun, mails: Sequence[MailId]) -> tuple[Replanned, ...]:
    """Take these mails through the journey again, each at the instant of its decision; nothing is stored or sent.

    The sender's level is the stored one. Account values are read now, so a change in the company's database is a
    difference too. Mails without a plan (filed, escalated by a rule) are left out.

    Args:
        dry_run: With the model, policies, templates and settings to try.
    Raises:
        PermanentError: another version of the program wrote the record of one of them.
    """
    found = ((store.mails.get(mail_id), _plan_of(store, mail_id)) for mail_id in mails)
    return tuple(
        _replanned(store, dry_run, mail, plan) for mail, plan in found if mail is not None and plan is not None
    )


def _plan_of(store: Store, mail_id: MailId) -> PlanRecord | None:
    """The decision on a mail; None: there is none that can be read.

    Raises:
        PermanentError: another version of the program wrote it.
    """
    try:
        return unless_key_is_gone(lambda: store.plans.get(mail_id))
    except ValidationError as error:
        raise unreadable(f"the plan of mail {mail_id}") from error


def _replanned(store: Store, dry_run: DryRun, mail: MailRecord, plan: PlanRecord) -> Replanned:
    before = _said_before(store, mail, plan)
    with temporary_store() as then:
        copy_history(store.database, then.database, mail.id, plan.planned_at, plan.planned_at - dry_run.memory)
        mode = _mode_before(store, mail.id)
        after = _said_now(dry_run.run(mail.id, then, mail.id, plan.planned_at, mode=mode))
    status = _status(before, after)
    diff = _text_diff(before.text, after.text) or _text_diff(before.html, after.html)
    return Replanned(
        case_id=mail.case_id,
        mail_id=mail.id,
        subject=parse(store.mails.raw(mail.id)).subject,
        status=status,
        before=before,
        after=after,
        diff=diff if status == "changed" else "",
    )


def _mode_before(store: Store, mail_id: MailId) -> Mode | None:
    """The mode of the answer, which says whether a person approved it; None: there was none."""
    record = store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    if record is None:
        return None
    return Mode.APPROVE if record.payload.get("is_approved") else Mode.AUTO


def _said_before(store: Store, mail: MailRecord, plan: PlanRecord) -> PlanResult:
    """The sent text; a plan whose answer the gate refused counts as escalated.

    Raises:
        PermanentError: another version of the program wrote the answer.
    """
    try:
        answer = answer_of(store, mail.id)
    except ValidationError as error:
        raise unreadable(f"what was sent for mail {mail.id}") from error
    if answer is None:
        outcome: Outcome = "filed" if plan.outcome == "close" else "escalate"
        return _said(outcome, mail.reason_code or plan.reason, plan.calls, None)
    return _said("answer", plan.reason, plan.calls, answer)


def _said_now(result: DryRunResult) -> PlanResult:
    calls = () if result.decision is None else result.decision.plan.calls
    return _said(result.line.outcome, result.line.reason, calls, result.line.answer)


def _said(
    outcome: Outcome, reason: str | None, calls: Sequence[Call | ToolCallRecord], answer: DryRunAnswer | None
) -> PlanResult:
    return PlanResult(
        outcome=outcome,
        reason=reason,
        calls=tuple(call_text(call.tool, call.args) for call in calls if call.status == "done"),
        text="" if answer is None else f"Subject: {answer.subject}\n\n{answer.text}",
        html="" if answer is None else answer.html,
    )


def _status(before: PlanResult, after: PlanResult) -> Status:
    if before.outcome != after.outcome:
        return NEWLY[after.outcome]
    return "same" if (before.text, before.html) == (after.text, after.html) else "changed"


def _byte_diff(sent: bytes, made: bytes) -> str:
    """A unified diff of two mails, never empty if a byte differs."""
    if sent == made:
        return ""
    texts = [raw.decode("ascii", "backslashreplace").replace("\r\n", "\n") for raw in (sent, made)]
    return _diff(texts[0], texts[1], "sent", "replayed") or "the bytes differ in their line ends only"


def _text_diff(before: str, after: str) -> str:
    return "" if before == after else _diff(before, after, "before", "now")


def _diff(before: str, after: str, name: str, other: str) -> str:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), name, other, lineterm="", n=CONTEXT_LINES)
    return "\n".join(lines)
