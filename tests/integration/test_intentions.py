"""The vote on what a reply means, on its embedder: no question closes a case, also where nothing was fitted to it."""

from __future__ import annotations

import pytest

from support_agent.cases.intention_vote import IntentionVote, packaged_examples
from support_agent.cases.intentions import Intent, Intention
from support_agent.config.embedding import EmbeddingModel
from support_agent.config.intentions import IntentionSettings
from support_agent.config.settings import ModelSettings
from support_agent.models.embedders import PINNED
from support_agent.models.pulling import cache_dir, locate
from tests.benchmarks.intentions import ALIKE, Reply, opened, reported
from tests.servers.postgres import skip_or_fail

LEAST_CLOSED = 28
LEAST_NOT_HELPED = 21
LEAST_ANY_NEWS = 19
MOST_WRONG = 3
"""Of 334 mails; measured by `python -m tests.benchmarks.intentions`: 31, 23 and 21, and 2."""


@pytest.fixture(scope="module")
def told() -> dict[Reply, Intention]:
    """What each reported mail means, by the vote that ships."""
    if locate(PINNED[EmbeddingModel.USE], cache_dir(ModelSettings())) is None:
        skip_or_fail("use is not in the cache")
    vote = IntentionVote(opened("use"), "use", IntentionSettings())
    return {reply: vote.of(reply.text) for reply in reported()}


def test_no_question_complaint_or_reminder_closes_a_case(told: dict[Reply, Intention]) -> None:
    """In fourteen languages, six of them without an example: thanks before a question, denials, wishes, irony."""
    others = {reply: found for reply, found in told.items() if not Intent(reply.intent).closes}
    assert len(others) > 200
    assert [reply for reply, found in others.items() if found.intent.closes] == []


def test_many_mails_that_close_do(told: dict[Reply, Intention]) -> None:
    """The others go the way that they went before."""
    assert sum(found.intent.closes for reply, found in told.items() if Intent(reply.intent).closes) >= LEAST_CLOSED


def test_most_complaints_and_reminders_are_seen_and_little_else_is_taken_for_one(told: dict[Reply, Intention]) -> None:
    seen = {intent: [(reply, found) for reply, found in told.items() if found.intent is intent] for intent in Intent}
    right = {intent: sum(reply.intent == intent for reply, _ in found) for intent, found in seen.items()}
    assert right[Intent.NOT_HELPED] >= LEAST_NOT_HELPED
    assert right[Intent.ANY_NEWS] >= LEAST_ANY_NEWS
    persons = [*seen[Intent.NOT_HELPED], *seen[Intent.ANY_NEWS]]
    assert len(persons) - right[Intent.NOT_HELPED] - right[Intent.ANY_NEWS] <= MOST_WRONG


def test_what_only_looks_as_if_it_closed_a_case_does_not() -> None:
    """A cancellation in the words of a withdrawal, a request in those of thanks, irony; in eight languages."""
    if locate(PINNED[EmbeddingModel.USE], cache_dir(ModelSettings())) is None:
        skip_or_fail("use is not in the cache")
    vote = IntentionVote(opened("use"), "use", IntentionSettings())
    others = [reply for reply in reported(ALIKE) if not Intent(reply.intent).closes]
    assert len(others) == 49
    assert [reply for reply in others if vote.of(reply.text).intent.closes] == []


def test_no_reported_mail_is_an_example() -> None:
    examples = {_bare(text) for _, texts in packaged_examples() for text in texts}
    assert not [reply for reply in (*reported(), *reported(ALIKE)) if _bare(reply.text) in examples]


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
