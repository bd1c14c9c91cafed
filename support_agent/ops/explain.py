"""Explains a case: its timeline for `show`, and each sent line beside its sources for `why`.

Invariant: everything is read from the store as it was then, the queries of account values too. A story holds records;
as JSON it has neither the bytes of a mail nor what a customer quotes. Checked by tests/unit/ops/test_explain.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import JsonValue, ValidationError

from support_agent.answer.final_answer import FinalAnswer, Item
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.packet import FoundDocument
from support_agent.cases.decision import Decision
from support_agent.cases.desks import DEFAULT
from support_agent.cases.intentions import Intention
from support_agent.company.accounts import Queries
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError
from support_agent.mail.message import parse
from support_agent.ops.provenance_report import (
    WhyFile,
    WhyHeader,
    WhyLine,
    files_of,
    headers_of,
    lines_of,
    text_of,
)
from support_agent.ops.retrieval_report import RetrievalReport, reports_of
from support_agent.planner.choice import ranked
from support_agent.planner.plan import Call, call_text
from support_agent.store.cases import MailTimeline, Timeline
from support_agent.store.desk_records import CaseChange, Label
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    DeliveryUpdate,
    MailId,
    MailRecord,
    OutboxEntry,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    PlanRecord,
    PlanSummary,
    RenderedMailRecord,
)
from support_agent.store.store import Store


class CallStory(Call):
    """One call, made or not, and as a line; `considered` holds the votes on the chosen option and its runners-up."""

    call: str


class PlanStory(Frozen):
    """How a mail was decided: its plan, and each step to it."""

    record: PlanSummary
    questions: tuple[str, ...]
    calls: tuple[CallStory, ...]
    found: tuple[FoundDocument, ...]
    retrievals: tuple[RetrievalReport, ...]
    intention: Intention | None


class ItemStory(Frozen):
    """One item of an answer: what it says, in a line, and its source."""

    kind: str
    says: str
    source: str


class SentStory(Frozen):
    """One outgoing mail and its delivery; `delivery_updates` are later delivery confirmations, and who gave them.

    If `is_kept` is False, subject, text and version are "": `store.outbox_retention_days` are over, or the mail's key
    is gone; then `is_readable` is False, too.
    """

    record: OutboxEntry
    subject: str
    text: str
    items: tuple[ItemStory, ...]
    templates_version: str
    delivery_updates: tuple[DeliveryUpdate, ...]
    is_kept: bool = True
    is_readable: bool = True


class MailStory(Frozen):
    """One inbound mail and its results: `text` is what its sender wrote, unquoted, `labels` what people did with it.

    If `is_kept` is False, subject and text are "": `store.raw_retention_days` are over, or the mail's key is gone;
    then `is_readable` is False, too, and `plan` is None.
    """

    record: MailRecord
    from_address: str
    subject: str
    text: str
    plan: PlanStory | None
    sent: tuple[SentStory, ...]
    labels: tuple[Label, ...]
    is_kept: bool = True
    is_readable: bool = True


class CaseStory(Frozen):
    """A case from its first mail to now; `changes` are those of who has it."""

    case: CaseRecord
    changes: tuple[CaseChange, ...]
    mails: tuple[MailStory, ...]


class WhyMail(Frozen):
    """One mail of ours, explained: its subject and its text line by line, and its headers.

    `status` says whether it was sent: an answer that waits for a person is explained, too. `desk` says why a packet
    went to its address, "" for other mails.

    The HTML part is not shown: the gate refuses a mail whose HTML differs from its text.
    """

    case_id: CaseId | None
    mail_id: MailId
    kind: OutgoingKind
    message_id: str
    recipient: str
    subject: WhyLine
    lines: tuple[WhyLine, ...]
    headers: tuple[WhyHeader, ...]
    status: OutboxStatus = OutboxStatus.SENT
    files: tuple[WhyFile, ...] = ()
    desk: str = ""


def timeline(store: Store, case_id: str) -> CaseStory:
    """The story of a case, the oldest mail first.

    Raises:
        ConfigError: there is no such case.
        PermanentError: another version of the program wrote a record that this one cannot read.
    """
    found = case_timeline(store, case_id)
    return CaseStory(
        case=found.case,
        changes=store.cases.changes(found.case.id),
        mails=tuple(_mail_story(store, entry) for entry in found.mails),
    )


def why(store: Store, case_id: str) -> tuple[WhyMail, ...]:
    """Every mail of a case that was sent or waits in the outbox and can be read, each line beside its sources.

    Raises:
        ConfigError, PermanentError: as `timeline`.
    """
    found = case_timeline(store, case_id)
    people = frozenset(change.assignee for change in store.cases.changes(found.case.id))
    return tuple(
        _why(row, record, queries, _why_desk(row, found.case, people))
        for entry in found.mails
        for queries in [queries_of(store, entry.plan)]
        for row, record in _outgoing(entry)
        if record is not None and isinstance(row, OutboxRecord)
    )


def _why_desk(row: OutboxRecord, case: CaseRecord, people: Collection[str | None]) -> str:
    """Why a packet went to its address; "" for other mails.

    Args:
        people: Who has had the case.
    """
    if not row.kind.is_for_desk:
        return ""
    if row.recipient == case.desk:
        return f"settings: {case.desk_why or DEFAULT}"
    if row.recipient in people:
        return "a person had the case"
    is_to_lead = row.kind is OutgoingKind.REMINDER
    return "settings: reminders.address" if is_to_lead else f"settings: {DEFAULT}"  # its desk was another one then


def _why(row: OutboxRecord, record: RenderedMailRecord, queries: Queries | None, desk: str) -> WhyMail:
    try:
        subject, lines = lines_of(record, queries)
    except ValidationError as error:
        raise unreadable(f"what was sent for mail {row.mail_id}") from error
    return WhyMail(
        case_id=row.case_id,
        mail_id=row.mail_id,
        kind=row.kind,
        message_id=row.message_id,
        recipient=row.recipient,
        subject=subject,
        lines=lines,
        headers=headers_of(row, desk),
        status=row.status,
        files=files_of(record),
        desk=desk,
    )


def queries_of(store: Store, plan: PlanRecord | None) -> Queries | None:
    """The account queries behind the values of an answer that was planned so."""
    stored = store.versions.queries(plan.company_version) if plan is not None else None
    return Queries.model_validate(stored) if stored is not None else None


def case_timeline(store: Store, case_id: str) -> Timeline:
    """The records of a case.

    Raises:
        ConfigError: there is no such case.
    """
    found = store.cases.timeline(CaseId(case_id))
    if found is None:
        raise ConfigError(f"no case {case_id}: `support-agent cases` lists them", code="no_case")
    return found


def _outgoing(entry: MailTimeline) -> list[tuple[OutboxEntry, RenderedMailRecord | None]]:
    """Each mail of the outbox with its sources, None if they cannot be read; a digest or an alarm is about no case."""
    records = {(record.kind, record.number): record for record in entry.rendered_mails}
    of_case = (row for row in (*entry.outbox, *(entry.unreadable or ())) if not row.kind.is_about_no_case)
    return [(row, records.get((row.kind, row.number))) for row in of_case]


def _mail_story(store: Store, entry: MailTimeline) -> MailStory:
    mail, raw = entry.mail, store.mails.raw(entry.mail.id) if entry.is_readable else b""
    message = parse(raw)
    author = message.from_.addr if message.from_ is not None else ""
    try:
        plan = None if entry.plan is None else _plan_story(entry.plan)
        sent = tuple(_sent_story(store, row, record, entry) for row, record in _outgoing(entry))
    except ValidationError as error:
        raise unreadable(f"mail {mail.id}") from error
    return MailStory(
        record=mail,
        from_address=author if raw else mail.sender_address or "",
        subject=message.subject,
        text=message.visible_text,
        plan=plan,
        sent=sent,
        labels=store.labels.of(mail.id),
        is_kept=bool(raw),
        is_readable=entry.is_readable,
    )


def _plan_story(record: PlanRecord) -> PlanStory:
    decision = Decision.model_validate(record.trace)
    return PlanStory(
        record=record,
        questions=decision.plan.questions,
        calls=tuple(map(_call_story, decision.plan.calls)),
        found=decision.found,
        retrievals=reports_of(decision),
        intention=decision.intention,
    )


def _call_story(call: Call) -> CallStory:
    likeliest_first = call.model_copy(update={"considered": ranked(call.considered)})
    return CallStory(call=call_text(call.tool, call.args), **dict(likeliest_first))


def _sent_story(store: Store, row: OutboxEntry, record: RenderedMailRecord | None, entry: MailTimeline) -> SentStory:
    subject, text = text_of(record) if record is not None else ("", "")
    return SentStory(
        record=row,
        subject=subject,
        text=text,
        items=_items(record.payload) if record is not None and row.kind is OutgoingKind.ANSWER else (),
        templates_version=record.templates_version if record is not None else "",
        delivery_updates=store.deliveries.of(row.id),
        is_kept=record is not None,
        is_readable=entry.is_readable,
    )


def _items(payload: Mapping[str, JsonValue]) -> tuple[ItemStory, ...]:
    final = FinalAnswer.model_validate(payload)
    return tuple(_item_story(item) for answer in final.answers for item in answer.items)


def _item_story(item: Item) -> ItemStory:
    words = KINDS[item.kind].in_words(item)
    return ItemStory(kind=item.kind, says=words.says, source=words.source)


def unreadable(what: str) -> PermanentError:
    """The error for a stored record that this version of the program cannot read."""
    return PermanentError(
        f"another version of the program wrote the record of {what}: read it with that version",
        code="record_version",
    )
