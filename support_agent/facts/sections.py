"""Chooses the section of a document that answers a question: a fitted vote of similarities, in any language.

The features compare the sections with each other: the question's similarity to their whole text and to their two
nearest sentences, each with its heading, in each embedder. The weights were fitted to the questions of several
companies (`sections.json`, by `python -m tests.benchmarks.sections`, which also measures them on other companies); the
data does not ship.

Invariant: one probability per section, in the document's order; they sum to 1. Checked by
tests/unit/facts/test_sections.py.
Source: conditional logit (McFadden 1974).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from scipy.special import softmax  # type: ignore[import-untyped]

from support_agent.company.documents import Document
from support_agent.config.embedding import EMBEDDERS, set_name
from support_agent.core.frozen import Frozen
from support_agent.facts.topics import section_texts
from support_agent.models.embedding.port import Embedder, Vectors

WEIGHTS_FILE = "sections.json"
FEATURES = tuple(f"{name}.{kind}" for name in EMBEDDERS for kind in ("whole", "pair"))
KEPT_DOCUMENTS = 128
"""Documents whose vectors are cached, about 4 kB per sentence."""
LEAST_DEVIATION = 0.05
"""Least spread of cosines: if all sections are nearly alike, their differences mean little."""
Floats = NDArray[np.float64]


class SectionWeights(Frozen):
    """One weight for each of `FEATURES`, by name."""

    version: str
    weights: Mapping[str, float]

    @property
    def in_order(self) -> Floats:
        """The weights in the order of the columns of `SectionVote.features`."""
        return np.array([self.weights[name] for name in FEATURES])


class _Read(NamedTuple):
    """The cached vectors of a document, by embedder: of its sections, and of its sentences with their headings."""

    sections: Mapping[str, Vectors]
    headed: Mapping[str, Vectors]
    starts: list[int]
    """The position of each section's first sentence."""


class SectionVote:
    """Weighs the sections of documents; the vectors of a document are cached by its version."""

    def __init__(self, embedders: Mapping[str, Embedder], *, own: Mapping[str, Embedder] | None = None) -> None:
        """Create a vote of these embedders.

        Args:
            embedders: By name.
            own: The same for the documents, which may keep their vectors on the disk.
        """
        self._embedders = {name: embedders[name] for name in EMBEDDERS if name in embedders}
        self._own = own or embedders
        shipped = committed()
        self._weights = shipped.get(set_name(self._embedders), shipped[set_name(EMBEDDERS)])
        self._kept = lru_cache(maxsize=KEPT_DOCUMENTS)(self._read)

    @property
    def version(self) -> str:
        """Changes with the weights."""
        return self._weights.version

    def chances(self, document: Document, question: str, fluency: Mapping[str, float]) -> list[float]:
        """The probability that each section answers the question, given that one does.

        Args:
            document: One with at least one sentence.
            question: Any length.
            fluency: How well each embedder reads the question, 0..1.
        """
        scores = self.features(document, question, fluency) @ self._weights.in_order
        return [float(chance) for chance in softmax(scores)]

    def features(self, document: Document, question: str, fluency: Mapping[str, float]) -> Floats:
        """The features of each section relative to the others, shape (sections, `FEATURES`)."""
        read = self._kept(document)
        found: dict[str, Floats] = {}
        for name, embedder in self._embedders.items():
            (asked,) = embedder.embed([question], "query")
            near = {"whole": read.sections[name] @ asked, "pair": _pairs(read.headed[name] @ asked, read.starts)}
            found |= {f"{name}.{kind}": fluency[name] * _standardised(values) for kind, values in near.items()}
        return np.stack([found.get(name, np.zeros(len(read.starts))) for name in FEATURES], axis=1)

    def _read(self, document: Document) -> _Read:
        headed = [f"{sentence.heading}. {sentence.text}" for sentence in document.sentences]
        return _Read(
            sections=self._embedded(section_texts(document)),
            headed=self._embedded(headed),
            starts=[section[0].index for section in document.sections],
        )

    def _embedded(self, texts: Sequence[str]) -> dict[str, Vectors]:
        return {name: self._own[name].embed(texts, "passage") for name in self._embedders}


@cache
def committed() -> Mapping[str, SectionWeights]:
    """The weights that ship, by the names of the embedders."""
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    return TypeAdapter(dict[str, SectionWeights]).validate_json(text)


def _pairs(near: Floats, starts: Sequence[int]) -> Floats:
    """For each section, the mean of its two nearest sentences."""
    return np.array([np.sort(own)[-2:].mean() for own in np.split(near, starts[1:])])


def _standardised(values: Floats) -> Floats:
    """Distances from the mean in standard deviations."""
    return np.asarray((values - values.mean()) / max(float(values.std()), LEAST_DEVIATION), dtype=np.float64)
