"""Takes from labelled mails the questions for `facts record`: a document answers them, or a person must.

Invariant: a question has the customer's own words, as the planner takes them from a mail. Checked by
tests/unit/ops/evals/test_mail_questions.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from support_agent.facts.learning.recording import Asking
from support_agent.mail.message import parse
from support_agent.ops.evals.mail_labels import ESCALATED, MailLabel, Sections, document_of
from support_agent.planner.segments import Read
from support_agent.workflow.decide import questions_in


def askings(labels: Sequence[MailLabel], read: Read) -> Iterator[Asking]:
    """One question for each mail; mails with several questions, or about values, are left out."""
    for label in labels:
        if len(label.expected) == 1:
            question = " ".join(questions_in(parse(label.path.read_bytes()), read))
            yield from asking(label.path.stem, question, label.expected[0], *label.sections)


def asking(
    key: str, question: str, outcomes: Sequence[str], sections: Mapping[int, Sections] | None = None
) -> Iterator[Asking]:
    """One question with the documents that answer it; nothing if it is about a value."""
    numbers = [number for number in map(document_of, outcomes) if number is not None]
    if numbers or set(outcomes) == {ESCALATED}:
        named = {number: (sections or {})[number].any_of for number in numbers if number in (sections or {})}
        yield Asking(key=key, question=question, answers={number: named.get(number, frozenset()) for number in numbers})
