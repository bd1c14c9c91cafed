"""What the graph and the evidence are tested with: a judge, a similarity and an extractor that need no model."""

from __future__ import annotations

from collections.abc import Sequence

from support_agent.company.documents import Sentence
from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import Extraction
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material


class WordJudge:
    """A `Judge` that says yes to sentences that hold a word, and fails when `failure` is set; `asked` counts."""

    def __init__(self, word: str, failure: Exception | None = None) -> None:
        self._word = word
        self.failure = failure
        self.asked = 0

    def yes(self, question: str, material: Material) -> Grade:
        """0.9 or 0.1."""
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        probability = 0.9 if self._word in dict(material)["sentence"] else 0.1
        return Grade(probability=probability, usage=Usage(prompt_tokens=10, forward_passes=1))


class WordSimilarity:
    """A `Similarity`: the share of words two texts have in common."""

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """0..1 each."""
        words = set(text.lower().split())
        return [len(words & set(other.lower().split())) / len(words | set(other.lower().split())) for other in others]


class FixedExtractor:
    """An `Extractor` that returns the same for everything, or fails; `asked` counts."""

    def __init__(self, *entities: tuple[str, ...], name: str = "fixed", failure: BaseException | None = None) -> None:
        self.extraction = Extraction(by=name, entities=entities)
        self.name = name
        self.failure = failure
        self.asked = 0

    def extract(self, source: Source) -> Extraction:
        """What was given."""
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return self.extraction


def source(key: str, *texts: str, heading: str = "", title: str = "") -> Source:
    """Sentences under one heading."""
    return Source(key=key, title=title, sentences=tuple(sentence(n, text, heading) for n, text in enumerate(texts)))


def sentence(index: int, text: str, heading: str = "") -> Sentence:
    """One sentence in a paragraph of its own."""
    return Sentence(index=index, text=text, heading=heading, paragraph=index, kind="sentence", line=index + 1)
