"""Yes/no grades of the pinned model on clear pairs from the demo company's documents, at the default thresholds."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.company.documents import load_documents
from support_agent.config.facts import GradingSettings
from support_agent.facts.grading_words import (
    ANSWER_ASK,
    DOCUMENT_ASK,
    HALLUCINATION_ASK,
    NOTE,
    PASSAGE,
    QUESTION,
)
from support_agent.models.judge import ModelJudge
from support_agent.models.llama import LlamaModel

pytestmark = pytest.mark.model

POLICIES = Path(__file__).parents[3] / "policies"
SETTINGS = GradingSettings()
ANSWERS = 0.5
"""What the settings recommend for this grader, which is off by default."""
REFUND, MONTHLY = (1, "Yearly plans"), (1, "Monthly plans")
LOST = (7, "Lost phone or lost security key")
CODES, VAT = (7, "Codes are refused"), (10, "VAT in Europe")
GUESTS, LOCKED = (13, "Guests"), (6, "Locked accounts")


@pytest.fixture(scope="module")
def judge(llama_model: LlamaModel) -> ModelJudge:
    return ModelJudge(llama_model)


def section(number: int, heading: str) -> str:
    """One section of a document of the demo company, as a passage is shown."""
    (document,) = (document for document in load_documents(POLICIES) if document.number == number)
    sentences = [sentence.text for sentence in document.sentences if sentence.heading == heading]
    assert sentences
    return f"{heading}. {' '.join(sentences)}"


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("I paid for a year three weeks ago, can I still get my money back?", REFUND, CODES),
        ("My phone was stolen, how do I get into my account without it?", LOST, VAT),
    ],
)
def test_the_passage_that_helps_is_told_from_one_that_does_not(
    judge: ModelJudge, question: str, right: tuple[int, str], wrong: tuple[int, str]
) -> None:
    grades = [
        judge.yes(DOCUMENT_ASK, [(PASSAGE, section(*place)), (QUESTION, question)]).probability
        for place in (right, wrong)
    ]
    assert grades[0] >= SETTINGS.threshold_document > grades[1]


@pytest.mark.parametrize(
    ("places", "supported", "invented"),
    [
        (
            (REFUND, MONTHLY),
            "A yearly plan is refunded in full within 30 days of the first payment.",
            "A yearly plan is refunded in full within 90 days, and you also get a voucher of 20 euros.",
        ),
        (
            (CODES,),
            "Set the clock of your phone to automatic time.",
            "Send the codes by fax to the head office in Berlin.",
        ),
        ((GUESTS,), "Guests cost nothing and use no seat.", "Each guest needs a paid seat."),
        (
            (LOCKED,),
            "The account is locked for 30 minutes; a password reset unlocks it at once.",
            "A password reset does not end the lock.",
        ),
    ],
)
def test_a_draft_that_invents_is_told_from_one_that_does_not(
    judge: ModelJudge, places: tuple[tuple[int, str], ...], supported: str, invented: str
) -> None:
    passages = [(PASSAGE, section(*place)) for place in places]
    grades = [judge.yes(HALLUCINATION_ASK, [*passages, (NOTE, draft)]).probability for draft in (supported, invented)]
    assert grades[0] >= SETTINGS.threshold_hallucination > grades[1]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "How long can I ask for a refund of a yearly plan?",
            "You can ask within 30 days of the first payment.",
            "Bank fees are not refunded.",
        ),
        (
            "My codes are always refused, what can I do?",
            "Set the clock of the phone to automatic time.",
            "The passages do not say it.",
        ),
    ],
)
def test_a_draft_that_answers_is_told_from_one_that_does_not(
    judge: ModelJudge, question: str, answer: str, other: str
) -> None:
    grades = [judge.yes(ANSWER_ASK, [(QUESTION, question), (NOTE, draft)]).probability for draft in (answer, other)]
    assert grades[0] >= ANSWERS > grades[1]
