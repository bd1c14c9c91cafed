"""Tells what a customer means by a reply in a case: thanks, solved, never mind, not helped, any news, or something new.

A classifier of sentences, fitted to made examples in eight languages (`intentions.toml`), reads the mail sentence by
sentence, and a sentence that has pauses clause by clause. A mail closes a case, or reminds of one, only if every piece
says so or is a courtesy; so a thank-you beside a question or a wish is a question. To close, each piece must also be
nearer to an example that closes than to any other: "I no longer need the service" is built like "no longer relevant",
and cancels. A question mark, a number or a file keeps a case from being closed. What is not sure enough is `none`, and
then nothing changes.

Invariant: the same text, examples and embedder give the same intention; no language model is asked. Checked by
tests/unit/cases/test_intention_vote.py and, on the embedder, tests/integration/test_intentions.py; measured by
`python -m tests.benchmarks.intentions`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from pydantic import TypeAdapter

from support_agent.cases.intentions import CLOSING, Intent, Intention
from support_agent.company.text import collapse
from support_agent.config.embedding import MULTILINGUAL
from support_agent.config.intentions import IntentionSettings
from support_agent.mail.text.wording import has_question_mark
from support_agent.models.embedding.port import Embedder
from support_agent.tools.base import Examples

if TYPE_CHECKING:
    from support_agent.facts.phrasing import Phrasing

EXAMPLES_FILE = "intentions.toml"
COURTESY = "courtesy"
"""The class of what may stand beside any intention: a greeting, a farewell, a name."""
VERSION_DIGITS = 8
MAX_PIECES = 24
"""A mail of more sentences and clauses has something to say."""
MAX_WORDS = 60
NAMED = 0.5
"""Least probability by which one piece states the intention itself."""
NEARER = 0.06
"""Each piece of a mail that closes is nearer to an example that does, or to a courtesy, by this much (cosine)."""
MIN_CHARACTERS = 4
"""A shorter clause is read within its sentence only."""
HALVED_WORDS = 7
"""A sentence of so many words is read by its halves, too: a wish may follow a thank-you without a pause."""
PAUSE = re.compile(r"[,;:\u2013\u2014\uff0c\uff1b\uff1a\u3001\u060c\u061b]\s*|\s-+\s|\s*[()]\s*")
ENDS = re.compile(r"(?<=[\u3002\uff01\uff1f\u061f!])|(?<=\w\w[.)\u2026])\s+")
"""Ends of sentences, also before a small letter, as many write; in some scripts no space follows."""
Chances = Mapping[str, float]


class IntentionVote:
    """The classifier on one embedder; fitted when it is first asked, some seconds. Safe for several threads."""

    def __init__(self, embedder: Embedder, name: str, settings: IntentionSettings, examples: Examples = ()) -> None:
        """Keep what it needs.

        Args:
            name: The embedder's, for the version.
            examples: By class; those that ship with the program by default.
        """
        self._embedder = embedder
        self._settings = settings
        self._examples = examples or packaged_examples()
        digest = hashlib.sha256(repr(self._examples).encode()).hexdigest()[:VERSION_DIGITS]
        self.version = f"{name}-{digest}"
        self._learning = Lock()

    @cached_property
    def _phrasing(self) -> Phrasing:
        from support_agent.facts.phrasing import Phrasing  # scikit-learn takes a second to import

        return Phrasing(self._examples, lambda texts: self._embedder.embed(texts, "query"))

    def of(self, text: str, *, has_more: bool = False) -> Intention:
        """What a reply means.

        Args:
            text: The sender's own new text, without quotation and signature.
            has_more: Whether the mail has something else that may say more: a file, a picture, words in the quotation.
        """
        with self._learning:  # several mails may be handled at once, and learning takes seconds
            phrasing = self._phrasing
        return intention_of(text, phrasing, self._settings, self.version, has_more=has_more)


def open_intentions(embedders: Mapping[str, Embedder], settings: IntentionSettings) -> IntentionVote | None:
    """The vote on the best available embedder; None where it is switched off or none reads many languages.

    Args:
        embedders: By their name in `embedding.models`.
    """
    name = next((name for name in MULTILINGUAL if name in embedders), None)
    return None if name is None or not settings.enabled else IntentionVote(embedders[name], name, settings)


class Reading(Protocol):
    """What is known of one piece of a mail; `Phrasing`, or a test's own."""

    def chances(self, text: str) -> Chances:
        """How likely a text is of each class, 0..1."""

    def likeness(self, text: str) -> Chances:
        """How near it is to the nearest example of each class, -1..1."""


def intention_of(
    text: str, reading: Reading, settings: IntentionSettings, version: str, *, has_more: bool = False
) -> Intention:
    """What a text means, by what is known of its pieces."""
    sentences = _sentences(text)
    whole = [reading.chances(sentence) for sentence in sentences[:MAX_PIECES]]
    scores = {Intent.NOT_HELPED: max((one[Intent.NOT_HELPED] for one in whole), default=0.0)}
    least = {Intent.NOT_HELPED: settings.not_helped_from, Intent.ANY_NEWS: settings.any_news_from}
    clauses = list(dict.fromkeys(clause for sentence in sentences for clause in _clauses(sentence)))
    if whole and len(sentences) + len(clauses) <= MAX_PIECES and len(text.split()) <= MAX_WORDS:
        found = [*whole, *map(reading.chances, clauses)]
        scores[Intent.ANY_NEWS] = _only(found, (Intent.ANY_NEWS,), (Intent.THANKS, COURTESY))
        closes = _only(found, CLOSING, (COURTESY,))
        is_plain = not has_more and not _may_ask(text) and closes >= settings.closes_from
        if is_plain and all(_is_near(reading.likeness(piece)) for piece in (*sentences, *clauses)):
            scores[_stated(found)] = closes
    for intent, score in scores.items():
        if score >= least.get(intent, settings.closes_from):
            return Intention(intent=intent, probability=score, version=version)
    return Intention(intent=Intent.NONE, probability=1.0 - max(scores.values()), version=version)


def _is_near(likeness: Chances) -> bool:
    """Whether a piece is nearer to what closes a case, or to a courtesy, than to anything else."""
    closing = {*CLOSING, COURTESY}
    others = max(near for name, near in likeness.items() if name not in closing)
    return max(near for name, near in likeness.items() if name in closing) - others >= NEARER


def _only(found: Sequence[Chances], stated: Sequence[str], beside: Sequence[str]) -> float:
    """How likely each piece has one of the stated intents or stands beside them; 0 if no piece states one."""
    if max(sum(one[intent] for intent in stated) for one in found) < NAMED:
        return 0.0
    return min(1.0, min(sum(one[name] for name in (*stated, *beside)) for one in found))


def _stated(found: Sequence[Chances]) -> Intent:
    """The closing intent that says most: a thank-you beside it is a courtesy."""
    best = {intent: max(one[intent] for one in found) for intent in CLOSING}
    more = [intent for intent in (Intent.WITHDRAWN, Intent.SOLVED) if best[intent] >= NAMED]
    return max(more or CLOSING, key=best.__getitem__)


def _may_ask(text: str) -> bool:
    """Whether a text has a question mark of any script, or a number, which may be an answer or an order."""
    return has_question_mark(text) or any(map(str.isdigit, text)) or "://" in text


def _sentences(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    found = (part for line in lines for part in ENDS.split(line))
    return [collapse(sentence) for sentence in found if any(map(str.isalpha, sentence))]


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence where it has several, and its halves where it is long."""
    yield from (part for part in PAUSE.split(sentence) if part != sentence and len(part) >= MIN_CHARACTERS)
    words = sentence.split()
    if len(words) >= HALVED_WORDS:
        yield " ".join(words[: len(words) // 2])
        yield " ".join(words[len(words) // 2 :])


@cache
def packaged_examples() -> Examples:
    """The examples that ship with the program, by class."""
    given = tomllib.loads(files(__package__).joinpath(EXAMPLES_FILE).read_text(encoding="utf-8"))
    read = TypeAdapter(dict[str, dict[str, tuple[str, ...]]]).validate_python(given)
    names = (*Intent, COURTESY)
    return tuple((str(name), tuple(text for given in read.values() for text in given[name])) for name in names)
