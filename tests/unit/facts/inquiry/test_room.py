"""The room of a mail: what goes in, what comes out, what is remembered of the case."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from support_agent.answer.packet import FoundPage
from support_agent.company.documents import load_documents
from support_agent.config.facts import GradingSettings
from support_agent.facts.grading_words import ANSWER_ASK, DOCUMENT_ASK, HALLUCINATION_ASK, ROUTE_ASK
from support_agent.facts.graph.entities import Linker
from support_agent.facts.inquiry.memory import begin, from_json
from support_agent.facts.inquiry.room import MAX_CHARACTERS, MAX_FACTS, LikelyFirst, Rooms
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.tools.fact_room import MAX_PAGE_CHARACTERS, MOST_PAGES, FindingReason
from support_agent.tools.fact_trace import SentenceRange, sentence_at
from tests.fakes_facts import Piece, ScriptedJudge, ScriptedRetriever, ScriptedWriter

QUESTION = "How long do I have to ask for my money back?"
YEARLY = Piece(source="document:1", first=0, last=1, heading="Yearly plans", text="Within 30 days, in full.")
PAGE = Piece(source="https://forum.example/refunds", first=0, last=1, text="They gave me 90 days.")
TEXT = """---
number: 1
title: Refunds
summary: When money is paid back.
url: https://acme.example/refunds
delivery: excerpt
valid_from: 2025-01-31
---
# Yearly plans

Within 30 days, in full. After that not at all.

# Monthly plans

Within 14 days.
"""


def rooms(found: list[Piece], tmp_path: Path, grades: int = 9) -> tuple[Rooms, list[AbstractSet[str]], ScriptedJudge]:
    """Rooms on scripted parts, the sets of sources that were searched, and the judge."""
    asked: list[AbstractSet[str]] = []
    judge = ScriptedJudge({ask: [0.9] * grades for ask in (DOCUMENT_ASK, HALLUCINATION_ASK, ANSWER_ASK)})
    retriever = ScriptedRetriever([found])
    ticks = count()
    workflow = Workflow(
        judge=judge,
        writer=ScriptedWriter(["You can get all of it back."] * grades),
        retriever=retriever,
        web=None,
        settings=GradingSettings(max_cycles=0, drafts=True),
        clock=lambda: float(next(ticks)),
    )

    def among(sources: AbstractSet[str]) -> ScriptedRetriever:
        asked.append(sources)
        return retriever

    (tmp_path / "001-refunds.md").write_text(TEXT, encoding="utf-8")
    documents = {int(document.number): document for document in load_documents(tmp_path)}
    return Rooms(workflow, among, Linker(()), documents), asked, judge


def test_what_leaves_the_room_is_positions_and_numbers(tmp_path: Path) -> None:
    """Texts of documents and pages stay inside; drafts stand in the trace alone, which no tool reads."""
    opened, asked, _ = rooms([YEARLY, PAGE], tmp_path)
    finding = opened.open("case", None).retrieve(QUESTION, {1, 2})
    assert asked == [{"document:1", "document:2"}]
    assert finding.is_answered
    assert finding.sentences_of(1) == (0, 1)
    assert {evidence.document for evidence in finding.evidence} == {1}
    assert finding.tokens > 0
    outside = finding.model_dump(exclude={"trace"})
    assert not any(word in str(outside) for word in ("forum", "money back", "30 days"))
    assert any(visit.model_text for visit in finding.trace)


def test_pages_of_the_web_that_help_leave_the_room_for_the_desk(tmp_path: Path) -> None:
    """As they were found, in one line, few and short; nobody outside is told who wrote the mail."""
    opened, _, _ = rooms([], tmp_path)
    long = PAGE.model_copy(update={"heading": "A forum", "text": "They gave me\n\n90 days. " + "x" * 2_000})
    pages = [long, *(PAGE.model_copy(update={"first": n, "last": n}) for n in range(2, 9))]
    web = ScriptedRetriever([pages])
    judge = ScriptedJudge({ROUTE_ASK: [0.1], DOCUMENT_ASK: [0.9] * 9})
    settings = GradingSettings(max_cycles=0, passages=8, enough_passages=8)
    opened = replace(opened, workflow=replace(opened.workflow, web=web, judge=judge, settings=settings))
    finding = opened.open("case", None, ("Anna Keller",)).retrieve(f"{QUESTION} Anna", {1})
    assert web.history == [(QUESTION, 8)]
    assert (finding.reason, finding.evidence, len(finding.pages)) == (FindingReason.ONLY_WEB, (), MOST_PAGES)
    text = ("They gave me 90 days. " + "x" * 2_000)[:MAX_PAGE_CHARACTERS]
    assert finding.pages[0] == FoundPage(address=PAGE.source, heading="A forum", text=text, found_by=("google",))
    assert "90 days" not in str(finding.trace)


def test_the_likely_document_is_looked_into_first(tmp_path: Path) -> None:
    """Rule: it has all places but one, if it may be found."""
    own = [YEARLY.model_copy(update={"first": n, "last": n}) for n in range(9)]
    other = Piece(source="document:2", first=0, last=0, text="Seats.")
    found = LikelyFirst(ScriptedRetriever([own]), ScriptedRetriever([[other, own[0]]]))
    assert found.find(QUESTION, 4)[:3] == tuple(own[:3])
    opened, asked, _ = rooms([YEARLY], tmp_path)
    opened.open("case", None).retrieve(QUESTION, {1, 2}, 2)
    assert asked == [{"document:1", "document:2"}, {"document:2"}]
    asked.clear()
    opened.open("case", None).retrieve(QUESTION, {1}, 2)
    assert asked == [{"document:1"}]


def test_the_questions_of_a_mail_share_one_budget_and_one_memory(tmp_path: Path) -> None:
    opened, _, _ = rooms([YEARLY], tmp_path)
    room = opened.open("case", None)
    assert room.memory is None
    first = room.retrieve(QUESTION, {1})
    room.retrieve("And for monthly plans?", {1})
    kept = from_json(room.memory or "")
    assert kept.earlier_questions == (QUESTION,)
    assert room._budget.spent_tokens > first.tokens


def test_the_next_mail_of_a_case_knows_what_the_last_one_found(tmp_path: Path) -> None:
    """Graded anew, from the document as it is today: the passage is read by its position."""
    opened, _, judge = rooms([YEARLY], tmp_path)
    room = opened.open("case", None)
    room.retrieve(QUESTION, {1})
    later = opened.open("case", room.memory)
    later.retrieve("And what about all of it?", {1})
    graded = [dict(judged.material)["Passage"] for judged in judge.history if judged.question == DOCUMENT_ASK]
    assert "Yearly plans. Within 30 days, in full. After that not at all." in graded


@pytest.mark.parametrize(
    "pointer",
    [
        SentenceRange(source="document:1", first=2, last=9),
        SentenceRange(source="document:7", first=0, last=0),
        SentenceRange(source="document:x", first=0, last=0),
        SentenceRange(source="document:" + "1" * 5000, first=0, last=0),
        SentenceRange(source="document:\u0661", first=0, last=0),
        SentenceRange(source="https://forum.example", first=0, last=0),
    ],
)
def test_what_is_gone_or_may_not_be_found_is_not_read_again(tmp_path: Path, pointer: SentenceRange) -> None:
    """A document that became shorter, one for customers only, a page."""
    opened, _, _ = rooms([], tmp_path)
    assert opened.passage(pointer, {1, 2}) is None
    assert opened.passage(SentenceRange(source="document:1", first=0, last=0), {2}) is None
    assert opened.passage(SentenceRange(source="document:1", first=0, last=0), {1}) is not None


def test_a_row_is_read_again_with_the_names_of_its_columns(tmp_path: Path) -> None:
    """Run together, a row says nothing; its header is read along, the rest of a long document is not."""
    opened, _, _ = rooms([], tmp_path)
    table = "\n| Part | Kept |\n|---|---|\n| steel | 5 years |\n| wicker | 3 years |\n"
    (tmp_path / "002-table.md").write_text(TEXT.replace("number: 1", "number: 2") + table, encoding="utf-8")
    documents = {int(document.number): document for document in load_documents(tmp_path)}
    last = len(documents[2].sentences) - 1
    read = replace(opened, documents=documents).passage(sentence_at("document:2", last), {2})
    assert read is not None
    assert (read.heading, read.text) == ("Monthly plans", "Part: wicker, Kept: 3 years.")


@pytest.mark.parametrize(
    "kept", ["", "{}", "null", '{"format": 2}', begin("case", "cut off").model_dump_json(), "other"]
)
def test_a_memory_that_cannot_be_used_is_begun_anew(tmp_path: Path, kept: str) -> None:
    """Nothing is lost but what was known: the mail is handled all the same."""
    opened, _, _ = rooms([YEARLY], tmp_path)
    if kept == "other":
        room = opened.open("somebody else's", None)
        room.retrieve(QUESTION, {1})
        kept = room.memory or ""
    assert opened.open("case", kept).retrieve(QUESTION, {1}).is_answered


def test_a_mail_in_no_case_is_looked_into_too(tmp_path: Path) -> None:
    """A rehearsal has none."""
    opened, _, _ = rooms([YEARLY], tmp_path)
    assert opened.open("", None).retrieve(QUESTION, {1}).is_answered


def test_of_a_long_memory_the_oldest_is_forgotten(tmp_path: Path) -> None:
    """A memory that the store refuses would stay the one of long ago for ever."""
    opened, _, _ = rooms([YEARLY], tmp_path, grades=99)
    room = opened.open("case", None)
    for number in range(60):
        room._budget.spent_tokens = 0
        room.retrieve(f"{number} " + '"' * 4_000, {1})
    kept = room.memory or ""
    assert len(kept) <= MAX_CHARACTERS
    assert from_json(kept).earlier_questions[0].startswith("58 ")


def test_a_retrieval_that_is_late_escalates(tmp_path: Path) -> None:
    """Rule: `grading.max_s` is the mail's; its clock begins with the mail."""
    opened, _, _ = rooms([YEARLY], tmp_path)
    workflow = replace(opened.workflow, settings=GradingSettings(max_s=0.5))
    assert replace(opened, workflow=workflow).open("case", None).retrieve(QUESTION, {1}).reason == "budget"


def test_a_memory_does_not_grow_for_ever(tmp_path: Path) -> None:
    """A case of a thousand mails: what is oldest is forgotten."""
    opened, _, _ = rooms([YEARLY], tmp_path, grades=999)
    room = opened.open("case", None)
    for _ in range(MAX_FACTS):
        room._budget.spent_tokens = 0
        room.retrieve(QUESTION, {1})
    assert len(from_json(room.memory or "").history) <= MAX_FACTS + 3
