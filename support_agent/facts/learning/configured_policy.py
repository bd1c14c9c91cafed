"""The policy that the settings name: one of the rules, or trained weights from a file.

Invariant: any setting gives a policy, or the program stops at its start. Checked by
tests/unit/facts/learning/test_configured_policy.py.
"""

from __future__ import annotations

from typing import assert_never

from support_agent.config.facts import FactSettings, PolicyKind
from support_agent.errors import ConfigError
from support_agent.facts.inquiry.policy import InquiryLimits, Softmax, never, self_ask
from support_agent.facts.inquiry.workflow import PolicyFor, retrieve_always
from support_agent.facts.learning.policy_weights import load


def policy_for(settings: FactSettings) -> PolicyFor:
    """A function that creates the configured policy from a question's judge and limits.

    A trained policy has the lower of its own and the configured limits; its file can neither raise a limit nor remove
    the graded draft that an answer needs.

    Raises:
        ConfigError: the file of a trained policy is missing, was changed, or is for another version of the program.
    """
    match settings.policy:
        case PolicyKind.ALWAYS:
            return retrieve_always
        case PolicyKind.SELF_ASK:
            return self_ask
        case PolicyKind.NEVER:
            return lambda _, limits: never(limits)
        case PolicyKind.TRAINED:
            if settings.policy_file is None:
                raise ConfigError("facts.policy_file is not set: name the file that `support-agent facts train` wrote")
            trained = load(settings.policy_file).policy()
            return lambda _, limits: Softmax(trained.weights, within(limits, trained.limits), trained.name)
        case _:
            assert_never(settings.policy)


def within(limits: InquiryLimits, own: InquiryLimits) -> InquiryLimits:
    """The lower of both for each limit; where the trained policy wrote no drafts, the configured limit holds."""
    return InquiryLimits(
        retrievals=min(limits.retrievals, own.retrievals), drafts=min(limits.drafts, own.drafts or limits.drafts)
    )
