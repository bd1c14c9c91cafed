"""The topics that the questions of a mail were most likely about, by the votes on them.

Checked by tests/journey/test_desk_routes.py and tests/unit/desk/test_coverage.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from support_agent.planner.choice import Vote, likeliest_topic
from support_agent.planner.plan import Call
from support_agent.store.records import Json

_VOTES = TypeAdapter(tuple[Vote, ...])


def topics_for_person(calls: Sequence[Call], *, is_answered: bool) -> tuple[str, ...]:
    """The topics that the questions for a person were most likely about.

    Args:
        is_answered: The other questions of the mail are answered.
    """
    left = {call.question for call in calls if not is_answered or call.tool == "escalate"}
    return _likeliest(call.considered for call in calls if call.question in left)


def recorded_topics(votes: Iterable[Json]) -> tuple[str, ...]:
    """The likeliest topic of each recorded choice, each once."""
    return _likeliest(_VOTES.validate_python(one or ()) for one in votes)


def _likeliest(choices: Iterable[Sequence[Vote]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(likeliest_topic, choices))))
