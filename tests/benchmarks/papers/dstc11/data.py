"""Read DSTC11 track 5: dialogues whose last turn asks something that reviews and questions answered can tell.

The data (Zhao et al. 2023) is not part of this program: its folder is given, with `logs.json`, `labels.json` and
`knowledge.json` as published. Invariant: every gold sentence exists in the knowledge and every turn that needs
knowledge has a person's response, or reading fails. Checked by
tests/unit/benchmarks/papers/test_dstc11_data.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError

T = TypeVar("T")

LOGS, LABELS, KNOWLEDGE = "logs.json", "labels.json", "knowledge.json"


class EntityKey(NamedTuple):
    """Which hotel or restaurant: numbers count in each domain."""

    domain: str
    number: int


class SnippetKey(NamedTuple):
    """One sentence of a review, or one answered question; `sentence` is -1 for the latter, which is taken whole."""

    entity: EntityKey
    kind: Literal["review", "faq"]
    document: int
    sentence: int


class Snippet(Frozen):
    """What can be selected: `text` is shown, it is found by `searched` (below the question, if it answers one)."""

    key: SnippetKey
    text: str
    searched: str


class Turn(Frozen):
    """A dialogue that needs knowledge: utterances, oldest first, the snippets that people chose, what they wrote."""

    utterances: tuple[str, ...]
    gold: frozenset[SnippetKey]
    response: str


class Benchmark(Frozen):
    """All that is measured on; snippets in the order of the file, by entity."""

    names: dict[EntityKey, str]
    snippets: dict[EntityKey, tuple[Snippet, ...]]
    turns: tuple[Turn, ...]


class _Review(BaseModel):
    sentences: dict[int, str]


class _Question(BaseModel):
    question: str
    answer: str


class _Entity(BaseModel):
    name: str
    reviews: dict[int, _Review]
    faqs: dict[int, _Question]


class _Utterance(BaseModel):
    text: str


class _Reference(BaseModel):
    domain: str
    entity_id: int
    doc_type: Literal["review", "faq"]
    doc_id: int
    sent_id: int | None = None


class _Label(BaseModel):
    target: bool
    knowledge: list[_Reference] = []
    response: str = ""


_KNOWLEDGE = TypeAdapter(dict[str, dict[int, _Entity]])
_LOGS = TypeAdapter(list[list[_Utterance]])
_LABELS = TypeAdapter(list[_Label])


def load_benchmark(folder: Path) -> Benchmark:
    """Read the folder; only turns that need knowledge are kept.

    Raises:
        ConfigError: a file is missing or not as published, or the three do not belong together.
    """
    knowledge = _read(folder / KNOWLEDGE, _KNOWLEDGE)
    logs, labels = _read(folder / LOGS, _LOGS), _read(folder / LABELS, _LABELS)
    if len(logs) != len(labels):
        raise ConfigError(f"{folder}: {len(logs)} dialogues and {len(labels)} labels: use files of one release")
    entities = {
        EntityKey(domain, number): entity for domain, found in knowledge.items() for number, entity in found.items()
    }
    snippets = {key: _snippets(key, entity) for key, entity in entities.items()}
    known = {snippet.key for found in snippets.values() for snippet in found}
    turns = [_turn(log, label) for log, label in zip(logs, labels, strict=True) if label.target]
    if not turns or any(not turn.gold or not turn.gold <= known for turn in turns):
        raise ConfigError(f"{folder}: labels that stand on no snippet of {KNOWLEDGE}: use files of one release")
    if not all(turn.response for turn in turns):
        raise ConfigError(f"{folder}: labels without a response: use files of one release")
    return Benchmark(
        names={key: entity.name for key, entity in entities.items()}, snippets=snippets, turns=tuple(turns)
    )


def _read(path: Path, adapter: TypeAdapter[T]) -> T:
    try:
        return adapter.validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: give the folder of the benchmark with --data") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: not as published: {error.error_count()} errors: download it again") from error


def _snippets(key: EntityKey, entity: _Entity) -> tuple[Snippet, ...]:
    sentences = [
        Snippet(key=SnippetKey(key, "review", document, number), text=text, searched=text)
        for document, review in entity.reviews.items()
        for number, text in review.sentences.items()
    ]
    answers = [
        Snippet(key=SnippetKey(key, "faq", document, -1), text=faq.answer, searched=f"{faq.question}\n{faq.answer}")
        for document, faq in entity.faqs.items()
    ]
    return (*sentences, *answers)


def _turn(log: list[_Utterance], label: _Label) -> Turn:
    gold = [
        SnippetKey(
            EntityKey(reference.domain, reference.entity_id), reference.doc_type, reference.doc_id,
            -1 if reference.sent_id is None else reference.sent_id,
        )
        for reference in label.knowledge
    ]  # fmt: skip
    utterances = tuple(utterance.text for utterance in log)
    return Turn(utterances=utterances, gold=frozenset(gold), response=label.response)
