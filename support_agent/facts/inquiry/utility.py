"""Evaluates a draft: overlap with the evidence, rule checks, the model's own criticism, and feedback in words.

A draft is model text and is never sent; its evaluation is numbers and fixed sentences. A number, a date or an address
that is in no evidence prevents an answer, even if the model approves the draft.

Invariant: feedback contains no word of the draft: only fixed sentences with the wrong number or date, so that a web
page cannot address the model through a draft. Checked by tests/unit/facts/inquiry/test_utility.py.
Source: LLM-Augmenter (Peng et al. 2023): utility functions, and feedback in words.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.facts.grading_words import ANSWER_ASK, HALLUCINATION_ASK, NOTE, QUESTION
from support_agent.facts.inquiry.claims import unknown_addresses, unknown_dates, unknown_names, unknown_numbers
from support_agent.facts.inquiry.memory import Check, FailedCheck, Utility
from support_agent.facts.material import named
from support_agent.models.judge import Judge

_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation, " "))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")

LONGEST = 4_000
"""Most characters of a draft; a longer one fails."""

_SENTENCES = {
    Check.EMPTY: "The draft was empty: answer the question in one or two sentences, from the evidence.",
    Check.LONG: "The draft was too long: answer the question in one or two sentences, from the evidence.",
    Check.NUMBER: "The draft has the number {token}, which stands nowhere in the evidence: "
    "use the evidence's number or leave it out.",
    Check.DATE: "The draft has the date {token}, which stands nowhere in the evidence: "
    "use the evidence's date or leave it out.",
    Check.ADDRESS: "The draft has an address that stands nowhere in the evidence: leave it out.",
    Check.NAME: "The draft has a name that stands nowhere in the evidence: leave it out.",
    Check.OVERLAP: "The draft says little of what the evidence says: use the evidence's own words.",
    Check.UNSUPPORTED: "The draft says more than the evidence does: say only what stands in the evidence.",
    Check.OFF_THE_QUESTION: "The draft does not answer the question: answer what was asked, from the evidence.",
    Check.ONLY_WEB: "The draft stands in pages of others only: say what the company's own documents say.",
}
MAX_FEEDBACK = 6
"""Most sentences of feedback: a small model ignores long lists."""


class Standard(Frozen):
    """The thresholds of a draft, 0..1: for the model's two yeses and for Knowledge-F1; 0 skips the check."""

    supported: float = Field(default=0.5, ge=0, le=1)
    answers: float = Field(default=0.5, ge=0, le=1)
    knowledge: float = Field(default=0.0, ge=0, le=1)


def normalised(text: str) -> str:
    """The text normalised for the published scores: lower case, ASCII punctuation to spaces, no a/an/the, single
    spaces.

    Source: the normalisation of ParlAI's F1, which the DSTC9 and DSTC11 evaluation scripts use too; unlike SQuAD's,
    punctuation becomes a space ("check-in" is two words).
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_TO_SPACE)).split())


def knowledge_f1(answer: str, knowledge: str) -> float:
    """Knowledge-F1 of an answer and the knowledge: unigram F1, 0..1.

    A word counts as often as it is in both; 0 if they share none, or one of them is empty. Join several gold sentences
    with a space.
    Source: Knowledge-F1 (Shuster et al. 2021, "Retrieval Augmentation Reduces Hallucination"), as in LLM-Augmenter.
    """
    said, known = Counter(normalised(answer).split()), Counter(normalised(knowledge).split())
    common = (said & known).total()
    if not common:
        return 0.0
    precision, recall = common / said.total(), common / known.total()
    return 2 * precision * recall / (precision + recall)


def rule_failures(question: str, draft: str, evidence: Sequence[str]) -> tuple[FailedCheck, ...]:
    """Dates, numbers, addresses and names of the draft that are in no evidence, in this order, each once.

    A name may also be in the question.

    Args:
        question: The customer's words.
        draft: The model's words.
        evidence: The sentences of its prompt, with their headings.
    """
    if not draft.strip():
        return (FailedCheck(check=Check.EMPTY),)
    if len(draft) > LONGEST:
        return (FailedCheck(check=Check.LONG),)
    known = "\n".join(evidence)
    unknown = {
        Check.DATE: unknown_dates(draft, known),
        Check.NUMBER: unknown_numbers(draft, known),
        Check.ADDRESS: unknown_addresses(draft, known),
        Check.NAME: unknown_names(draft, f"{known}\n{question}"),
    }
    return tuple(FailedCheck(check=check, token=token) for check, tokens in unknown.items() for token in tokens)


def supported(judge: Judge, question: str, draft: str, evidence: Sequence[str], standard: Standard) -> Utility:
    """Whether the evidence supports the whole draft: by rules, then by the model's own criticism.

    The model is not asked after a rule failed.

    Args:
        judge: The model, by its yes/no probabilities.
        question: The customer's words.
        draft: The model's words.
        evidence: The sentences it was written from.
        standard: The thresholds.
    Raises:
        TransientError, PermanentError: as the judge.
    """
    failures, overlap = rule_failures(question, draft, evidence), knowledge_f1(draft, " ".join(evidence))
    if not failures and overlap < standard.knowledge:
        failures = (FailedCheck(check=Check.OVERLAP),)
    utility = Utility(failures=failures, knowledge_f1=overlap)
    if failures or not standard.supported:
        return utility
    grade = judge.yes(HALLUCINATION_ASK, [*named(evidence), (NOTE, draft)])
    failed = () if grade.probability >= standard.supported else (FailedCheck(check=Check.UNSUPPORTED),)
    return utility.model_copy(update={"failures": failed, "supported": grade.probability, "usage": grade.usage})


def answering(judge: Judge, question: str, draft: str, utility: Utility, standard: Standard) -> Utility:
    """Whether a draft that is supported answers the question; see `supported`."""
    if not standard.answers:
        return utility
    grade = judge.yes(ANSWER_ASK, [(QUESTION, question), (NOTE, draft)])
    failed = () if grade.probability >= standard.answers else (FailedCheck(check=Check.OFF_THE_QUESTION),)
    usage = utility.usage + grade.usage
    return utility.model_copy(update={"failures": failed, "answers": grade.probability, "usage": usage})


def feedback_of(utility: Utility) -> tuple[str, ...]:
    """Feedback for the next draft's prompt: at most 6 fixed sentences, one per failed check."""
    sentences = [_SENTENCES[failure.check].format(token=failure.token) for failure in utility.failures]
    return tuple(dict.fromkeys(sentences))[:MAX_FEEDBACK]
