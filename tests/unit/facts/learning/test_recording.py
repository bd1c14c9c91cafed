"""Recording: each path once, with what it took and whether it answers, on the real nodes; stopped, it goes on."""

from __future__ import annotations

import fcntl
from itertools import count
from pathlib import Path

import pytest

from support_agent.company.documents import Document, load_documents
from support_agent.config.facts import GradingSettings
from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.facts.grading_words import DOCUMENT_ASK
from support_agent.facts.inquiry.memory import Ending
from support_agent.facts.inquiry.policy import NEEDS_ASK, Action, always
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.learning.recorded import QuestionOutcome, play, read_cases
from support_agent.facts.learning.recording import Asking, record, recorded
from support_agent.facts.spending import Budget
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Draft, Material, most_tokens
from support_agent.tools.fact_room import FindingReason
from tests.fakes_facts import Piece, ScriptedRetriever

POLICIES = Path(__file__).parents[4] / "policies"
DOCUMENTS: dict[int, Document] = {document.number: document for document in load_documents(POLICIES)}
HEADING = DOCUMENTS[1].sentences[0].heading
REFUND = Piece(source="document:1", first=0, last=0, text="Within 30 days.")
LOOK, DRAFT = Action.ACQUIRE, Action.DRAFT
ASKING = Asking(key="a", question="Can I get a refund?", answers={1: frozenset([HEADING])})


class Model:
    """Judge and writer: the same to the same, as the embedded one with its seeds; `asked` is counted."""

    name = "fixed"

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.written = 0
        self._fails = fails

    def yes(self, question: str, material: Material) -> Grade:
        self.asked.append(question)
        return Grade(probability=0.8, usage=Usage(prompt_tokens=50, forward_passes=1))

    def count_tokens(self, text: str) -> int:
        return most_tokens(text)

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        if self._fails:
            raise TransientError("no answer")
        self.written += 1
        text = "Within 40 days." if seed == 1 else "Within 30 days."
        return Draft(text=text, usage=Usage(prompt_tokens=20, tree_tokens=4, forward_passes=4))


def workflow(model: Model, **values: object) -> Workflow:
    ticks = count()
    return Workflow(
        judge=model,
        writer=model,
        retriever=ScriptedRetriever([(REFUND,)]),
        web=None,
        settings=GradingSettings.model_validate(values),
        clock=lambda: float(next(ticks)),
    )


def paths(case_paths: list[tuple[Action, ...]]) -> set[str]:
    return {"".join(action.value[0] for action in path) for path in case_paths}


def test_each_path_is_taken_once_within_the_limits() -> None:
    """Rule: a mail's own space: two looks without drafts; with drafts these as well, each from where it branches."""
    model = Model()
    case = recorded(ASKING, workflow(model), DOCUMENTS)
    assert paths([state.path for state in case.states]) == {"", "a", "aa"}
    assert model.asked.count(DOCUMENT_ASK) == 1, "what was graded keeps its grade"
    assert [(state.helps, state.tokens > 0) for state in case.states] == [(False, False), (True, True), (True, True)]
    assert case.is_answerable
    assert NEEDS_ASK in model.asked
    assert case.opinions == {"0 passages": 0.8}
    drafting = recorded(ASKING, workflow(Model(), drafts=True), DOCUMENTS)
    assert paths([state.path for state in drafting.states]) == {
        *("", "a", "aa", "ad", "aad", "ada", "add", "aadd", "adad", "adda")
    }


def test_a_played_case_ends_as_the_real_room_does() -> None:
    """Rule: a policy meets in the record what it would have met."""
    for values in ({}, {"drafts": True}):
        flow = workflow(Model(), **values)
        case = recorded(ASKING, flow, DOCUMENTS)
        found = flow.find(ASKING.question, Budget(20_000))
        real = found.reason is FindingReason.ANSWERED
        episode = play(case, always(case.limits))
        assert (episode.outcome is QuestionOutcome.HELPED) == real
        drafts = [visit for visit in found.trace if visit.model_text and visit.model_text.kind == "draft"]
        assert sum(step.action is DRAFT for step in episode.steps) == len(drafts)


@pytest.mark.parametrize(
    ("answers", "helps"),
    [({1: frozenset()}, True), ({1: frozenset(["Nowhere"])}, False), ({2: frozenset()}, False), ({}, False)],
)
def test_an_answer_helps_by_its_document_and_section(answers: dict[int, frozenset[str]], helps: bool) -> None:
    """Rule: the right document with the wrong section is a wrong answer."""
    case = recorded(ASKING.model_copy(update={"answers": answers}), workflow(Model()), DOCUMENTS)
    assert case.by_path[LOOK,].helps is helps
    assert case.is_answerable == bool(answers)


def test_a_path_on_which_the_model_fails_ends_before_it() -> None:
    case = recorded(ASKING, workflow(Model(fails=True)), DOCUMENTS)
    assert paths([state.path for state in case.states]) == {"", "a"}
    assert all(state.memory.ending is not Ending.ESCALATED for state in case.states)


def test_a_recording_goes_on_where_it_was(tmp_path: Path) -> None:
    """Rule: no question twice; the same seed gives the same order, so that the first ones are the same."""
    asked = [ASKING.model_copy(update={"key": key}) for key in "abcdef"]
    model = Model()
    flow = workflow(model)
    path = tmp_path / "cases.jsonl"
    path.write_text('{"key":"cut', "utf-8")
    assert record(path, asked, flow, DOCUMENTS, cases=2, seed=3) == 2
    calls = len(model.asked)
    first = path.read_text("utf-8")
    path.write_bytes(f'{first}{{"key":"cut \u00fc'.encode()[:-1])  # within a character
    assert record(path, asked, flow, DOCUMENTS, cases=4, seed=3) == 4
    assert len(model.asked) == 2 * calls
    assert path.read_text("utf-8").startswith(first)
    assert len({case.key for case in read_cases(path)}) == 4


def test_two_processes_do_not_record_into_one_file(tmp_path: Path) -> None:
    """Failure: both asked the same questions, and each case was in the file twice."""
    path = tmp_path / "cases.jsonl"
    record(path, [ASKING], workflow(Model()), DOCUMENTS, cases=1, seed=1)
    before, model = path.read_bytes(), Model()
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another process records into it"):
            record(path, [ASKING.model_copy(update={"key": "b"})], workflow(model), DOCUMENTS, cases=2, seed=1)
    assert (path.read_bytes(), model.asked) == (before, [])


def test_a_recording_is_added_to_no_other_file(tmp_path: Path) -> None:
    """Rule: of other limits, or of something else, it says so before anything is asked or written."""
    path = tmp_path / "cases.jsonl"
    record(path, [ASKING], workflow(Model()), DOCUMENTS, cases=1, seed=1)
    model = Model()
    with pytest.raises(ConfigError, match="other limits"):
        record(path, [ASKING], workflow(model, max_cycles=2), DOCUMENTS, cases=1, seed=1)
    for other in ("my notes", '{"imap": 1}'):
        (tmp_path / "other").write_text(other, "utf-8")
        with pytest.raises(ConfigError, match="name another file"):
            record(tmp_path / "other", [ASKING], workflow(model), DOCUMENTS, cases=1, seed=1)
        assert (model.asked, (tmp_path / "other").read_text("utf-8")) == ([], other)


def test_a_question_that_the_model_cannot_be_asked_about_keeps_none_from_being_recorded(tmp_path: Path) -> None:
    class Refusing(Model):
        def yes(self, question: str, material: Material) -> Grade:
            raise PermanentError("the texts do not fit")

    assert record(tmp_path / "a.jsonl", [ASKING], workflow(Refusing()), DOCUMENTS, cases=1, seed=1) == 0


def test_too_many_paths_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_cycles"):
        recorded(ASKING, workflow(Model(), max_cycles=3), DOCUMENTS)
