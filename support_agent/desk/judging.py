"""Says what a person did with a mail, from the words that they wrote to the customer.

Exact where a person used a command. Of words it is known only what they share with the company's: the sentences and
addresses of documents, and the account values of the answer that was proposed. Invariant: words that share nothing are
the person's own. Checked by tests/unit/desk/test_judging.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.item_kinds import keys_of
from support_agent.answer.sources import AccountSource, RenderedAnswer
from support_agent.company.documents import Document
from support_agent.core.modes import document_key, document_of
from support_agent.desk.human_feedback import Recognised, plain
from support_agent.store.desk_records import LabelOutcome
from support_agent.tools.person_choice import PersonChoice

VALUES = frozenset({"value", "row_value", "column_value"})
"""Parts of the account that answer; labels and days stand in any words about it."""


class Done(NamedTuple):
    """What a person did; `choice` is the item that they chose instead."""

    outcome: LabelOutcome
    choice: str | None = None


def sent(choice: PersonChoice, made: FinalAnswer, proposed: FinalAnswer | None) -> Done:
    """A person sent what they chose; the same item with another part (sections, period) is another choice."""
    is_same = proposed is not None and keys_of(proposed) == (choice.key,)
    if is_same and (not choice.part or (proposed is not None and proposed.answers == made.answers)):
        return Done(LabelOutcome.SAME)
    return Done(LabelOutcome.OTHER_CHOICE, choice.key)


def wrote(words: str, proposed: FinalAnswer, rendered: RenderedAnswer, documents: Sequence[Document]) -> Done:
    """What a person did who wrote these words to the customer.

    Args:
        proposed: The answer that waited, with its `rendered` text.
        documents: The company's, in every language.
    """
    found = Recognised(documents).documents_in(words)
    keys = keys_of(proposed)
    own = {number for key in keys if (number := document_of(key)) is not None}
    others = [numbers for numbers in found if not numbers & own]
    if others:
        return Done(LabelOutcome.OTHER_CHOICE, document_key(min(others[0])))
    said = {number for numbers in found for number in numbers & own}
    if keys and said == own and _says_values(words, rendered, is_needed=len(own) < len(keys)):
        return Done(LabelOutcome.SAME)
    return Done(LabelOutcome.OWN_WORDS)


def _says_values(words: str, rendered: RenderedAnswer, *, is_needed: bool) -> bool:
    """Whether the words say every account value of the answer.

    Args:
        is_needed: The answer has items of the account, so there must be values.
    """
    sourced = [(span.text, span.source) for span in rendered.text.spans]
    values = {plain(text) for text, at in sourced if isinstance(at, AccountSource) and at.part in VALUES}
    text = plain(words)
    return (bool(values) or not is_needed) and all(value in text for value in values)
