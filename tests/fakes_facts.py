"""Working stand-ins for the fact room's ports; each passes the contract suite of its port (tests/contract)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from support_agent.facts.material import Passage
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Draft, Material, check_writing, most_tokens, writing_prompt


@dataclass(frozen=True)
class Judged:
    """One question to a `ScriptedJudge`."""

    question: str
    material: tuple[tuple[str, str], ...]


class ScriptedJudge:
    """`models.judge.Judge` with a queue of answers for each question; asked once too often, it fails."""

    def __init__(self, answers: Mapping[str, Sequence[float | Exception]]) -> None:
        self.answers = {question: list(queue) for question, queue in answers.items()}
        self.history: list[Judged] = []

    def yes(self, question: str, material: Material) -> Grade:
        self.history.append(Judged(question, tuple(material)))
        queue = self.answers.get(question)
        assert queue, f"question {len(self.history)} was not expected: {question}"
        answer = queue.pop(0)
        if isinstance(answer, Exception):
            raise answer
        words = sum(len(text.split()) for _, text in material)
        return Grade(probability=answer, usage=Usage(prompt_tokens=10 + words, forward_passes=1))

    @property
    def asked(self) -> list[str]:
        """The questions, in order."""
        return [judged.question for judged in self.history]


@dataclass(frozen=True)
class Written:
    """One order to a `ScriptedWriter`."""

    instruction: str
    material: tuple[tuple[str, str], ...]
    temperature: float
    max_tokens: int
    seed: int


class ScriptedWriter:
    """`models.writer.Writer` with queued texts, cut to as many words as tokens are allowed."""

    name = "scripted"

    def __init__(self, texts: Sequence[str | Exception]) -> None:
        self.texts = list(texts)
        self.history: list[Written] = []

    def count_tokens(self, text: str) -> int:
        return most_tokens(text)

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        check_writing(temperature, max_tokens)
        self.history.append(Written(instruction, tuple(material), temperature, max_tokens, seed))
        assert self.texts, f"order {len(self.history)} was not expected: {instruction}"
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        words = text.split()[:max_tokens]
        read = "".join(part for part, _ in writing_prompt(instruction, material).parts)
        usage = Usage(prompt_tokens=len(read.split()), tree_tokens=len(words), forward_passes=len(words))
        return Draft(text=text if len(words) == len(text.split()) else " ".join(words), usage=usage)

    def ordered(self, instruction: str) -> list[Written]:
        """The orders of one kind, whatever was wrong with the draft before."""
        return [written for written in self.history if written.instruction.startswith(instruction)]


class Piece(Passage):
    """A passage, as a retriever gives it."""

    score: float = 0.5
    found_by: tuple[str, ...] = ("google",)


@dataclass
class ScriptedRetriever:
    """Finds what is queued, the last again and again; what it was asked can be read."""

    results: list[Sequence[Piece] | Exception]
    history: list[tuple[str, int]] = field(default_factory=list)

    def find(self, question: str, n: int) -> Sequence[Piece]:
        self.history.append((question, n))
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            raise result
        return result
