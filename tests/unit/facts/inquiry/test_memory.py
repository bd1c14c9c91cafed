"""The working memory: nothing that was found is lost, whatever happens to a question, and it reads back as written."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from support_agent.errors import PermanentError
from support_agent.facts.inquiry.memory import (
    Check,
    EndedQuestion,
    Ending,
    FailedCheck,
    Memory,
    Utility,
    begin,
    ended,
    from_json,
    recalled,
    with_draft,
    with_evidence,
    with_question,
    with_utility,
)
from support_agent.tools.fact_trace import Evidence, SentenceRange

shares = st.floats(0, 1)
places = st.builds(
    lambda source, first, length, score: Evidence(source=source, first=first, last=first + length, grade=score),
    st.sampled_from(["document:1", "document:2", "https://example.com/a"]),
    st.integers(0, 5),
    st.integers(0, 3),
    st.floats(0, 1),
)
found = st.lists(places, max_size=4)
utilities = st.builds(
    Utility,
    failures=st.lists(st.builds(FailedCheck, check=st.sampled_from(Check), token=st.text(max_size=5)), max_size=2).map(
        tuple
    ),
    supported=st.none() | shares,
    answers=st.none() | shares,
    knowledge_f1=shares,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("look"), found),
        st.tuples(st.just("draft"), utilities),
        st.tuples(st.just("end"), st.sampled_from(Ending)),
    ),
    max_size=12,
)


def after(memory: Memory, step: tuple[str, object]) -> Memory:
    """The memory after one step of `steps`; after an end comes the next question."""
    match step:
        case ("look", list(places)):
            return with_evidence(memory, places)
        case ("draft", Utility() as utility):
            return with_utility(with_draft(memory, "a draft"), utility, ["Say less."])
        case ("end", Ending() as ending):
            return with_question(ended(memory, ending), "And then?")
    raise AssertionError(step)


def known(memory: Memory) -> set[SentenceRange]:
    """The places of all evidence the case has seen."""
    past = [evidence for fact in memory.history if isinstance(fact, EndedQuestion) for evidence in fact.evidence]
    return {evidence.place for evidence in (*memory.evidence, *past)}


@given(steps, found)
def test_no_step_loses_evidence(steps: list[tuple[str, object]], given: list[Evidence]) -> None:
    """Rule: what the case has seen it has seen; a person who takes over finds all of it."""
    memory = recalled(begin("case", "What does it cost?"), given)
    assert {each.place for each in given} == known(memory)
    for step in steps:
        before, memory = memory, after(memory, step)
        assert known(before) <= known(memory)
        if step[0] == "look":
            assert {each.place for each in step[1]} <= known(memory)  # type: ignore[attr-defined]


@given(steps)
def test_a_memory_reads_back_as_it_was_written(steps: list[tuple[str, object]]) -> None:
    """Rule: the store keeps JSON, and a case goes on where it stopped."""
    memory = begin("case", "What does it cost?")
    for step in steps:
        memory = after(memory, step)
    assert from_json(memory.model_dump_json()) == memory


@given(steps)
def test_a_step_leaves_the_memory_before_it_alone(steps: list[tuple[str, object]]) -> None:
    """Rule: steps are pure; a step that is done again after a crash begins where the first did."""
    memory = begin("case", "What does it cost?")
    for step in steps:
        written = memory.model_dump_json()
        later = after(memory, step)
        assert memory.model_dump_json() == written
        assert after(memory, step) == later
        memory = later


def test_evidence_found_twice_stands_once_with_its_better_score() -> None:
    memory = recalled(begin("case", "?"), [Evidence(source="document:1", first=0, last=2, grade=0.2)])
    memory = with_evidence(
        memory,
        [
            Evidence(source="document:2", first=1, last=1, grade=0.9),
            Evidence(source="document:1", first=0, last=2, grade=0.5),
        ],
    )
    assert [(each.source, each.grade) for each in memory.evidence] == [("document:1", 0.5), ("document:2", 0.9)]
    assert (memory.retrievals[0].found, memory.retrievals[0].new) == (2, 1)
    worse = with_evidence(memory, [Evidence(source="document:1", first=0, last=2, grade=0.1)])
    assert worse.evidence == memory.evidence


def test_the_next_question_begins_anew_and_the_history_stays() -> None:
    """The looks of the question before are not those of this one, also where it is asked in the same words."""
    memory = with_evidence(begin("case", "How much?"), [Evidence(source="document:1", first=0, last=0)])
    memory = with_utility(with_draft(memory, "Ten."), Utility(), ["Say less."])
    over = ended(memory, Ending.ANSWERED)
    assert (len(over.retrievals), over.earlier_questions) == (1, ())
    asked_again = with_question(over, "How much?")
    assert asked_again.ending is None
    assert (asked_again.retrievals, asked_again.drafts, asked_again.feedback, asked_again.evidence) == ((), (), (), ())
    assert asked_again.earlier_questions == ("How much?",)
    last = asked_again.history[-1]
    assert isinstance(last, EndedQuestion)
    assert last.evidence == memory.evidence


def test_a_draft_is_judged_before_the_next_is_written() -> None:
    """Rule: a draft without a judgement could be taken for one that passed."""
    memory = with_draft(begin("case", "?"), "Ten.")
    assert memory.last_utility is None
    with pytest.raises(ValueError, match="utilities for 2 drafts"):
        with_draft(memory, "Twenty.")
    with pytest.raises(ValueError, match="no draft waits"):
        with_utility(begin("case", "?"), Utility(), [])


def test_nothing_happens_to_a_question_that_has_ended() -> None:
    over = ended(begin("case", "?"), Ending.ESCALATED)
    steps: tuple[Callable[[], Memory], ...] = (
        lambda: with_evidence(over, []),
        lambda: with_draft(over, "x"),
        lambda: ended(over, Ending.ANSWERED),
    )
    for step in steps:
        with pytest.raises(ValueError, match="has ended"):
            step()
    with pytest.raises(ValueError, match="has not ended"):
        with_question(begin("case", "?"), "And?")


def test_evidence_runs_forward() -> None:
    with pytest.raises(ValidationError, match="before its beginning"):
        Evidence(source="document:1", first=3, last=2)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": 2}, "format"),
        ({"mood": "good"}, "mood"),
        ({"case_id": ""}, "case_id"),
        ({"utilities": [{}]}, "1 utilities for 0 drafts"),
        ({"ending": "answered"}, "history does not end so"),
        ({"evidence": [{"source": "a", "first": 0, "last": 0}] * 2}, "stands twice"),
    ],
)
def test_a_stored_memory_that_is_none_is_refused(change: dict[str, object], what: str) -> None:
    """Rule: a case whose memory cannot be read goes to a person; it is never read half."""
    data = json.loads(begin("case", "?").model_dump_json()) | change
    with pytest.raises(PermanentError, match=what) as caught:
        from_json(json.dumps(data))
    assert caught.value.code == "memory"


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(PermanentError, match="a person"):
        from_json(b"\xff")


@pytest.mark.parametrize(
    ("utility", "is_sound", "score"),
    [
        (Utility(supported=0.8, answers=0.5), True, 0.4),
        (Utility(supported=0.8), True, 0.8),
        (Utility(supported=0.3, failures=(FailedCheck(check=Check.UNSUPPORTED),)), False, 0.0),
        (Utility(supported=0.9, answers=0.9, failures=(FailedCheck(check=Check.NUMBER, token="7"),)), False, 0.0),
    ],
)
def test_a_draft_is_sound_when_nothing_failed(utility: Utility, is_sound: bool, score: float) -> None:
    """Rule: what was asked counts; a question that is switched off was not asked."""
    assert utility.is_sound == is_sound
    assert utility.score == pytest.approx(score)


def test_a_memory_of_an_earlier_version_is_read() -> None:
    """Rule: stored memories stay readable: their retrievals are looks."""
    before = {
        "format": 1,
        "case_id": "case",
        "question": "How much?",
        "evidence": [{"source": "document:1", "first": 0, "last": 2, "grade": 0.75}],
        "history": [{"kind": "looked", "found": 4, "new": 1, "is_web": False}],
    }
    read = from_json(json.dumps(before))
    assert read.evidence == (Evidence(source="document:1", first=0, last=2, grade=0.75),)
    assert [fact.new for fact in read.retrievals] == [1]
    assert from_json(read.model_dump_json()) == read
