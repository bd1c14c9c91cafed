"""What `facts train` prints: how the trained policy and the rules do, and how to switch it on.

Checked by tests/unit/test_facts_train.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from support_agent.facts.learning.comparison import TrainedPolicy
from support_agent.facts.learning.simulator import Measured, Outcome
from support_agent.terminal import as_table, counted

HEADER = ("POLICY", "REWARD", "+-", "HELPED", "MISLED", "TO A PERSON", "NEEDLESSLY", "LOOKS", "DRAFTS")


def trained_policy(trained: TrainedPolicy, folder: Path) -> str:
    """A line on how it was made, a row a policy, and the lines for the configuration, which lies in `folder`."""
    file = trained.policy_file
    name = file.relative_to(folder) if file.is_relative_to(folder) else file
    first = trained.measured[0]
    return "\n".join(
        [
            f"trained on {counted(trained.episodes, 'simulated case')} and {counted(trained.people, 'escalated case')}"
            f", seed {trained.seed}; on {first.questions} questions of simulated users it had not met:",
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
        f"{measured.standard_error:.3f}",
        *(f"{share:.0%}" for share in shares),
        f"{measured.looks:.1f}",
        f"{measured.drafts:.1f}",
    )
