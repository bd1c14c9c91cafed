"""Prints for people what `backtest`, `what-if` and `coverage` found, from the same data that `--json` prints.

Invariant: text from outside reaches the terminal without control characters, as in `printing`. Checked by
tests/unit/cli/test_backtest.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from support_agent.answer.formatting import clean_line, clean_lines
from support_agent.cli.terminal import NOTHING, as_table, counted, padded, wrapped

if TYPE_CHECKING:
    from support_agent.desk.coverage import Coverage, Share
    from support_agent.ops.backtest.report import BacktestReport, MailCount, Precision
    from support_agent.ops.backtest.what_if import Changed, WhatIf, WhatIfOutcome

SIDE_CELLS = 56
"""Width of one of two texts side by side, in cells of the terminal."""
EXAMPLE_CHARACTERS = 160
MOST_LISTED = 10


def backtest(report: BacktestReport) -> str:
    """The report for a terminal: figures, then what to do, the most mails first."""
    return "\n".join(_report(report))


def _report(report: BacktestReport) -> Iterator[str]:
    first, last = (f"{at:%Y-%m-%d}" if at else NOTHING for at in (report.first_at, report.last_at))
    yield f"This report holds your customers' words. {counted(report.mails, 'mail')}, {first} to {last};"
    yield f"{report.unreadable} could not be read, {report.too_many} older ones were left out."
    yield ""
    share = f"{report.answered} ({_percent(report.answered_share)})"
    yield f"Of {counted(report.questions, 'question')} {share} would be answered at once."
    saved = report.savings
    if report.precision.least is None:
        yield f"None of these answers could be judged. A month: {saved.answers_a_month:.0f} answers."
    else:
        minutes = f"{saved.minutes_a_month_least:.0f} to {saved.minutes_a_month_most:.0f} minutes of people"
        yield f"Of these answers are right: {_right(report.precision)}."
        yield f"A month: {saved.answers_a_month:.0f} answers, {minutes}."
    if report.median_wait_s is not None:
        waited = f"half of them within {report.median_wait_s / 3600:.1f} hours"
        yield f"People answered {report.people_answered} of the questions, {waited}."
    head = ("THRESHOLD", "ANSWERED", "SENT", "SAME", "OTHER", "OWN WORDS", "RIGHT", "INTERVAL")
    rows = [(f"{one.threshold:.2f}", _percent(one.share), *_row(one.precision)) for one in report.thresholds]
    yield from ("", as_table([head, *rows]))
    topics = [(f"{one.key} {one.title}", *_row(one.precision)) for one in report.topics if one.precision.sent]
    yield from ("", as_table([("TOPIC", *head[2:]), *topics]))
    for number, one in enumerate(report.clusters[:MOST_LISTED], start=1):
        more = f"{counted(one.size, 'question')}, up to {100 * one.share:.1f} % more answered"
        yield from ("", f"write a document {number}: {clean_line(', '.join(one.words))} ({more})")
        yield from (f"  - {_example(example)}" for example in one.examples)
    for found in report.missed[:MOST_LISTED]:
        title = clean_line(found.title)
        yield from ("", f"not found {counted(found.mails, 'time')}: document {found.document}, {title}; asked as")
        yield from (f"  - {_example(example)}" for example in found.examples)
    for conflict in report.contradictions[:MOST_LISTED]:
        other = (
            f"document {conflict.other.document}" if conflict.other else f"people, {counted(conflict.times, 'time')}"
        )
        yield from ("", f"contradiction: document {conflict.place.document} and {other}")
        yield from (f"  - {_example(text)}" for text in (conflict.place.text, conflict.said))
    yield ""
    yield from (f"nobody needed document {clean_line(document.name)}" for document in report.dead)
    for pair in report.overlaps:
        yield f"documents {pair.one} and {pair.other} share {counted(pair.sentences, 'sentence')}"
    for name, counts in (("to people", report.reasons), ("language", report.languages), ("filed", report.automatic)):
        yield f"{name}: {_counts(counts)}"
    yield f"{counted(report.follow_ups, 'follow-up')} of customers were not decided"
    yield ""
    yield from (f"assumed: {assumption}" for assumption in report.assumptions)


def what_if(found: WhatIf) -> str:
    """Each mail that changes, with both answers side by side, and how many there are."""
    lines = [line for one in found.changed for line in _changed(one)]
    end = f"{len(found.changed)} of {counted(found.mails, 'mail')} change: {found.newly_answered} newly answered, "
    return "\n".join([*lines, f"{end}{found.no_longer_answered} no longer answered"])


def coverage(found: Coverage) -> str:
    """The last weeks as tables."""
    people = found.people
    waited = "no answer of a person is known yet"
    if people.median_hours is not None and people.ninetieth_hours is not None:
        waited = f"half within {people.median_hours:.1f} hours, 90 % within {people.ninetieth_hours:.1f} hours"
    rows = [
        ("since", f"{found.since:%Y-%m-%d}, {counted(found.weeks, 'week')}"),
        ("mails", str(found.mails)),
        ("answered", f"{found.answered}, {found.partly_answered} of them in part"),
        ("  by", _shares(found.answered_by)),
        ("to people", str(found.escalated)),
        ("  because", _shares(found.reasons)),
        ("  people", f"answered {people.answered} cases, {people.open} are open; {waited}"),
        ("  approved", f"{counted(people.approved, 'answer')}, as proposed"),
        ("filed", f"{found.filed}: {_shares(found.filed_by)}"),
        ("undecided", str(found.waiting)),
    ]
    grown = [("TOPIC", "OLDER HALF", "NEWER HALF", "")]
    grown += [
        (one.topic, str(one.before), str(one.now), "more than chance" if one.is_sure else "") for one in found.growth
    ]
    return "\n".join([as_table(rows), "", as_table(grown)])


def _right(precision: Precision) -> str:
    interval = f"interval {_percent(precision.low)} to {_percent(precision.high)}"
    return f"{_percent(precision.least)} to {_percent(precision.most)} ({interval})"


def _row(precision: Precision) -> tuple[str, ...]:
    counts = (precision.sent, precision.same, precision.other, precision.own_words)
    right = f"{_percent(precision.least)} to {_percent(precision.most)}"
    return (*map(str, counts), right, f"{_percent(precision.low)} to {_percent(precision.high)}")


def _changed(one: Changed) -> Iterator[str]:
    yield f"{clean_line(one.place)}  {clean_line(one.subject)}"
    yield f"  {_example(one.question)}"
    left, right = ([_end(side), "", *clean_lines(side.text)] for side in (one.before, one.after))
    for before, after in zip_longest(_wrapped(left), _wrapped(right), fillvalue=""):
        yield f"  {padded(before, SIDE_CELLS)} | {after}".rstrip()
    yield ""


def _end(outcome: WhatIfOutcome) -> str:
    sent = ", ".join(outcome.topics)
    what = f"answered with {sent}" if outcome.text else f"{outcome.outcome}: {outcome.reason or NOTHING}"
    return clean_line(f"{what} (a person: {outcome.label})")


def _wrapped(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in wrapped(line, SIDE_CELLS)]


def _example(text: str) -> str:
    plain = clean_line(text)
    return plain if len(plain) <= EXAMPLE_CHARACTERS else f"{plain[:EXAMPLE_CHARACTERS]}..."


def _counts(counts: Sequence[MailCount]) -> str:
    named = (
        f"{clean_line(one.name)} {one.mails}" + (f" ({one.answered} answered)" if one.answered else "")
        for one in counts
    )
    return ", ".join(named) or NOTHING


def _shares(shares: Sequence[Share]) -> str:
    return ", ".join(f"{clean_line(one.name)} {one.mails}" for one in shares) or NOTHING


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.0f} %"
