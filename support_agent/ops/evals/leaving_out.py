"""Makes questions with known right topics from a company's own example questions, each left out in turn.

Each example question is asked of an index that lacks it. To get questions that nothing answers, every third one is
asked once more without its topic and without the nearest other topic. Topics overlap (a document and a field about the
same thing): without its own topic only, 38 % of the demo's questions were answered at 0.6, without both 13 %; of the
questions in its tuning mails that a person must answer, 11 %. Labelled mails add their questions. Checked by
tests/unit/ops/evals/test_leaving_out.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from support_agent.company.company import Company
from support_agent.core.levels import CUSTOMER
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic
from support_agent.mail.message import Message, parse
from support_agent.ops.evals.mail_labels import MailLabel, topic_of
from support_agent.planner.choice import NONE_KEY
from support_agent.tools.base import Match
from support_agent.workflow.decide import questions_in

ROUNDS = 10
"""The index is rebuilt at most this often for each kind of question."""
EVERY = 3
"""Every third example question is also asked without its topic: then a quarter of all questions has no answer."""
Examples = Mapping[str, Sequence[Sequence[str]]]
"""The example questions by topic; translations of one question are together."""


class LabelledQuestion(NamedTuple):
    """A question, the evidence for each topic, and what is right: topics, or `NONE_KEY` if a person must answer."""

    question: str
    matches: tuple[Match, ...]
    right: frozenset[str]


def examples_of(company: Company, topics: Sequence[Topic]) -> Examples:
    """The example questions of a company; a document's translations have the same questions in the same order."""
    versions: dict[str, list[Sequence[str]]] = {}
    for document in company.texts:
        versions.setdefault(f"document:{document.number}", []).append(document.head.questions)
    return {
        topic.key: [tuple(filter(None, alike)) for alike in zip_longest(*versions.get(topic.key, [topic.questions]))]
        for topic in topics
    }


def left_out(topics: Sequence[Topic], examples: Examples, search: CompanySearch) -> Iterator[LabelledQuestion]:
    """Every example question, asked of an index that lacks it and a tenth of all others.

    Args:
        search: In memory; its content changes.
    """
    for turn in range(ROUNDS):
        out = {key: {text for alike in groups[turn::ROUNDS] for text in alike} for key, groups in examples.items()}
        if not any(out.values()):
            continue
        search.update([_without(topic, out[topic.key]) for topic in topics])
        for key, texts in out.items():
            for text in sorted(texts):
                yield LabelledQuestion(text, search.nearest(text), frozenset({key}))


def without_topic(topics: Sequence[Topic], examples: Examples, search: CompanySearch) -> Iterator[LabelledQuestion]:
    """Every third example question, asked of an index that lacks its topic, a tenth of the others, and the nearest."""
    for turn in range(ROUNDS):
        gone = topics[turn::ROUNDS]
        kept = [topic for topic in topics if topic not in gone]
        texts = [text for topic in gone for alike in examples[topic.key][::EVERY] for text in alike]
        if not kept or not texts:
            continue
        search.update(kept)
        for text in texts:
            if others := search.nearest(text)[1:]:
                yield LabelledQuestion(text, others, frozenset({NONE_KEY}))


def _without(topic: Topic, texts: set[str]) -> Topic:
    return topic.model_copy(update={"questions": tuple(text for text in topic.questions if text not in texts)})


def of_mails(
    labels: Sequence[MailLabel], search: CompanySearch, reaches_choice: Callable[[Message], bool]
) -> Iterator[LabelledQuestion]:
    """The questions of labelled mails, if the mail splits into as many as its label has, or the label has one.

    A question that a person must answer is left out if its sender is unknown: the topic may be right, but the level too
    low.

    Args:
        search: Of all topics.
        reaches_choice: Whether a mail reaches the choice.
    """
    for label in labels:
        message = parse(label.path.read_bytes())
        if not reaches_choice(message):
            continue
        questions = questions_in(message, search.read)
        if len(label.expected) == 1:
            questions = (" ".join(questions),)
        if len(questions) != len(label.expected):
            continue
        for question, outcomes in zip(questions, label.expected, strict=True):
            right = frozenset(topic_of(outcome) or NONE_KEY for outcome in outcomes)
            if question and (right != {NONE_KEY} or label.level >= CUSTOMER):
                yield LabelledQuestion(question, search.nearest(question), right)
