"""`python -m tests.benchmarks.labelled [tuning|labelled]`: how many of the mails are answered, right and wrong.

Weights and thresholds are fitted on `tuning` only; `labelled` is for reporting. A line a mail, then the totals.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from support_agent.app import open_decider, progress
from support_agent.configuration import load
from support_agent.trial import Trial, try_mail
from support_agent.workspace import CONFIG_FILE, init
from tests.labelled import Label, Score, outcomes_of, scores_of, total

TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The mails are dated in this month."""


@contextmanager
def demo_trials() -> Iterator[Callable[[Label], Trial]]:
    """Tries mails on the demo company with the embedded model, as `support-agent try` does."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        init(workspace, TODAY.date())
        settings = load(workspace / CONFIG_FILE)
        decider = open_decider(settings, progress(), in_memory=True)

        def tried(label: Label) -> Trial:
            return try_mail(
                label.path.name,
                label.path.read_bytes(),
                lambda: decider,
                decider.company.accounts,
                settings,
                TODAY,
                as_level=label.level,
                as_customer=label.customer,
            ).trial

        yield tried


def main() -> None:
    """Try, score and print."""
    name = sys.argv[1] if len(sys.argv) > 1 else "tuning"
    with demo_trials() as tried:
        results = scores_of(name, tried)
    for label, trial, score in results:
        print(_line(label, trial, score))  # noqa: T201
    print(summary(total(score for *_, score in results), sum(trial.seconds for _, trial, _ in results)))  # noqa: T201


def _line(label: Label, trial: Trial, score: Score) -> str:
    verdict = "WRONG" if score.wrong else "right" if score.answered else trial.outcome
    lost = "" if score.questions_right == score.questions else f"  expected {label.expected}"
    return f"{verdict:9}{label.path.name}  {', '.join(outcomes_of(trial.calls)) or trial.reason}{lost}"


def summary(score: Score, seconds: float) -> str:
    """The totals, for people."""
    return (
        f"{score.mails} mails, {score.answered} answered, {score.wrong} of them wrong "
        f"({score.right_of_answered:.0%} right); {score.answerable_answered} of {score.answerable} answerable ones "
        f"answered ({score.answered_of_answerable:.0%}); {score.questions_right} of {score.questions} questions; "
        f"{seconds / score.mails:.1f} s a mail"
    )


if __name__ == "__main__":
    main()
