"""`python -m tests.benchmarks.labelled [tuning|labelled]`: how many of the mails are answered, right and wrong.

Each mail twice in one run, with the fact room and without, and what that costs. Weights and thresholds are fitted on
`tuning` only; `labelled` is for reporting. A line a mail, then the totals.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from support_agent.app.wiring import open_decider
from support_agent.config.loading import load
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress
from support_agent.ops.dry_run import DryRunResult
from support_agent.ops.evals.mail_labels import MailLabel
from support_agent.ops.evals.mails import Score, score, sent_in, total
from support_agent.workflow.decide import Decider
from tests.benchmarks.companies import dry_run_by
from tests.labelled import labels

TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The mails are dated in this month."""


@contextmanager
def demo_decider() -> Iterator[Decider]:
    """Decides mails on the demo company with the embedded model, as `support-agent try` does."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        init(workspace, TODAY.date())
        settings = load(workspace / CONFIG_FILE)
        model = open_model(settings, stderr_progress())
        decider = open_decider(settings, stderr_progress(), in_memory=True, model=model)
        try:
            yield decider
        finally:
            close(model, decider.company.accounts)


@contextmanager
def demo_trials() -> Iterator[Callable[[MailLabel], DryRunResult]]:
    """Tries mails on the demo company."""
    with demo_decider() as decider:
        yield lambda label: try_label(decider, label)


def try_label(decider: Decider, label: MailLabel, raw: bytes | None = None) -> DryRunResult:
    """One mail of a set, or other bytes in its place, from its sender."""
    raw = raw or label.path.read_bytes()
    return dry_run_by(decider).try_mail(label.path.name, raw, TODAY, as_level=label.level, as_customer=label.customer)


def main() -> None:
    """Try, score and print."""
    name = sys.argv[1] if len(sys.argv) > 1 else "tuning"
    with demo_decider() as decider:
        without = replace(decider, rooms=None)
        results: list[tuple[MailLabel, DryRunResult, DryRunResult]] = []
        for number, label in enumerate(labels(name)):
            if number % 2:  # the second of the two finds caches warm
                on, off = try_label(decider, label), try_label(without, label)
            else:
                off, on = try_label(without, label), try_label(decider, label)
            results.append((label, on, off))
    for label, on, off in results:
        print(_line(label, on))  # noqa: T201
        if sent_in(on) != sent_in(off):
            print("  without the fact room:", _line(label, off))  # noqa: T201
    for title, tried in (
        ("with the fact room", [on for _, on, _ in results]),
        ("without it", [off for *_, off in results]),
    ):
        whole = total(score(label, sent_in(one)) for (label, *_), one in zip(results, tried, strict=True))
        print(f"{title}: {summary(whole, sum(one.line.seconds for one in tried))}; {_cost(tried)}")  # noqa: T201


def _line(label: MailLabel, tried: DryRunResult) -> str:
    sent = sent_in(tried)
    result = score(label, sent)
    line = tried.line
    verdict = "WRONG" if result.wrong else "right" if result.answered else line.outcome
    lost = "" if result.questions_right == result.questions else f"  expected {label.expected}"
    beside = f"  sections {sorted(map(sorted, sent.sections.values()))}" if result.wrong_section else ""
    return f"{verdict:9}{label.path.name}  {', '.join(sent.outcomes) or line.reason}{beside}{lost}"


def _cost(tried: Sequence[DryRunResult]) -> str:
    decisions = [one.decision for one in tried if one.decision is not None]
    passes = sum(decision.forward_passes for decision in decisions) / len(tried)
    tokens = sum(decision.tokens for decision in decisions) / len(tried)
    middle = median(one.line.seconds for one in tried)
    return f"{middle:.1f} s at the median; {passes:.1f} forward passes and {tokens:.0f} tokens a mail"


def summary(score: Score, seconds: float) -> str:
    """The totals, for people."""
    return (
        f"{score.mails} mails, {score.answered} answered, {score.wrong} of them wrong, {score.wrong_section} of these "
        f"by the section alone ({score.right_of_answered:.0%} right); of {score.documents} documents "
        f"{score.right_sections} with a right section, {score.whole} with all that is needed; "
        f"{score.answerable_answered} of {score.answerable} answerable ones answered "
        f"({score.answered_of_answerable:.0%}); {score.questions_right} of {score.questions} questions; "
        f"{seconds / score.mails:.1f} s a mail"
    )


if __name__ == "__main__":
    main()
