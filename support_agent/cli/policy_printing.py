"""What `facts train` prints, how the trained policy and the rules do, and what `policies suggest-questions` prints.

Checked by tests/unit/cli/test_facts_train.py and tests/unit/cli/test_suggest_questions.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from support_agent.answer.formatting import clean_line
from support_agent.cli.terminal import as_table, counted
from support_agent.facts.learning.comparison import TrainedPolicy
from support_agent.facts.learning.recorded import Measured, Outcome
from support_agent.facts.suggestions import Suggestions

HEADER = ("POLICY", "REWARD", "95% +-", "HELPED", "MISLED", "TO A PERSON", "NEEDLESSLY", "LOOKS", "DRAFTS", "S")


def trained_policy(trained: TrainedPolicy, folder: Path) -> str:
    """A line on how it was made, a row a policy, and the lines for the configuration, which lies in `folder`."""
    file = trained.policy_file
    name = file.relative_to(folder) if file.is_relative_to(folder) else file
    first = trained.measured[0]
    return "\n".join(
        [
            f"trained on {counted(trained.episodes, 'play')} of {counted(trained.recorded, 'recorded case')} and "
            f"{counted(trained.people, 'escalated case')}, seed {trained.seed}; on {first.questions} other cases:",
            "",
            as_table([HEADER, *map(_row, trained.measured)]),
            "",
            "to use it, in support-agent.toml:",
            "[facts]",
            'policy = "trained"',
            f"policy_file = {json.dumps(str(name))}",
        ]
    )


def _row(measured: Measured) -> tuple[str, ...]:
    shares = [measured.outcomes[outcome] for outcome in (Outcome.HELPED, Outcome.MISLED)]
    shares += [measured.outcomes[Outcome.HANDED_OVER], measured.outcomes[Outcome.MADE_TO_WAIT]]
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
    """The file, how many questions are in it for each document, and what is a person's to do."""
    lines = [f"{made.file}: proposed by {made.model}, used for nothing until a person has copied it"]
    for one in made.documents:
        what = f"{counted(len(one.questions), 'question')} proposed, {len(one.left_out)} left out"
        lines.append(f"document {one.number} ({one.title}): {what}")
    lines.append("read them, copy what is good into `questions:` of the documents, and run `support-agent check`")
    return "\n".join(map(clean_line, lines))
