"""A fitted classifier for mail that a machine wrote without declaring it: absences, receipts, tickets, notifications.

It reads the embeddings of the subject, of the text and of its first and last sentence, and a few features of the
layout, so it depends on no language. It runs after the screening rules and before any language model. It can only
withhold an automatic answer: a mail that it classifies as a machine's, or doubts, goes to a person, and its sender gets
nothing. One exception: a sender who asks for a person is still acknowledged if the vote only doubts. The weights
(`machine_vote.json`), one set for each embedder, are written by `python -m tests.benchmarks.wording --fit`. Without a
matching embedder the rules decide alone.

Invariant: the same mail and weights give the same probability, and the vote changes only mails whose sender would get
an answer or an acknowledgement (`JUDGED_RULES`), each to the verdict `desk`. Checked by
tests/unit/mail/machines/test_machine_vote.py and, on the models, by tests/integration/test_machine_vote.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log

import numpy as np

from support_agent.config.embedding import MULTILINGUAL
from support_agent.config.screening import ScreeningSettings
from support_agent.core.frozen import Frozen
from support_agent.mail.machines.automatic_wording import SENTENCE
from support_agent.mail.machines.screening import CLOSING_RULE, PERSON_RULE, Screening, Verdict
from support_agent.mail.message import Message
from support_agent.mail.text.wording import has_question_mark
from support_agent.models.embedding.port import Embedder, Vectors

MACHINE_RULE = "machine"
"""The vote is certain that a machine wrote the mail."""
MAYBE_MACHINE_RULE = "machine_doubt"
"""A machine is likely enough that a person must read the mail."""
JUDGED_RULES = frozenset({None, PERSON_RULE, CLOSING_RULE})
"""Screening results after which the sender would get an answer or an acknowledgement; only these are judged."""
WEIGHTS_FILE = "machine_vote.json"
SUBJECT_CHARACTERS = 300
TEXT_CHARACTERS = 600
"""Machines say what they are at the beginning."""
SENTENCE_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 3_000
MIN_SENTENCE_CHARACTERS = 4
MOST_LINES = 12
SURE = 30.0
"""Scores are clamped to this: exp(30) is 1e13, and a larger score changes nothing."""
NUMBER = re.compile(r"[#\[]\s*[\w-]*\d{3,}|\b[A-Z]{2,}[-_ ]?\d{3,}|n[.°ºr]+\s*\d{3,}|\d{5,}")
"""Looks like the number of a ticket, an order or an invoice."""
PREFIX = re.compile(r"\W{0,3}\w{1,4}\s*[:\uff1a]")
LABELLED = re.compile(r"[^.?!]{2,25}: \S|.*:\s*$")


class MachineWeights(Frozen):
    """For one embedder: the intercept, and one weight for each feature in the order of `features`."""

    version: str
    intercept: float
    weights: tuple[float, ...]


class MachineVote:
    """The classifier with one embedder's weights; safe for several threads."""

    def __init__(self, embedder: Embedder, weights: MachineWeights, settings: ScreeningSettings) -> None:
        self._embedder = embedder
        self._version = weights.version
        self._intercept = weights.intercept
        self._weights = np.array(weights.weights)
        self._settings = settings

    def probability(self, subject: str, text: str) -> float:
        """The probability that a machine wrote it, scaled so that one customer in a hundred is above 0.5.

        Args:
            text: The sender's own new text.
        """
        (vectors,) = features(self._embedder, [(subject, text)])
        score = float(vectors @ self._weights) + self._intercept
        return 1.0 / (1.0 + exp(-max(-SURE, min(SURE, score))))

    def judged(self, message: Message, screening: Screening) -> Screening:
        """The screening; instead the verdict `desk`, if a machine wrote the mail or may have."""
        if screening.rule not in JUDGED_RULES or not message.visible_text.strip():
            return screening
        probability = self.probability(message.subject, message.visible_text)
        if probability >= self._settings.sure_from:
            return self._to_desk(MACHINE_RULE, f"the mail's wording looks like a machine's: {probability:.2f}")
        # A sender who asks for a person keeps that verdict, and with it the acknowledgement.
        if probability >= self._settings.doubtful_from and screening.rule != PERSON_RULE:
            return self._to_desk(MAYBE_MACHINE_RULE, f"the mail's wording may be a machine's: {probability:.2f}")
        return screening

    def _to_desk(self, rule: str, why: str) -> Screening:
        return Screening(verdict=Verdict.DESK, rule=rule, why=why, vote=self._version)


def open_vote(embedders: Mapping[str, Embedder], settings: ScreeningSettings) -> MachineVote | None:
    """The vote for the first open embedder of `MULTILINGUAL`; None where it is switched off or there is none.

    Args:
        embedders: By their name in `embedding.models`.
    """
    if not settings.machine_vote:
        return None
    name = next((name for name in MULTILINGUAL if name in embedders), None)
    return None if name is None else MachineVote(embedders[name], committed()[name], settings)


@cache
def committed() -> Mapping[str, MachineWeights]:
    """The weights shipped with the program, by embedder."""
    data = json.loads(files("support_agent.mail.machines").joinpath(WEIGHTS_FILE).read_text("utf-8"))
    return {name: MachineWeights.model_validate(entry) for name, entry in data.items()}


def features(embedder: Embedder, mails: Sequence[tuple[str, str]]) -> Vectors:
    """The features of mails, given as (subject, text); one row for each mail: four embeddings, then the layout."""
    columns: list[list[str]] = [[], [], [], []]
    for subject, text in mails:
        first, last = _ends(text)
        pieces = (subject[:SUBJECT_CHARACTERS], text[:TEXT_CHARACTERS], first, last)
        for column, piece in zip(columns, pieces, strict=True):
            column.append(piece)
    vectors = [embedder.embed(column, "query") for column in columns]
    return np.hstack([*vectors, np.array([layout(subject, text) for subject, text in mails], dtype=np.float32)])


def layout(subject: str, text: str) -> list[float]:
    """Features of the layout, about 0..1; none depends on the language."""
    text = text[:MAX_TEXT_CHARACTERS]
    lines = [line for line in text.splitlines() if line.strip()]
    characters = max(1, len(text))
    return [
        min(len(lines), MOST_LINES) / MOST_LINES,
        log(characters) / log(1_000),
        float(has_question_mark(text)),
        float(has_question_mark(subject)),
        min(1.0, 8 * sum(map(str.isdigit, text)) / characters),
        float(NUMBER.search(subject) is not None),
        float(PREFIX.match(subject) is not None),
        float("@" in text),
        float("://" in text or "www." in text),
        sum(LABELLED.match(line) is not None for line in lines) / max(1, len(lines)),
        float(NUMBER.search(text) is not None),
        float("!" in text),
        float(subject[:1].islower()),
        float(text[:1].islower()),
    ]


def _ends(text: str) -> tuple[str, str]:
    """The first and the last sentence."""
    parts = (" ".join(part.split()) for part in SENTENCE.split(text[:MAX_TEXT_CHARACTERS]))
    sentences = [part for part in parts if len(part) >= MIN_SENTENCE_CHARACTERS] or [text.strip()]
    return sentences[0][:SENTENCE_CHARACTERS], sentences[-1][:SENTENCE_CHARACTERS]
