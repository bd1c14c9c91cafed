"""`python -m tests.benchmarks.backtest [--work DIR] [--model]`: whether a backtest is true of mail it did not see.

A made mailbox of about 1,000 mails to the demo company, half a year of questions with people's answers. The report is
made of the older half. Printed is its interval beside the share of right answers in the newer half, by the labels,
which the report does not know; where the questions of each topic that no document has are; and which of the planted
documents were found: one that nobody needs, one that repeats another, one that contradicts another, and an answer of
people that contradicts a document.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from support_agent.app.dry_runs import open_bench
from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from support_agent.ops.backtest.clusters import Cluster
from support_agent.ops.backtest.report import BacktestReport, report_of
from support_agent.ops.backtest.results import PastResult
from support_agent.ops.backtest.running import Bench, Past, RunProgress, past_of
from support_agent.ops.backtest.sources import collect, files_in
from tests.benchmarks.companies import TODAY, demo_settings
from tests.made_mailbox import FILES, OWN, Made, Question, rows, threads, write_mbox
from tests.unit.ops.backtest.made import HEAD

MAX_BYTES = 10_000_000
PLANTED = {
    21: ("Fax", "Harborfile sends and receives no fax.\nThe fax number on old brochures was switched off in 2019."),
    22: ("Sign-in help", "The link in the password mail works once and for 24 hours.\nOpen the mail and click it."),
}
"""Documents by number: the first is needed by nobody, the second contradicts document 6."""
REPEATED, REPEATING = 20, 23


def main() -> None:
    """Make the mailbox, run the backtest and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.backtest")
    parser.add_argument("--work", type=Path, help="where results are kept")
    parser.add_argument("--model", action="store_true", help="with the language model")
    args = parser.parse_args()
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    with demo_settings() as settings, tempfile.TemporaryDirectory() as folder:
        plant(settings.company.policies)
        bench = open_bench(settings, None, without_model=not args.model)
        for line in measured(threads(), bench, Path(folder), args.work or Path(folder)):
            _print(line)


def measured(made: Sequence[Made], bench: Bench, folder: Path, work: Path) -> Iterator[str]:
    """Make the mailbox in `folder`, run the backtest, keep its results in `work`, and say what was found."""
    started, half = time.monotonic(), len(made) // 2
    box = write_mbox(folder / "archive.mbox", [raw for thread in made for raw in thread.raws])
    mails = collect(files_in([box], MAX_BYTES), bench.settings.backtest, TODAY)
    past = past_of(mails, [OWN], bench, work, told)
    older = report_of(Past(mails, past.pairs[:half], past.results[:half]), bench, TODAY)
    whole = report_of(past, bench, TODAY)
    yield f"{len(mails.mails)} mails, {len(made)} questions in {time.monotonic() - started:.0f} s"
    yield halves(older, past.results[half:], [one.question for one in made[half:]])
    yield planted_clusters(whole.clusters)
    yield planted_documents(whole)


def plant(policies: Path) -> None:
    """Add the planted documents."""
    for number, (title, body) in PLANTED.items():
        text = f"{HEAD.format(number=number, title=title)}# {title}\n\n{body}\n"
        (policies / f"{number:03d}-planted.md").write_text(text, "utf-8")
    (repeated,) = policies.glob(f"{REPEATED:03d}-*.md")
    body = repeated.read_text("utf-8").partition("\n# ")[2].partition("\n")[2]
    text = f"{HEAD.format(number=REPEATING, title='Links for guests')}# Links for guests\n{body}"
    (policies / f"{REPEATING:03d}-planted.md").write_text(text, "utf-8")


def halves(older: BacktestReport, newer: Sequence[PastResult], questions: Sequence[Question]) -> str:
    """The interval of the older half's report beside the share of right answers in the newer half, by the labels."""
    right = [is_right(one, asked) for one, asked in zip(newer, questions, strict=True) if has_document(one)]
    share = sum(right) / max(1, len(right))
    found = older.precision
    return (
        f"older half: {found.sent} answers, {found.same} same, {found.other} other, {found.own_words} own words: right "
        f"{found.least or 0:.2f} to {found.most or 0:.2f}, interval {found.low:.2f} to {found.high:.2f}\n"
        f"newer half, by the labels: {sum(right)} of {len(right)} answers right ({share:.2f}), "
        f"{'within' if found.low <= share <= found.high else 'OUTSIDE'} the interval"
    )


def has_document(result: PastResult) -> bool:
    """Whether a document would be sent."""
    return any(choice.document is not None for choice in result.as_sent().choices)


def is_right(result: PastResult, question: Question) -> bool:
    """Whether each document that would be sent is an acceptable outcome."""
    expected = {outcome for outcomes in question.expected for outcome in outcomes}
    sent = (choice.document for choice in result.as_sent().choices)
    return all(f"send_document({number})" in expected for number in sent if number is not None)


def planted_clusters(clusters: Sequence[Cluster]) -> str:
    """The groups in which the questions of each planted topic are, by their typical questions."""
    planted: dict[str, set[str]] = defaultdict(set)
    for row in rows(FILES / "uncovered.jsonl"):
        planted[row["cluster"]].add(text_of(row))
    lines = []
    for name, texts in planted.items():
        places = [place for place, one in enumerate(clusters) if not texts.isdisjoint(one.examples)]
        shown = (f"group {place + 1} of {clusters[place].size}: {' '.join(clusters[place].words)}" for place in places)
        lines.append(f"planted {name}, {len(texts)} questions: {'; '.join(shown) or 'NOT FOUND'}")
    return "\n".join(lines)


def text_of(row: dict[str, str]) -> str:
    """A planted question as the report has it."""
    return f"{row['subject']}. {row['text']}".strip(". ")


def planted_documents(report: BacktestReport) -> str:
    """Which of the planted documents were found, and how much else."""
    between = [(one.place.document, one.other.document) for one in report.contradictions if one.other]
    people = [(one.place.document, one.times, one.said) for one in report.contradictions if not one.other]
    overlapping = [(one.one, one.other, round(one.share, 2)) for one in report.overlaps]
    dead = [one.name for one in report.dead]
    return f"dead: {dead}\noverlaps: {overlapping}\nin conflict: {between}\nwith people: {people}"


def told(step: RunProgress) -> None:
    """How far it is, every fifty mails."""
    if step.done % 50 == 0:
        _print(f"{step.done} of {step.total}, {step.seconds_left or 0:.0f} s left")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
