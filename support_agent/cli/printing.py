"""Prints for people what commands found: plain text, aligned, from the same data that `--json` prints.

Mails and cases are printed by `case_printing`. Invariant: text from outside (mails, headers, database, servers)
reaches the terminal without control, escape or bidirectional characters, so that no mail can draw on an operator's
screen. Checked by tests/unit/cli/test_printing.py, tests/unit/cli/test_facts_train.py and
tests/unit/cli/test_suggest_questions.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from support_agent.answer.formatting import clean_line
from support_agent.cli.terminal import NOTHING, as_table, counted, indented, instant_text, number_text, quoted
from support_agent.core.findings import Finding, Severity
from support_agent.store.records import CaseSummary

if TYPE_CHECKING:  # a command that prints one of these has imported it; the others need not wait for it
    from support_agent.company.importing.unreviewed import Imported
    from support_agent.core.diagnosis import Diagnosis
    from support_agent.facts.learning.comparison import TrainedPolicy
    from support_agent.facts.learning.recorded import Measured
    from support_agent.facts.suggestions import Suggestions
    from support_agent.models.pulling import ListedModel
    from support_agent.ops.autonomy_report import ItemAutonomy
    from support_agent.ops.conformance import RowResult
    from support_agent.ops.forgetting import Forgotten
    from support_agent.ops.inspection import Inspection
    from support_agent.ops.person import PersonData
    from support_agent.ops.probe import Probed
    from support_agent.ops.retrieval_report import RetrievalReport
    from support_agent.outbound.outbox_choices import UnconfirmedMail
    from support_agent.store.audit import AuditEntry

BYTES_PER_MB = 1_000_000
POLICY_HEADER = (
    "POLICY",
    "REWARD",
    "95% +-",
    "HELPED",
    "MISLED",
    "TO A PERSON",
    "NEEDLESSLY",
    "RETRIEVALS",
    "DRAFTS",
    "S",
)


def findings(found: Sequence[Finding]) -> str:
    """One line for each finding, `file:line: what: what to do`, and their number."""
    lines = [f"{finding.severity.value}: {clean_line(str(finding))}" for finding in found]
    errors = sum(finding.severity is Severity.ERROR for finding in found)
    warnings = len(found) - errors
    return "\n".join([*lines, f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"])


def diagnoses(found: Sequence[Diagnosis]) -> str:
    """A table of part, severity and state; below each problem what to do."""
    rows = []
    for entry in found:
        rows.append((entry.subject, entry.severity.value, entry.what))
        if entry.todo:
            rows.append(("", "", f"to do: {entry.todo}"))
    return as_table(rows)


def probed(found: Probed) -> str:
    """A row for each hop of a canary, then what became of it."""
    rows = [(hop.name, f"{hop.seconds:.2f} s", f"{hop.at:%Y-%m-%d %H:%M:%S} UTC") for hop in found.hops]
    by = f" by document {found.document}" if found.document is not None else ""
    what = f"{found.outcome or 'nothing came of it'}{by}"
    rows.append(("in all", f"{found.seconds:.2f} s", what if found.is_ok else f"{what}: {found.why}"))
    return as_table(rows)


def models(listed: Sequence[ListedModel]) -> str:
    """A table of the pinned models, then the sources of each."""
    rows = [("MODEL", "STATE", "SIZE", "LICENCE", "PATH")]
    rows += [(m.name, m.state.value, f"{m.size_bytes / BYTES_PER_MB:,.0f} MB", m.licence, str(m.path)) for m in listed]
    sources = [f"{m.name}: {clean_line(m.title)}; from {', '.join(m.sources)}" for m in listed]
    return "\n".join([as_table(rows), "", *sources])


def inspection(found: Inspection) -> str:
    """A mail file in a short block: what was read from it, and what its sender wrote."""
    if found.error is not None:
        return as_table([("file", found.file), ("error", found.error)])
    rows = [("file", found.file), ("from", found.from_ or NOTHING), ("to", ", ".join(found.to) or NOTHING)]
    rows += [("subject", found.subject), ("date", instant_text(found.date)), ("id", found.message_id)]
    rows.append(("screening", f"{found.screening.verdict.value}  {found.screening.rule or ''}"))
    rows.append(("sender", f"level {found.sender.level}: {found.sender.why}"))
    rows.append(("made by", "a machine" if found.automatic else "a person, as far as can be seen"))
    if found.bounce is not None:
        kind = "failed" if found.bounce.permanent else "delayed"
        rows.append(("bounce", f"{kind} {found.bounce.status}: {', '.join(found.bounce.recipients) or NOTHING}"))
    rows += [("attached", f"{a.name or NOTHING}  {a.type}  {a.bytes} bytes") for a in found.attachments]
    rows.append(("besides", f"{len(found.quoted_text)} characters quoted, {len(found.signature)} of signature"))
    return "\n".join([as_table(rows), *quoted(found.visible_text), ""])


def conformance(rows: Sequence[RowResult]) -> str:
    """The table of the rules about mail: result, examples, meaning and source of each."""
    table = [("ROW", "RESULT", "TRIED", "WHAT", "SOURCE")]
    for row in rows:
        tried = counted(len(row.examples), "mail") if row.examples else row.proven_by.partition("::")[0]
        table.append((row.id, row.result, tried, row.what, row.source))
    failed = [
        f"{row.id}: {clean_line(e.name)}: expected {e.expected}, found {clean_line(e.found)}"
        for row in rows
        for e in row.examples
        if not e.is_passed
    ]
    run = sum(bool(row.examples) for row in rows)
    proven = f"{len(rows) - run} proven by the tests of the checkout"
    return "\n".join(
        [as_table(table), *failed, f"{counted(run, 'row')} run, {proven}, {counted(len(failed), 'failure')}"]
    )


def cases(found: Sequence[CaseSummary]) -> str:
    """A table of cases."""
    if not found:
        return "no cases yet"
    rows = [("CASE", "STATE", "MAILS", "LAST MAIL", "CUSTOMER", "SUBJECT")]
    for entry in found:
        case = entry.case
        state, last = case.state.value, instant_text(entry.last_received_at)
        rows.append((case.id, state, str(entry.mails), last, case.customer_address, case.subject))
    return as_table(rows)


def autonomy(found: Sequence[ItemAutonomy]) -> str:
    """A table of the items with their modes."""
    rows = [("ITEM", "MODE", "RIGHT", "AT LEAST", "TITLE", "WHY")]
    for item in found:
        judged = (f"{item.right}/{item.judged}", f"{item.lower_bound:.2f}") if item.judged else (NOTHING, NOTHING)
        title = item.title or "(the company does not have it)"
        rows.append((item.key, item.mode.value, *judged, title, item.why))
    changes = [item for item in found if item.earned is not item.mode]
    would = [f"would change: {item.key} to {item.earned.value}: {item.earned_why}" for item in changes]
    return "\n".join([as_table(rows), *map(clean_line, would)])


def outbox(found: Sequence[UnconfirmedMail]) -> str:
    """A table of the mails whose delivery is not confirmed."""
    if not found:
        return "no mail waits, is uncertain or failed"
    rows = [("ID", "KIND", "STATUS", "AGE", "TRIES", "NEXT TRY", "RECIPIENT", "CASE", "LAST WORD")]
    for mail in found:
        next_try = f"{mail.next_try_at:%Y-%m-%d %H:%M}" if mail.next_try_at is not None else NOTHING
        tried = (mail.kind.value, mail.status.value, _age(mail.age_s), str(mail.attempts), next_try)
        rows.append((mail.outbox_id, *tried, mail.recipient, mail.case_id or NOTHING, mail.detail or ""))
    return as_table(rows)


def imported(made: Imported) -> str:
    """The file, what to check and to write in it, and the next step."""
    size = counted(made.sentences, "sentence")
    lines = [
        f"{made.path}: document {made.number}, {size}, not reviewed, so no customer gets it",
        *(f"check: {note}" for note in made.notes),
        f"to write: {', '.join(made.missing)}",
        "then change its line to `reviewed: true`, and run `support-agent check`",
    ]
    return "\n".join(map(clean_line, lines))


def retrieval(report: RetrievalReport) -> str:
    """Whether a document answers, the steps as a table, and the sentences; text of the model is marked as such."""
    found = report.result
    rows = [("STEP", "CYCLE", "DECIDED", "GRADE", "TEMPERATURE", "TOKENS", "SECONDS")]
    for visit in found.trace:
        numbers = (number_text(visit.grade), number_text(visit.temperature), str(visit.cost.tokens))
        rows.append((visit.node.value, str(visit.cycle), visit.decided, *numbers, f"{visit.cost.seconds:.2f}"))
    lines = [
        f"{'answered' if found.is_answered else 'not answered'}: {found.reason}, "
        f"{counted(found.tokens, 'token')}, {counted(found.forward_passes, 'forward pass', 'forward passes')}",
        "",
        as_table(rows),
        *(line for one in report.written for line in ("", *quoted(clean_line(f"the model's {one.kind}: {one.text}")))),
    ]
    for evidence in report.evidence:
        lines += ["", f"document {evidence.number}, {clean_line(evidence.title)} ({number_text(evidence.grade)}):"]
        lines += indented("\n".join(clean_line(sentence.text) for sentence in evidence.sentences), 2)
    for page in found.pages:
        of_document = "" if page.document is None else f" (the page of document {page.document})"
        lines += ["", f"not the company's words, {clean_line(page.address)}{of_document}:"]
        lines += indented(clean_line(page.text), 2)
    return "\n".join(lines)


def _age(seconds: float) -> str:
    minutes = int(seconds // 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def trained_policy(trained: TrainedPolicy, folder: Path) -> str:
    """How the policy was trained, a row for each policy, and the lines for the configuration in `folder`."""
    file = trained.policy_file
    name = file.relative_to(folder) if file.is_relative_to(folder) else file
    first = trained.measured[0]
    return "\n".join(
        [
            f"trained on {counted(trained.episodes, 'play')} of {counted(trained.recorded, 'recorded case')} and "
            f"{counted(trained.people, 'escalated case')}, seed {trained.seed}; on {first.questions} other cases:",
            "",
            as_table([POLICY_HEADER, *map(_policy_row, trained.measured)]),
            "",
            "to use it, write in support-agent.toml:",
            "[facts]",
            'policy = "trained"',
            f"policy_file = {json.dumps(str(name))}",
        ]
    )


def _policy_row(measured: Measured) -> tuple[str, ...]:
    # With numpy, for which other commands must not wait.
    from support_agent.facts.learning.recorded import QuestionOutcome

    shares = [measured.outcomes[outcome] for outcome in (QuestionOutcome.HELPED, QuestionOutcome.MISLED)]
    shares += [measured.outcomes[QuestionOutcome.ESCALATED], measured.outcomes[QuestionOutcome.MADE_TO_WAIT]]
    return (
        measured.policy,
        f"{measured.reward:.3f}",
        f"{measured.margin:.3f}",
        *(f"{share:.0%}" for share in shares),
        f"{measured.retrievals:.1f}",
        f"{measured.drafts:.1f}",
        f"{measured.seconds:.1f}",
    )


def suggestions(made: Suggestions) -> str:
    """The file, its number of questions for each document, and what a person does next."""
    lines = [f"{made.file}: proposed by {made.model}, not used until a person has copied it"]
    for one in made.documents:
        what = f"{counted(len(one.questions), 'question')} proposed, {len(one.left_out)} left out"
        lines.append(f"document {one.number} ({one.title}): {what}")
    lines.append("read them, copy what is good into `questions:` of the documents, and run `support-agent check`")
    return "\n".join(map(clean_line, lines))


def audit_entries(found: Sequence[AuditEntry]) -> str:
    """A table of the audit log's entries, the newest first."""
    if not found:
        return "no entries yet"
    rows = [("NUMBER", "AT", "ACT", "WHO", "ABOUT")]
    for entry in found:
        about = ", ".join(f"{name} {json.dumps(value)}" for name, value in entry.about.items() if value is not None)
        rows.append((str(entry.number), instant_text(entry.at), entry.act.value, entry.who, about))
    return as_table(rows)


def person_traces(found: PersonData) -> str:
    """What is kept about a person, by kind, and what a person must look after."""
    kept = found.kept
    rows = [(name, str(count)) for name, count in kept.counts.items() if count]
    rows += [(name, str(len(paths))) for name, paths in (("results of backtests", found.results),) if paths]
    rows += [("exported mails", str(len(found.labelled)))] if found.labelled else []
    lines = [as_table([("KIND", "ROWS"), *rows]) if rows else "nothing is kept about this person"]
    lines += [f"case {case_id} goes whole" for case_id in kept.cases]
    lines += [f"with what {other} wrote in these cases" for other in kept.others]
    lines += [f"unfinished: {what}" for what in kept.unfinished]
    lines += [f"case {case_id} of others names the person, and stays" for case_id in found.elsewhere]
    lines += [f"{path} names the person: decide yourself" for path in found.named_in]
    lines += [f"a restore left a store aside, which may name the person: delete {what}" for what in found.aside]
    lines += [f"not ours: {what}" for what in found.not_ours]
    return "\n".join(clean_line(line) for text in lines for line in text.splitlines())


def forgotten(done: Forgotten) -> str:
    """What was deleted, if anything was, and the receipt."""
    deleted = f"forgotten, with {counted(done.engine_records, 'engine record')}"
    if done.traces.is_nothing and not done.engine_records:
        deleted = "nothing was deleted; the audit log has an entry that you asked"
    return "\n".join([person_traces(done.traces), deleted, f"receipt, not kept anywhere: {done.receipt}"])
