"""Whether a question asks a single value for what is made of many: a highest, lowest, average or total.

A field is one value: the latest invoice does not answer "my highest bill ever", true as it is. The vote on forms says
what the question asks for; the same vote on the field's own words says whether the field is such a number itself (an
open balance is a total). Checked by tests/unit/planner/test_single_values.py; measured by
`python -m tests.benchmarks.forms --fields`.
"""

from __future__ import annotations

from collections.abc import Iterable

from support_agent.planner.forms import AGGREGATE_FORMS, FORMS, votes_for
from support_agent.tools.base import Qualifier, Search

SURE = 0.6
"""A question, or a field's own words, name a form that is so likely."""
SURE_OF_TOTAL = 0.9
"""The same for the total that a question asks for: many fields are totals and do not say so, and "how big are all my
files together" asks for one of them."""


def aggregate_asked_for(question: str, own: Iterable[str], search: Search) -> Qualifier | None:
    """The form over many values that a question asks for, where the field is not such a number itself; else None.

    Args:
        question: The customer's own words.
        own: The field's label, summary and example questions.
    """
    votes = votes_for(question, search)
    form = max(FORMS, key=lambda form: votes[form.key])
    least = SURE_OF_TOTAL if form.key == "total" else SURE
    if form.key not in AGGREGATE_FORMS or votes[form.key] < least:
        return None
    if any(votes_for(text, search)[form.key] >= SURE for text in own):
        return None
    return Qualifier(kind="form", text=form.title)
