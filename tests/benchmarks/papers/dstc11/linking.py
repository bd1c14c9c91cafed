"""Which hotels and restaurants a dialogue's last question is about, by the fact room's own linker.

The linker is told the names, and what people say for them: without "the", "guest house" and the like, without a
plural's s. A street is no name. Checked by tests/unit/benchmarks/papers/test_dstc11_linking.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from support_agent.facts.graph.entities import Entity, Linker
from tests.benchmarks.papers.dstc11.data import EntityKey

ENDS = (
    "restaurant", "hotel", "guest house", "guesthouse", "bed and breakfast", "b and b", "restaurant and bar",
    "restaurant and coffee bar", "restaurant bar", "and bar", "takeaway", "chinese food takeaway",
)  # fmt: skip
STARTS = ("the", "restaurant")
COMMON = frozenset(
    ["the", "city", "centre", "restaurant", "hotel", "guest", "house", "bar", "food", "chinese", "indian", "curry"]
)
"""Words of which no short name is made: a name has another one too."""
_STREET = re.compile(r"\b\w+ (?=(?:street|road|lane|avenue|way)\b)")
_WORD = re.compile(r"[a-z0-9]+")


class NameLinker:
    """Finds the entities of a dialogue by their names."""

    def __init__(self, names: Mapping[EntityKey, str]) -> None:
        self._keys = {f"{key.domain}/{key.number}": key for key in names}
        self._linker = Linker(
            Entity(key=name, name=" ".join(_words(names[key])), aliases=_short_names(_words(names[key])))
            for name, key in self._keys.items()
        )

    def link(self, utterances: Sequence[str]) -> tuple[EntityKey, ...]:
        """The entities of the newest utterance that names any, in its order; () where none does.

        Args:
            utterances: Oldest first.
        """
        spoken = [_STREET.sub("", " ".join(_words(utterance))) for utterance in reversed(utterances)]
        found = self._linker.about(spoken[0], spoken[1:]) if spoken else ()
        return tuple(self._keys[name] for name in found)


def _words(text: str) -> list[str]:
    """Lower case, "&" as "and", no apostrophes and no plural's s."""
    plain = re.sub(r"['\u2019]", "", text.lower()).replace("&", " and ")
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(plain)]


def _short_names(words: list[str]) -> tuple[str, ...]:
    """What of a name people say."""
    names = [words]
    if words[:1] and words[0] in STARTS:
        names.append(words[1:])
    for name in tuple(names):
        for end in map(_words, ENDS):
            if len(name) > len(end) and name[-len(end) :] == end:
                names.append(name[: -len(end)])
    return tuple(" ".join(name) for name in names if not COMMON.issuperset(name) and len("".join(name)) > 3)
