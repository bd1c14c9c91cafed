"""Scores each topic (document, account value) of the company for a question: cosines and classifier scores.

A question is compared as a whole and sentence by sentence; the result is the mean of the whole text's similarity and
its nearest sentence's, so that a long story does not hide a short question. It is compared with the title and summary,
the example questions and the sections of each topic: in every embedder, by character n-grams, and by a classifier that
is fitted to these texts whenever they change. `answer_kinds` estimates what kind of thing answers it. The combiner
weighs the scores, not this module.

With more than `MOST_FITTED` topics the vector store proposes candidates for each question, and classifier and n-grams
are fitted to these alone.

Checked by tests/unit/facts/test_search.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import exp
from threading import Lock
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from support_agent.company.documents import Document
from support_agent.company.text import split_sentences
from support_agent.errors import TransientError
from support_agent.facts.answer_kinds import kinds_version, log_odds
from support_agent.facts.classifier import Classifier
from support_agent.facts.index import Index, IndexEntry, id_of
from support_agent.facts.phrasing import Phrasing
from support_agent.facts.reading import acts_of, is_marked
from support_agent.facts.sections import SectionVote
from support_agent.facts.topics import Topic
from support_agent.models.embedding.port import Embedder, Vectors
from support_agent.tools.base import Examples, Match, SegmentReading
from support_agent.tools.signals import Signals, TextKind

CANDIDATES = 64
"""Topics that each embedder proposes if there are too many to compare with all."""
MOST_FITTED = 500
"""Topics for which all vectors are held in memory and a classifier is fitted once: about 10,000 texts, 60 MB."""
KEPT_TEXTS = 64
"""Cached results: cutting a mail into questions and choosing ask about the same texts."""
KEPT_PIECES = 512
"""Cached results for the pieces of a mail."""
TEXT_WEIGHTS: Mapping[str, float] = {"head": 1.0, "question": 1.0, "section": 0.5}
"""The weight of a text of each kind when the classifier is fitted."""
ENGLISH = "minilm"
"""The English embedder; its cosines are the `score` of a match."""
READER = "use"
"""The embedder for the pieces of a mail: 16 languages, a millisecond per piece."""
ANSWERING = "e5"
"""The embedder adapted to questions and what answers them; it does not tell whether two texts say the same."""
PIECES_A_WORD = 1.55
"""English words have 1.1 to 1.4 pieces in its vocabulary, those of other languages 1.7 and more."""
STEEPNESS = 12.0
NGRAMS = (3, 5)
MIN_WORDS = 3
"""Shorter sentences ("Thanks.") say nothing by themselves."""
MAX_SENTENCES = 24
Scores = NDArray[np.floating[Any]]


class CountingEmbedder(Embedder, Protocol):
    """An embedder that can tell how many pieces a text has in its vocabulary."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...


class _Words:
    """Character n-grams of the topics, weighted by how rare they are."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        texts = [" ".join(text for group in topic.texts().values() for text in group) for topic in topics]
        self._grams = TfidfVectorizer(analyzer="char_wb", ngram_range=NGRAMS, sublinear_tf=True, lowercase=True)
        self._topics = self._grams.fit_transform(texts)

    def cosines(self, text: str) -> list[float]:
        found = (self._grams.transform([text]) @ self._topics.T).toarray()[0]
        return [float(value) for value in found]


class _Fitted(NamedTuple):
    """The data of topics: of all topics if the company has few, else of those that may answer a question."""

    entries: list[IndexEntry]
    vectors: dict[str, Vectors]
    classifier: Classifier
    words: _Words
    names: list[str]
    starts: list[int]


class CompanySearch:
    """`support_agent.tools.base.Search` on the indexes of a company's topics, one per embedder."""

    def __init__(
        self,
        embedders: Mapping[str, Embedder],
        indexes: Mapping[str, Index],
        *,
        own: Mapping[str, Embedder] | None = None,
    ) -> None:
        """Create an empty search; `update` fills it.

        Args:
            embedders: By name; `minilm` is among them.
            indexes: One for each of them.
            own: The same embedders for the company's own texts, which may keep their vectors on the disk.
        """
        self._embedders = dict(embedders)
        self._own = own or self._embedders
        self._indexes = dict(indexes)
        self._topics: dict[str, Topic] = {}
        self._fitted: _Fitted | None = None
        self._kept = lru_cache(maxsize=KEPT_TEXTS)(self._found)
        self._sections = SectionVote(self._embedders, own=self._own)
        self._weighed = lru_cache(maxsize=KEPT_TEXTS)(self._section_chances)
        self._reader = READER if READER in embedders else ENGLISH
        self._read = lru_cache(maxsize=KEPT_PIECES)(self._reading)
        self._phrasing = lru_cache(maxsize=1)(self._fitted_phrasing)
        self._phrased = lru_cache(maxsize=KEPT_PIECES)(self._chances)
        self._learning = Lock()

    @property
    def embedder(self) -> CountingEmbedder:
        """The embedder that the passage search uses, too."""
        return cast(CountingEmbedder, self._embedders[ENGLISH])

    @property
    def own_embedder(self) -> Embedder:
        """The same for the company's passages."""
        return self._own[ENGLISH]

    @property
    def embedders(self) -> Mapping[str, Embedder]:
        """Every embedder, by name."""
        return self._embedders

    @property
    def comparing(self) -> Mapping[str, Embedder]:
        """The embedders that tell whether two texts say the same, by name."""
        return {name: embedder for name, embedder in self._embedders.items() if name != ANSWERING}

    @property
    def version(self) -> str:
        """Identifies the votes and the indexed texts, and so the texts of the classifier."""
        texts = id_of(*(index.version for index in self._indexes.values()))
        return f"{self._sections.version} {kinds_version(self._embedders)} {texts}"

    def update(self, topics: Sequence[Topic]) -> int:
        """Search in these topics from now on; returns how many texts had to be embedded.

        Raises:
            TransientError: the vector store does not answer.
        """
        entries = [
            IndexEntry(key=topic.key, kind=kind, text=text)
            for topic in topics
            for kind, texts in topic.texts().items()
            for text in dict.fromkeys(texts)
        ]
        embedded = sum(index.update(entries) for index in self._indexes.values())
        self._topics = {topic.key: topic for topic in topics}
        self._fitted = self._fit(None) if 0 < len(topics) <= MOST_FITTED else None
        return embedded

    def _fit(self, keys: Sequence[str] | None) -> _Fitted:
        """Fit to some topics, or to all.

        Raises:
            TransientError: the indexes hold different texts, or texts that this search does not know.
        """
        held = {name: index.held(keys) for name, index in self._indexes.items()}
        entries = next(iter(held.values()))[0]
        are_same = all(others == entries for others, _ in held.values())
        if not entries or not are_same or not all(entry.key in self._topics for entry in entries):
            raise TransientError("another process is changing the indexes: the mail is tried again", code="index")
        vectors = {name: stored for name, (_, stored) in held.items()}
        topics = [self._topics[key] for key in dict.fromkeys(entry.key for entry in entries)]
        places = {topic.key: place for place, topic in enumerate(topics)}
        classifier = Classifier(
            np.hstack(list(vectors.values())),
            [places[entry.key] for entry in entries],
            [TEXT_WEIGHTS[entry.kind] for entry in entries],
        )
        return _Fitted(entries, vectors, classifier, _Words(topics), *_runs(entries))

    def nearest(self, text: str) -> tuple[Match, ...]:
        """Every topic that may answer the text, with its scores, the likeliest by a plain mean first."""
        return self._kept(self.version, text)

    def read(self, pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
        """Classify each piece of a mail, and compare it with each topic, in any language."""
        return tuple(self._read(self.version, piece) for piece in pieces)

    def _reading(self, version: str, piece: str) -> SegmentReading:
        """As `read`; `version` is there for the cache, as in `_found`."""
        (vector,) = self._embedders[self._reader].embed([piece], "query")
        acts = acts_of(piece, vector, self._reader)
        return SegmentReading(acts=acts, near=self._near(vector) if self._topics else {}, is_marked=is_marked(piece))

    def _near(self, vector: Vectors) -> dict[str, float]:
        """By topic: the cosine of its nearest text, in the embedder of pieces."""
        if self._fitted is not None:
            names, starts, stored = self._fitted.names, self._fitted.starts, self._fitted.vectors[self._reader]
        else:
            keys = self._indexes[self._reader].candidates(vector[None], CANDIDATES)
            entries, stored = self._indexes[self._reader].held(keys)
            names, starts = _runs(entries)
        return dict(zip(names, map(float, np.maximum.reduceat(stored @ vector, starts)), strict=True))

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
        """The probability that a text is phrased like each class of examples, in any language; fitted once."""
        return self._phrased(text, examples)

    def _chances(self, text: str, examples: Examples) -> Mapping[str, float]:
        with self._learning:  # several mails may be planned at once, and learning takes seconds
            phrasing = self._phrasing(examples)
        return phrasing.chances(text)

    def _fitted_phrasing(self, examples: Examples) -> Phrasing:
        return Phrasing(examples, lambda texts: self._embedders[self._reader].embed(texts, "query"))

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]:
        """Cosine similarity of a text with each of the others, by the embedders that read its language."""
        fluent = self._fluency(text)
        total = np.zeros(len(others))
        for name, embedder in self.comparing.items():
            (query,) = embedder.embed([text], "query")
            total += fluent[name] * (embedder.embed(others, "passage") @ query)
        return [float(score) for score in total / sum(fluent[name] for name in self.comparing)]

    def sections(self, text: str, document: Document) -> Sequence[float]:
        """The probability that each section of a document answers a text, given that one does."""
        return self._weighed(text, document)

    def _section_chances(self, text: str, document: Document) -> Sequence[float]:
        return tuple(self._sections.chances(document, text, self._fluency(text)))

    def section_features(self, text: str, document: Document) -> NDArray[np.float64]:
        """The features of each section; see `SectionVote.features`."""
        return self._sections.features(document, text, self._fluency(text))

    def _found(self, version: str, text: str) -> tuple[Match, ...]:
        """As `nearest`; `version` is part of the cache key, so that changed texts are searched again."""
        if not self._topics:
            return ()
        parts = whole_and_sentences(text)
        asked = {name: embedder.embed(parts, "query") for name, embedder in self._embedders.items()}
        fitted = self._fitted or self._fit(self._candidates(asked))
        likeness = _likeness(fitted, asked)
        fluency = self._fluency(text)
        account, person = map(float, nearness(log_odds(asked)))
        scores = _scores(fitted, text, asked)
        matches = []
        for key in fitted.names:
            words, classifier = scores[key]
            signals = Signals(
                likeness=likeness[key],
                words=words,
                classifier=classifier,
                examples=len(self._topics[key].questions),
                characters=len(text),
                fluency=fluency,
                account_log_odds=account,
                person_log_odds=person,
            )
            matches.append(Match(topic=key, score=_score(signals), signals=signals))
        rank = _ranks(matches)
        return tuple(sorted(matches, key=lambda match: (-rank[match.topic], match.topic)))

    def _candidates(self, asked: Mapping[str, Vectors]) -> list[str]:
        proposed = (self._indexes[name].candidates(vectors, CANDIDATES) for name, vectors in asked.items())
        return list(dict.fromkeys(key for keys in proposed for key in keys))

    def _fluency(self, text: str) -> dict[str, float]:
        return {name: fluency(text, self.embedder.count_tokens) if name == ENGLISH else 1.0 for name in self._embedders}


def _likeness(fitted: _Fitted, asked: Mapping[str, Vectors]) -> dict[str, dict[str, dict[TextKind, float]]]:
    """By topic, embedder and kind of text: the cosine of the nearest text."""
    found: dict[str, dict[str, dict[TextKind, float]]] = defaultdict(dict)
    groups: dict[tuple[str, TextKind], list[int]] = defaultdict(list)
    for row, entry in enumerate(fitted.entries):
        groups[entry.key, cast(TextKind, entry.kind)].append(row)
    for name, vectors in asked.items():
        cosines = fitted.vectors[name] @ vectors.T
        for (key, kind), rows in groups.items():
            found[key].setdefault(name, {})[kind] = float(nearness(cosines[rows].max(axis=0)))
    return found


def _scores(fitted: _Fitted, text: str, asked: Mapping[str, Vectors]) -> dict[str, tuple[float, float]]:
    """By topic: the cosine of the n-grams and the score of the classifier."""
    joined = nearness(fitted.classifier.scores(np.hstack([asked[name] for name in fitted.vectors])))
    words = fitted.words.cosines(text)
    return {key: (word, float(score)) for key, word, score in zip(fitted.names, words, joined, strict=True)}


def _runs(entries: Sequence[IndexEntry]) -> tuple[list[str], list[int]]:
    """The topics of the grouped entries, and where each group begins."""
    starts = [place for place in range(len(entries)) if place == 0 or entries[place].key != entries[place - 1].key]
    return [entries[start].key for start in starts], starts


def fluency(text: str, count_tokens: Callable[[Sequence[str]], list[int]]) -> float:
    """How well an English vocabulary covers a text, 0..1: near 0 if its words are split into many pieces.

    Args:
        count_tokens: The number of pieces of each text.
    """
    words = re.findall(r"[^\W\d_]+", text)
    pieces = count_tokens([" ".join(words)])[0] / max(1, len(words))
    return 1.0 / (1.0 + exp(min(50.0, STEEPNESS * (pieces - PIECES_A_WORD))))


def _score(signals: Signals) -> float:
    """The best similarity of a topic's title, summary or examples to the question, in the English embedder."""
    near = signals.likeness.get(ENGLISH, {})
    return max((near[kind] for kind in near if kind != "section"), default=-1.0)


def _ranks(matches: Sequence[Match]) -> dict[str, float]:
    """How far each topic is above the others: the mean over the embedders that read the question's language."""
    total: dict[str, float] = defaultdict(float)
    for name in {name for match in matches if match.signals for name in match.signals.likeness}:
        near = {match.topic: max(match.signals.likeness[name].values()) for match in matches if match.signals}
        mean, deviation = float(np.mean(list(near.values()))), float(np.std(list(near.values()))) + 1e-6
        weight = next(match.signals.fluency.get(name, 1.0) for match in matches if match.signals)
        for topic, value in near.items():
            total[topic] += weight * (value - mean) / deviation
    return total


def whole_and_sentences(text: str) -> list[str]:
    """The whole text and, if it has several sentences, each one that is long enough."""
    sentences = [sentence for sentence in split_sentences(text) if len(sentence.split()) >= MIN_WORDS]
    return [text, *(sentences[:MAX_SENTENCES] if len(sentences) > 1 else [])]


def nearness(found: Scores) -> Scores:
    """The mean of the whole text's result and the best part's.

    Args:
        found: A row for each part, the whole first; any further axes.
    """
    return np.asarray(found[0] if len(found) == 1 else (found[0] + found[1:].max(axis=0)) / 2)
