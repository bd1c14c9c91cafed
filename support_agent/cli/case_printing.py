"""Prints mails and cases for people: `try`, `show`, `why` and `replay`.

Invariant: text from outside (mails, headers, database, servers) reaches the terminal without control, escape
or bidirectional characters, so that no mail can draw on an operator's screen. Checked by
tests/unit/cli/test_printing.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from support_agent.answer.formatting import clean_line, clean_lines, format_confidence
from support_agent.cli.terminal import (
    NOTHING,
    as_table,
    counted,
    cut,
    indented,
    instant_text,
    number_text,
    padded,
    quoted,
    wrapped,
)

if TYPE_CHECKING:  # a command that prints one of these has imported it; the others need not wait for it
    from support_agent.cases.decision import Decision
    from support_agent.cases.intentions import Intention
    from support_agent.ops.dry_run import DryRunResult
    from support_agent.ops.explain import CallStory, CaseStory, MailStory, PlanStory, SentStory, WhyMail
    from support_agent.ops.provenance_report import WhyHeader, WhyLine, WhySource
    from support_agent.ops.replay import PlanResult, Replanned, Replayed, ReplayReport, Status
    from support_agent.ops.retrieval_report import RetrievalReport
    from support_agent.planner.choice import Vote
    from support_agent.store.desk_records import CaseChange

RUNNERS_UP = 4
"""Options shown of a choice, the chosen one among them."""
TEXT_CELLS = 64
"""Width of the sent text in `why`, in cells of the terminal; longer lines go on below."""
QUOTE_CELLS = 40
"""Width of a quoted part of a line, beside its source."""


def timeline(story: CaseStory) -> str:
    """A case from its first mail to now."""
    case = story.case
    head = as_table(
        [
            ("case", case.id),
            ("customer", case.customer_address),
            ("subject", case.subject),
            ("state", f"{case.state.value}, opened {instant_text(case.opened_at)}"),
            *([("desk", f"{case.desk}, by {case.desk_why}")] if case.desk else []),
            *([("assigned", case.assignee)] if case.assignee else []),
            *(("changed", _changed(change)) for change in story.changes),
        ]
    )
    return "\n".join([head, *(line for mail in story.mails for line in _mail(mail))])


def _changed(change: CaseChange) -> str:
    whose = f", {change.assignee}" if change.assignee else ""
    said = f"{change.before.value} to {change.after.value}{whose} by {change.who}: {change.why}"
    return f"{instant_text(change.changed_at)}  {said}"


def why(mails: Sequence[WhyMail]) -> str:
    """Each line that customers were sent beside its sources, then the headers and the queries.

    A desk packet is only named: staff have it, and `--json` explains its lines too.
    """
    if not mails:
        return "nothing was sent in this case, or it is no longer kept; `show` lists what was sent"
    return "\n\n".join("\n".join(_why_mail(mail)) for mail in mails)


def replay(report: ReplayReport) -> str:
    """The mails that were rendered again, then the mails that were decided again."""
    again = "" if report.replanned is None else f"\n{_replanned(report.replanned, report.counts)}"
    return f"{_replayed(report.replayed)}{again}"


def _replayed(entries: Sequence[Replayed]) -> str:
    """One line for each outgoing mail, its differences below it, and a summary."""
    lines: list[str] = []
    for entry in entries:
        verdict = "identical" if entry.is_identical else "DIFFERS"
        lines.append(f"{entry.case_id or NOTHING}  {entry.kind.value:<15}  {verdict}")
        lines += [f"    {clean_line(problem)}" for problem in entry.problems]
        lines += indented(entry.diff, 4)
    differ = sum(not entry.is_identical for entry in entries)
    summary = "identical" if not differ else f"{differ} of them differ"
    return "\n".join([*lines, f"{counted(len(entries), 'mail')} replayed: {summary if entries else 'nothing to do'}"])


def _replanned(entries: Sequence[Replanned], counts: Mapping[Status, int]) -> str:
    """The difference in each mail, and the number of mails with each status."""
    lines: list[str] = []
    for entry in entries:
        if entry.is_changed:
            lines += [
                f"{entry.case_id or NOTHING}  {entry.status}  {clean_line(entry.subject)}",
                *_change(entry),
                "",
            ]
    counted_by_status = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in counts.items())
    return "\n".join([*lines, f"{counted(len(entries), 'mail')} planned again: {counted_by_status}"])


def dry_run(tried: DryRunResult) -> str:
    """One dry run: sender, calls, answer or the reason why there is none, and time."""
    line, sender = tried.line, tried.sender
    cost = f"{line.seconds:.2f} s, {counted(line.forward_passes, 'forward pass', 'forward passes')}"
    why = "" if tried.screening.why and tried.screening.why in tried.why else tried.why  # it is shown there already
    outcome = ": ".join(part for part in (line.outcome, line.reason, why) if part)
    known = (
        f"{sender.address or NOTHING}, level {sender.level} ({sender.why})" if sender is not None else "not looked at"
    )
    rows = [
        ("from", known),
        ("screening", f"{tried.screening.verdict.value}{_by_rule(tried.screening.rule)}: {tried.screening.why}"),
        ("outcome", outcome),
        *([("leaves", f"in mode {line.mode.value}")] if line.mode is not None else []),
        *([("desk", tried.desk)] if tried.desk else []),
        ("took", cost),
    ]
    if tried.intention is not None:
        rows.insert(2, ("means", _intention(tried.intention)))
    lines = [clean_line(line.file), *indented(as_table(rows), 2)]
    if tried.decision is not None:
        lines += indented(as_table(_tried_calls(tried.decision)), 2)
    if line.answer is not None:
        lines += ["", f"  Subject: {clean_line(line.answer.subject)}", "", *quoted(line.answer.text)]
    return "\n".join([*lines, ""])


def _tried_calls(decision: Decision) -> list[tuple[str, ...]]:
    """The calls that carry a choice."""
    from support_agent.planner.plan import call_text  # with what decides, for which `pause` must not wait

    return [
        ("call", call_text(call.tool, call.args), format_confidence(call.confidence), call.status.replace("_", " "))
        for call in decision.plan.calls
        if call.considered
    ]


def _mail(mail: MailStory) -> Iterator[str]:
    record = mail.record
    level = NOTHING if record.level is None else f"{record.level} ({record.sender_why})"
    reason = ": ".join(part for part in (record.reason_code, record.why) if part)
    subject = _subject(mail, "store.raw_retention_days")
    yield ""
    yield f"{instant_text(record.received_at)}  mail from {clean_line(mail.from_address) or '(no single address)'}"
    yield from indented(
        as_table(
            [
                ("subject", subject),
                ("level", level),
                ("screening", f"{record.screening_verdict or NOTHING}{_by_rule(record.screening_rule)}"),
                ("outcome", record.status.value + (f" ({reason})" if reason else "")),
            ]
        ),
        2,
    )
    yield from quoted(mail.text)
    if mail.plan is not None:
        yield from _plan(mail.plan)
    for sent in mail.sent:
        yield from _sent(sent)
    for label in mail.labels:
        undone = "" if label.undone_at is None else f", undone {instant_text(label.undone_at)}"
        choice, keys = f" ({label.choice})" if label.choice else "", ", ".join(label.keys) or "no answer"
        said = f"{label.outcome.value}{choice} by {clean_line(label.who)}, {label.how.value}, about {keys}{undone}"
        yield f"{instant_text(label.made_at)}  judged: {said}"


def _subject(story: MailStory | SentStory, setting: str) -> str:
    """The subject of a mail, or why neither that nor the text is shown."""
    if not story.is_readable:
        return "cannot be read any more, nor the text: its key is gone"
    return story.subject if story.is_kept else f"no longer kept, nor the text ({setting})"


def _intention(intention: Intention) -> str:
    return f"{intention.intent.value}, {format_confidence(intention.probability)} by the vote {intention.version}"


def _by_rule(rule: str | None) -> str:
    return "" if rule is None else f" by rule {rule}"


def _plan(plan: PlanStory) -> Iterator[str]:
    record = plan.record
    reason = "" if record.reason is None else f" ({record.reason})"
    passes = counted(record.forward_passes, "forward pass", "forward passes")
    cost = f"{record.seconds:.2f} s, {passes}, {counted(record.tokens, 'token', 'tokens')}"
    model = f", model {record.model}" if record.model else ""
    yield f"{instant_text(record.planned_at)}  plan: {record.outcome}{reason}, {cost}{model}"
    if plan.intention is not None:
        yield f"  means: {_intention(plan.intention)}"
    for number, question in enumerate(plan.questions, start=1):
        yield f"  question {number}: {clean_line(question)}"
        calls = [call for call in plan.calls if call.question == number]
        before: tuple[Vote, ...] = ()
        for call in calls:
            yield from _call(call, show_considered=call.considered != before)
            before = call.considered or before
        for report in (report for report in plan.retrievals if report.question == number):
            yield from _retrieved(report)


def _retrieved(report: RetrievalReport) -> Iterator[str]:
    found = report.result
    passes = counted(found.forward_passes, "forward pass", "forward passes")
    yield f"    retrieved: {found.reason}, {found.seconds:.2f} s, {passes}, {counted(found.tokens, 'token')}"
    for evidence in report.evidence:
        places = ", ".join(str(sentence.position) for sentence in evidence.sentences)
        yield f"      document {evidence.number}, grade {number_text(evidence.grade)}, sentences {places}"
    for written in report.written:
        yield f"      the model's {clean_line(written.kind)}, sent to nobody: {clean_line(written.text)}"


def _call(call: CallStory, *, show_considered: bool) -> Iterator[str]:
    needed = f" of {format_confidence(call.threshold)} needed" if call.threshold else ""
    sure = f"{format_confidence(call.confidence)}{needed}"
    outcome = call.status.replace("_", " ") + (f": {clean_line(call.result)}" if call.result else "")
    yield f"    {clean_line(call.call)}, {sure}, {outcome}"
    if show_considered and call.considered:
        shown = ", ".join(
            f"{option.key} {format_confidence(option.probability)}" for option in call.considered[:RUNNERS_UP]
        )
        yield f"      of {clean_line(shown)}"


def _sent(sent: SentStory) -> Iterator[str]:
    record = sent.record
    tries = counted(record.attempts, "try", "tries")
    when = f" at {instant_text(record.sent_at)}" if record.sent_at is not None else ""
    yield f"{record.kind.value} to {clean_line(record.recipient)}: {record.status.value}{when} after {tries}"
    subject = _subject(sent, "store.outbox_retention_days")
    rows = [("subject", subject), ("id", record.message_id)]
    if record.last_detail:
        rows.append(("server", record.last_detail))
    for entry in sent.delivery_updates:
        change = f"{entry.before.value} to {entry.after.value} by {entry.by.value}: {entry.detail}"
        rows.append(("confirmed", f"{instant_text(entry.updated_at)}  {change}"))
    if sent.is_kept:
        rows.append(("templates", f"version {sent.templates_version[:12]}"))
    rows += [("item", f"{item.says}  [{item.source}]") for item in sent.items]
    yield from indented(as_table(rows), 2)
    if not record.kind.is_for_desk:
        yield from quoted(sent.text)


def _why_mail(mail: WhyMail) -> Iterator[str]:
    unsent = f"  {mail.status.value}, not sent" if mail.status.is_unsent else ""
    yield f"{mail.kind.value} to {clean_line(mail.recipient)}  {clean_line(mail.message_id)}{unsent}"
    if mail.kind.is_for_desk:
        yield f"  {clean_line(mail.desk)}"
        return
    yield ""
    lines = [mail.subject.model_copy(update={"text": f"Subject: {mail.subject.text}"}), *mail.lines]
    for line in lines:
        yield from _beside(line)
    yield ""
    if mail.files:
        yield "files"
        rows = [(file.name, f"{file.content_type}, {file.size_bytes} bytes", file.what) for file in mail.files]
        yield from indented(as_table(rows), 2)
        yield ""
    yield from _headers(mail.headers)
    queries = {part.name: part.query for line in mail.lines for part in line.sources if part.query is not None}
    if queries:
        yield ""
        yield "queries, as accounts.toml had them then"
        yield from indented(as_table([(name or NOTHING, query) for name, query in queries.items()]), 2)


def _beside(line: WhyLine) -> Iterator[str]:
    """The text on the left, its sources on the right; a line with several parts quotes each."""
    text = clean_lines(line.text)[:1]
    if not text:
        yield ""
        return
    sources = _in_words(line.sources)
    for left, right in zip_longest(wrapped(text[0], TEXT_CELLS), sources, fillvalue=""):
        yield f"{padded(left, TEXT_CELLS)} | {right}".rstrip(" ")


def _in_words(sources: Sequence[WhySource]) -> list[str]:
    """The sources of the parts that contain a word; a lone comma has the template of its neighbour."""
    spoken = [source for source in sources if any(map(str.isalnum, source.text))] or sources
    if len(spoken) == 1:
        return [clean_line(spoken[0].what)]
    return [f'"{cut(clean_line(source.text), QUOTE_CELLS)}": {clean_line(source.what)}' for source in spoken]


def _headers(headers: Iterable[WhyHeader]) -> Iterator[str]:
    yield "headers"
    yield from indented(as_table([(header.name, header.what, header.value) for header in headers]), 2)


def _change(entry: Replanned) -> Iterator[str]:
    match entry.status:
        case "changed":
            yield from indented(entry.diff, 4)
        case "newly_answered":
            yield f"    before: {_reason(entry.before)}"
            yield from indented(entry.after.text, 4, mark="+")
        case "newly_escalated":
            yield f"    now: {_reason(entry.after)}"
            yield from indented(entry.before.text, 4, mark="-")
        case "newly_filed" | "newly_held" | "same":
            return


def _reason(said: PlanResult) -> str:
    return f"a person ({clean_line(said.reason or 'no reason recorded')})"
