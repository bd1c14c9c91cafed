"""What the benchmarks search: single sentences, each a source of its own, by the room's own index.

Checked by tests/unit/evals/test_wikiqa.py and tests/unit/evals/test_dstc11.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from support_agent.company.documents import Sentence
from support_agent.facts.chunks import Source
from support_agent.facts.passages import Passage
from support_agent.settings_facts import Ways


class Search(Protocol):
    """`facts.passages.PassageIndex`, or another search among some sources."""

    def find(self, question: str, n: int, allowed: AbstractSet[str] | None = None) -> Sequence[Passage]: ...


OpenSearch = Callable[[Ways, Sequence[Source]], Search]
"""Makes a search by one of the ways over these sources."""


def sentence_source(key: str, title: str, text: str) -> Source:
    """A source of one sentence, whatever marks are in it; the title is searched along with it."""
    sentence = Sentence(index=0, text=text, heading="", paragraph=0, kind="sentence", line=1)
    return Source(key=key, title=title, sentences=(sentence,))
