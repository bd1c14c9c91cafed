"""Words of earlier versions that stand in stored JSON are read and written as before, so that old cases replay."""

from __future__ import annotations

import json

import pytest

from support_agent.answer.packet import Packet, QuestionRetrieval
from support_agent.cases.decision import Decision
from support_agent.core.levels import CUSTOMER
from support_agent.facts.inquiry import memory
from support_agent.facts.inquiry.memory import CHECK_WORDS, Check, EndedQuestion, Ending, Memory, Retrieved
from support_agent.facts.inquiry.policy import InquiryLimits

RETRIEVAL = QuestionRetrieval(number=1, question="What is the fee?", reason_code="answered")


def test_retrievals_are_stored_as_looked() -> None:
    """In decisions and packets; a template names them so, too."""
    packet = Packet(
        case_id="c",
        customer_address="anna@example.net",
        reply_address="support@harborfile.example",
        level=CUSTOMER,
        level_why="",
        subject="A question",
        mail_text="What is the fee?",
        reason_code="not_covered",
        retrievals=(RETRIEVAL,),
    )
    stored = packet.model_dump_json()
    assert json.loads(stored)["looked"] == [RETRIEVAL.model_dump(mode="json")]
    assert Packet.model_validate_json(stored) == packet
    assert Decision.model_fields["retrievals"].alias == "looked"
    assert Decision.model_config.get("serialize_by_alias") is True


def test_limits_are_stored_as_looks() -> None:
    stored = InquiryLimits(retrievals=2, drafts=1).model_dump_json()
    assert json.loads(stored) == {"looks": 2, "drafts": 1}
    assert InquiryLimits.model_validate_json(stored) == InquiryLimits(retrievals=2, drafts=1)


def test_the_history_of_a_case_has_its_old_kinds() -> None:
    """`looked` and `settled`."""
    history = (
        Retrieved(found=2, new=1),
        EndedQuestion(question="What is the fee?", ending=Ending.ANSWERED, evidence=()),
    )
    stored = Memory(case_id="c", question="What is the fee?", history=history).model_dump_json()
    assert [fact["kind"] for fact in json.loads(stored)["history"]] == ["looked", "settled"]
    assert memory.from_json(stored).history == history


@pytest.mark.parametrize("check", Check)
def test_each_failed_check_has_words(check: Check) -> None:
    assert CHECK_WORDS[check]
