"""The whole grading workflow with the pinned model, on sections of the demo company's refund policy."""

from __future__ import annotations

import time

import pytest

from support_agent.config.facts import GradingSettings
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.spending import Budget
from support_agent.models.judge import ModelJudge
from support_agent.models.llama import LlamaModel
from support_agent.tools.fact_room import FindingReason
from support_agent.tools.fact_trace import WorkflowNode
from tests.fakes_facts import Piece, ScriptedRetriever
from tests.integration.facts.test_judge import CODES, REFUND, section

pytestmark = pytest.mark.model

QUESTION = "I paid for a year three weeks ago, can I still get my money back?"
SETTINGS = GradingSettings(drafts=True, max_cycles=0, draft_tokens=40, threshold_answer=0.5)
RIGHT = Piece(source="document:1", first=0, last=2, text=section(*REFUND))
WRONG = Piece(source="document:7", first=21, last=24, text=section(*CODES))


def workflow(model: LlamaModel, found: list[Piece]) -> Workflow:
    return Workflow(
        judge=ModelJudge(model),
        writer=model,
        retriever=ScriptedRetriever([found]),
        web=None,
        settings=SETTINGS,
        clock=time.monotonic,
    )


def test_the_document_that_answers_is_found_and_the_other_is_not(llama_model: LlamaModel) -> None:
    """Three graders and a draft, all real; the budget is kept and what came out is a pointer."""
    budget = Budget(2_000)
    findings = workflow(llama_model, [WRONG, RIGHT]).find(QUESTION, budget)
    assert findings.reason is FindingReason.ANSWERED
    assert [graded.source for graded in findings.evidence] == ["document:1"]
    assert 0 < findings.tokens == budget.spent_tokens <= budget.max_tokens
    grader = next(visit for visit in findings.trace if visit.node is WorkflowNode.DOCUMENT_GRADER)
    assert grader.cost.forward_passes == 2


def test_where_no_document_answers_nothing_is_drafted(llama_model: LlamaModel) -> None:
    """An honest "don't know", at the cost of one grade."""
    findings = workflow(llama_model, [WRONG]).find(QUESTION, Budget(2_000))
    assert findings.reason is FindingReason.IRRELEVANT
    assert findings.forward_passes == 1
