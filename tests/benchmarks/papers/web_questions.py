"""Questions with their answers and the pages that hold them, for measuring answers from the web.

`wikiqa` asks WikiQA's questions that have a right sentence; its pages are those of all questions of the file, so most
of them distract. A whole sentence seldom stands in a draft: where WikiQASent.pos.ans.tsv of the same download lies
beside the file, the phrases that its annotators marked are the answers. `recent` is made: events of 2026 about people,
products and places that do not exist, so that no model can know them. `own` is any search.jsonl, without pages, for the
sources of the configuration. Checked by tests/unit/benchmarks/papers/test_web_questions.py.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, field_validator

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.ops.evals.files import data_file, read_text
from tests.benchmarks.papers import wikiqa
from tests.benchmarks.papers.command import given
from tests.benchmarks.papers.files import read_json_lines
from tests.benchmarks.papers.local_web import articles_of
from tests.servers.search_services import Article

RECENT = Path(__file__).with_name("recent_facts.jsonl")
OWN = "search.jsonl"
PHRASES = "WikiQASent.pos.ans.tsv"
PHRASE_COLUMNS = 3
"""The last ones of its file, one an annotator."""
NO_PHRASE = frozenset({"", "NO_ANS"})


class SetName(StrEnum):
    """A set of questions."""

    WIKIQA = "wikiqa"
    RECENT = "recent"
    OWN = "own"


class Question(Frozen):
    """A question; `answer` is a text, or a list of texts any of which is right."""

    question: str = Field(min_length=1)
    answer: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)

    @field_validator("answer", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class Fact(Question):
    """A question with the page that answers it."""

    title: str = Field(min_length=1)
    text: str = Field(min_length=1)


class QuestionSet(NamedTuple):
    """Questions, and the pages of the web that they are asked of; a set without pages is asked of the real web."""

    questions: tuple[Question, ...]
    articles: tuple[Article, ...] = ()

    def sampled(self, n: int, seed: int) -> QuestionSet:
        """n of the questions, drawn by the seed, with all pages; 0: all of them."""
        if n in range(1, len(self.questions)):
            return self._replace(questions=tuple(random.Random(seed).sample(self.questions, n)))
        return self


def load_set(name: SetName, data: Path | None) -> QuestionSet:
    """Read a set of questions.

    Args:
        data: The file, or the folder that holds it; the recent facts need none.
    Raises:
        ConfigError: the file was not named, is not there, or has a line that cannot be read.
    """
    match name:
        case SetName.WIKIQA:
            return _wikiqa(given(data))
        case SetName.RECENT:
            facts = read_json_lines(RECENT, Fact)
            return QuestionSet(facts, articles_of([(fact.title, fact.text) for fact in facts]))
        case SetName.OWN:
            return QuestionSet(read_json_lines(data_file(given(data), OWN), Question))


def _wikiqa(data: Path) -> QuestionSet:
    path = data_file(data, wikiqa.FILE)
    read = wikiqa.load_questions(path)
    beside = path.with_name(PHRASES)
    phrases = _phrases(beside) if beside.is_file() else {}
    pages: dict[str, dict[str, None]] = {}
    for one in read:
        for candidate in one.candidates:
            pages.setdefault(candidate.title, {})[candidate.text] = None
    asked = [(one, [each.text for each in one.candidates if each.is_right]) for one in read]
    questions = [Question(question=one.text, answer=phrases.get(one.key) or right) for one, right in asked if right]
    return QuestionSet(tuple(questions), articles_of([(title, " ".join(texts)) for title, texts in pages.items()]))


def _phrases(path: Path) -> Mapping[str, tuple[str, ...]]:
    """What the annotators marked in the right sentences of each question.

    Raises:
        ConfigError: a line has too few columns.
    """
    found: dict[str, dict[str, None]] = {}
    for number, line in enumerate(read_text(path).split("\n")[1:], start=2):
        key, *cells = line.split("\t")
        if key and len(cells) < PHRASE_COLUMNS:
            raise ConfigError(f"{path}:{number}: no {PHRASE_COLUMNS} phrases in it: download the file again")
        marked = [phrase.strip() for phrase in cells[-PHRASE_COLUMNS:]]
        found.setdefault(key, {}).update((phrase, None) for phrase in marked if phrase not in NO_PHRASE)
    return {key: tuple(phrases) for key, phrases in found.items()}
