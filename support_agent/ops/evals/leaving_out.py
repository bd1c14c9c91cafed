"""Questions whose right topics are known, of the company at hand: its own example questions, each left out in turn.

An example question is asked of an index that lacks it. So that there are questions that nothing answers, each is asked
once more as if neither its topic nor the one nearest to it were there. Topics overlap (a document and a field about the
same thing), so without its topic alone 38 % of the demo's were answered at 0.6, like this 13 %; of the questions of its
tuning mails that are for a person, 11 %. Labelled mails add theirs. Checked by
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
from support_agent.ops.evals.mail_labels import Label, topic_of
from support_agent.planner.choice import NONE_KEY
from support_agent.tools.base import Match
from support_agent.workflow.decide import questions_in

ROUNDS = 10
"""Times that the index is made for either kind of question, at most."""
EVERY = 3
"""One example question in so many is also asked without its topic: a quarter of all questions then has no answer."""
Examples = Mapping[str, Sequence[Sequence[str]]]
"""By topic: the example questions; those that say the same in several languages together."""


class Asked(NamedTuple):
    """A question, what speaks for each topic, and what is right: topics, or that a person answers (`NONE_KEY`)."""

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


def left_out(topics: Sequence[Topic], examples: Examples, search: CompanySearch) -> Iterator[Asked]:
    """Every example question, asked of an index that has all the others of its topic but a tenth.

    Args:
        search: In memory; it holds something else afterwards.
    """
    for turn in range(ROUNDS):
        out = {key: {text for alike in groups[turn::ROUNDS] for text in alike} for key, groups in examples.items()}
        if not any(out.values()):
            continue
        search.update([_without(topic, out[topic.key]) for topic in topics])
        for key, texts in out.items():
            for text in sorted(texts):
                yield Asked(text, search.nearest(text), frozenset({key}))


def without_topic(topics: Sequence[Topic], examples: Examples, search: CompanySearch) -> Iterator[Asked]:
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
                yield Asked(text, others, frozenset({NONE_KEY}))


def _without(topic: Topic, texts: set[str]) -> Topic:
    return topic.model_copy(update={"questions": tuple(text for text in topic.questions if text not in texts)})


def of_mails(
    labels: Sequence[Label], search: CompanySearch, is_machine_to_answer: Callable[[Message], bool]
) -> Iterator[Asked]:
    """The questions of labelled mails, where the mail is cut into as many as its label has, or the label has one.

    A stranger's question that is for a person is left out: the topic may be right and the sender's level too low.

    Args:
        search: Of all topics.
        is_machine_to_answer: Whether a mail gets as far as the choice.
    """
    for label in labels:
        message = parse(label.path.read_bytes())
        if not is_machine_to_answer(message):
            continue
        questions = questions_in(message, search.read)
        if len(label.expected) == 1:
            questions = (" ".join(questions),)
        if len(questions) != len(label.expected):
            continue
        for question, outcomes in zip(questions, label.expected, strict=True):
            right = frozenset(topic_of(outcome) or NONE_KEY for outcome in outcomes)
            if question and (right != {NONE_KEY} or label.level >= CUSTOMER):
                yield Asked(question, search.nearest(question), right)
