"""Whether documents of the company answer a question, and which passages: retrieval that corrects itself by grades.

    router -> retriever | web search -> document grader -> draft -> hallucination grader -> answer grader -> answered
    nothing relevant: rewrite, retrieve.    hallucination: web search, a cooler draft.    no answer: a warmer rewrite.

Every grade is a yes/no of the judge. A draft is written only to be graded: it shows whether the passages say enough,
and is thrown away. A node that cannot change what comes out is left out: the router without a web search, a grade of a
passage that has one, that of a draft with a number of its own, the answer grader after a hallucination, a cycle that
would repeat an earlier one.

Invariant: it ends, with `max_cycles` rewritten questions and new drafts at most, and begins no call whose tokens the
mail's budget may not hold; whatever fails ends in "don't know"; only passages of documents make an answer. Checked by
tests/unit/facts/test_grading.py and tests/integration/facts/test_grading.py.

Source: figure 1 of the paper on advanced RAG for local models: adaptive, corrective and self-reflective RAG as one
graph, with its four passages and its temperatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

from support_agent.company.text import collapse
from support_agent.errors import SupportAgentError
from support_agent.facts.grading_words import (
    ANSWER_ASK,
    DOCUMENT_ASK,
    DRAFT_ORDER,
    HALLUCINATION_ASK,
    NOTE,
    PASSAGE,
    QUESTION,
    REWRITE_ORDER,
    ROUTE_ASK,
    TRIED,
)
from support_agent.facts.judge import Judge
from support_agent.facts.material import Passage, Retriever, has_new_number, numbered, pointer_of, text_of
from support_agent.facts.spending import Budget, Calls, CountTokens, NoRoom, most_tokens
from support_agent.facts.trace import Cost, Findings, GradedPointer, ModelText, Node, Outcome, Pointer, Reason, Visit
from support_agent.facts.writer import Material, Writer
from support_agent.settings_facts import GradingSettings

DRAFT_TEMPERATURE = 0.4
REWRITE_TEMPERATURE = 0.0
TEMPERATURE_STEP = 0.1
MAX_QUESTION_CHARACTERS = 300
"""Of a rewritten question: it is a search, not a letter."""


class Workflow:
    """The graph, ready for questions.

    Args:
        judge: Reads the grades.
        writer: Writes drafts and rewritten questions.
        retriever: Finds passages of the company's documents.
        web: Finds passages in the web; None where that is off.
        settings: Thresholds and bounds.
        clock: Monotonic seconds.
        count_tokens: How many tokens a text has, at most; the default holds for any model.
    """

    def __init__(
        self,
        *,
        judge: Judge,
        writer: Writer,
        retriever: Retriever,
        web: Retriever | None,
        settings: GradingSettings,
        clock: Callable[[], float],
        count_tokens: CountTokens = most_tokens,
    ) -> None:
        self.judge = judge
        self.writer = writer
        self.retriever = retriever
        self.web = web
        self.settings = settings
        self.clock = clock
        self.count_tokens = count_tokens

    def find(self, question: str, budget: Budget) -> Findings:
        """Look into one question. Never raises for what the model, the index or the web does.

        Args:
            question: The customer's own words.
            budget: The mail's; what is spent is taken off.
        """
        run = _Run(self, Calls(self.judge, self.writer, budget, self.count_tokens), question)
        try:
            reason = run.until_the_end()
        except NoRoom:
            return run.stopped(Reason.BUDGET, "the budget is spent")
        except SupportAgentError as error:
            return run.stopped(Reason.FAILED, f"failed: {error.code}")
        return run.findings(reason)


@dataclass
class _Run:
    """One question on its way through the graph."""

    flow: Workflow
    calls: Calls
    question: str
    asked: str = ""
    """What is searched with: the question, or its last rewriting."""
    tried: set[str] = field(default_factory=set)
    is_index_asked: bool = False
    searched: set[str] = field(default_factory=set)
    """What the web was asked."""
    found: dict[Pointer, Passage] = field(default_factory=dict)
    """The passages in hand."""
    grades: dict[Pointer, float] = field(default_factory=dict)
    graded: dict[Pointer, str] = field(default_factory=dict)
    """The text that the grade is of: a page of the web may say something else the next time."""
    draft: str = ""
    draft_temperature: float = DRAFT_TEMPERATURE
    rewrite_temperature: float = REWRITE_TEMPERATURE
    cycles: int = 0
    grounded: float | None = None
    answers: float | None = None
    at: Node = Node.ROUTER
    started_s: float = 0.0
    visits: list[Visit] = field(default_factory=list)

    def until_the_end(self) -> Reason:
        self.asked = collapse(self.question)
        self.tried.add(self.asked)
        has_choice = self.flow.web and self.flow.settings.threshold_router > 0
        self.at = Node.ROUTER if has_choice else Node.RETRIEVER
        while True:
            self.started_s = self.flow.clock()
            next_ = self._visit(self.at)
            if isinstance(next_, Reason):
                return next_
            self.at = next_

    def _visit(self, node: Node) -> Node | Reason:
        match node:
            case Node.ROUTER:
                return self._route()
            case Node.RETRIEVER:
                return self._retrieve()
            case Node.WEB_SEARCH:
                return self._search_web()
            case Node.DOCUMENT_GRADER:
                return self._grade_documents()
            case Node.GENERATOR:
                return self._write_draft()
            case Node.HALLUCINATION_GRADER:
                return self._grade_support()
            case Node.ANSWER_GRADER:
                return self._grade_answer()
            case Node.REWRITER:
                return self._rewrite()
            case _ as never:
                assert_never(never)

    def _route(self) -> Node:
        threshold = self.flow.settings.threshold_router
        grade = self.calls.grade(ROUTE_ASK, [(QUESTION, self.question)])
        is_ours = grade >= threshold
        self._note("to the index" if is_ours else "to the web", grade=grade, threshold=threshold)
        return Node.RETRIEVER if is_ours else Node.WEB_SEARCH

    def _retrieve(self) -> Node:
        self.is_index_asked = True
        self.found = self._kept(self.flow.retriever.find(self.asked, self.flow.settings.passages))
        self._note(f"{len(self.found)} passages", passages=tuple(self.found))
        return Node.DOCUMENT_GRADER

    def _search_web(self) -> Node:
        """Pages beside what is in hand; a web that fails costs nothing but itself."""
        self.searched.add(self.asked)
        found: Sequence[Passage] = ()
        decided = ""
        if self.flow.web:
            try:
                found = tuple(self.flow.web.find(self.asked, self.flow.settings.passages))
            except SupportAgentError as error:
                decided = f"the search failed: {error.code}"
        pages = self._kept(passage for passage in found if not pointer_of(passage).is_document)
        self.found = {**self.found, **pages}
        self._note(decided or f"{len(pages)} passages", passages=tuple(pages))
        return Node.DOCUMENT_GRADER

    def _grade_documents(self) -> Node | Reason:
        """Drops what does not help; what was graded before for this question keeps its grade."""
        threshold = self.flow.settings.threshold_document
        seen = tuple(self.found)
        if threshold > 0:
            for pointer, passage in self.found.items():
                self._grade_passage(pointer, text_of(passage))
            self.found = {pointer: self.found[pointer] for pointer in seen if self.grades[pointer] >= threshold}
        self._note(
            f"{len(self.found)} of {len(seen)} relevant",
            threshold=threshold,
            passages=seen,
            passage_grades=tuple(self.grades[pointer] for pointer in seen if threshold > 0),
        )
        if not self.found:
            return self._again(Node.REWRITER, Reason.IRRELEVANT)
        return Node.GENERATOR if self._is_draft_graded else self._stands_in_documents()

    def _grade_passage(self, pointer: Pointer, text: str) -> None:
        if self.graded.get(pointer) != text:
            self.grades[pointer] = self.calls.grade(DOCUMENT_ASK, [(PASSAGE, text), (QUESTION, self.question)])
            self.graded[pointer] = text

    @property
    def _is_draft_graded(self) -> bool:
        return max(self.flow.settings.threshold_hallucination, self.flow.settings.threshold_answer) > 0

    def _write_draft(self) -> Node | Reason:
        temperature = self.draft_temperature
        material = [*numbered(self.found.values()), (QUESTION, self.question)]
        text = self._write("draft", DRAFT_ORDER, material, temperature, self.flow.settings.draft_tokens)
        self.draft = text.text.strip()
        decided = "written" if self.draft else "nothing written"
        self._note(decided, temperature=temperature, passages=tuple(self.found), model_text=text)
        if not self.draft:
            return self._no_answer()
        return Node.HALLUCINATION_GRADER if self.flow.settings.threshold_hallucination > 0 else Node.ANSWER_GRADER

    def _grade_support(self) -> Node | Reason:
        threshold = self.flow.settings.threshold_hallucination
        self.grounded = self._support_by(self.found)
        is_grounded = self.grounded >= threshold
        decided = "supported" if is_grounded else "hallucination"
        self._note(decided, grade=self.grounded, threshold=threshold, passages=tuple(self.found))
        if not is_grounded:
            return self._hallucination()
        return Node.ANSWER_GRADER if self.flow.settings.threshold_answer > 0 else self._stands_in_documents()

    def _grade_answer(self) -> Node | Reason:
        threshold = self.flow.settings.threshold_answer
        material = [(QUESTION, self.question), (NOTE, self.draft)]
        self.answers = self.calls.grade(ANSWER_ASK, material)
        is_answer = self.answers >= threshold
        decided = "an answer" if is_answer else "not an answer"
        self._note(decided, grade=self.answers, threshold=threshold)
        return self._stands_in_documents() if is_answer else self._no_answer()

    def _rewrite(self) -> Node | Reason:
        temperature = self.rewrite_temperature
        material = [(QUESTION, self.question)]
        if self.asked != collapse(self.question):
            material.append((TRIED, self.asked))
        length = self.flow.settings.question_tokens
        text = self._write("question", REWRITE_ORDER, material, temperature, length)
        self.asked = collapse(text.text)[:MAX_QUESTION_CHARACTERS].strip()
        is_new = bool(self.asked) and self.asked not in self.tried
        self.tried.add(self.asked)
        decided = "rewritten" if is_new else "nothing new to ask"
        self._note(decided, temperature=temperature, model_text=text)
        return Node.RETRIEVER if is_new else self._why_rewritten()

    def _hallucination(self) -> Node | Reason:
        """To the web, if it was not asked this yet, and to a cooler draft."""
        was_coolest = self.draft_temperature == 0
        self.draft_temperature = _stepped(self.draft_temperature, -TEMPERATURE_STEP)
        if self.flow.web and self.asked not in self.searched:
            return self._again(Node.WEB_SEARCH, Reason.HALLUCINATION)
        if was_coolest:  # it would be the same draft
            return Reason.HALLUCINATION
        return self._again(Node.GENERATOR, Reason.HALLUCINATION)

    def _no_answer(self) -> Node | Reason:
        self.rewrite_temperature = _stepped(self.rewrite_temperature, TEMPERATURE_STEP)
        return self._again(Node.REWRITER, Reason.NOT_AN_ANSWER)

    def _stands_in_documents(self) -> Node | Reason:
        """A draft that stands in pages of the web too is graded once more, on the documents alone."""
        documents = {pointer: passage for pointer, passage in self.found.items() if pointer.is_document}
        threshold = self.flow.settings.threshold_hallucination
        if not documents:
            return Reason.ONLY_WEB if self.is_index_asked else self._again(Node.RETRIEVER, Reason.ONLY_WEB)
        is_mixed = len(documents) < len(self.found)
        self.found = documents
        if not is_mixed or threshold == 0:
            return Reason.ANSWERED
        self.at, self.started_s = Node.HALLUCINATION_GRADER, self.flow.clock()
        self.grounded = self._support_by(documents)
        is_grounded = self.grounded >= threshold
        decided = "supported by documents alone" if is_grounded else "supported by the web only"
        self._note(decided, grade=self.grounded, threshold=threshold, passages=tuple(documents))
        return Reason.ANSWERED if is_grounded else Reason.ONLY_WEB

    def _again(self, node: Node, reason: Reason) -> Node | Reason:
        """One more cycle, or the end for this reason."""
        if self.cycles >= self.flow.settings.max_cycles:
            return reason
        self.cycles += 1
        return node

    def _why_rewritten(self) -> Reason:
        return Reason.NOT_AN_ANSWER if self.found else Reason.IRRELEVANT

    def _support_by(self, passages: Mapping[Pointer, Passage]) -> float:
        """The grade of the draft; where it has a number that nobody wrote, there is nothing to ask."""
        if has_new_number(self.draft, [self.question, *map(text_of, passages.values())]):
            return 0.0
        return self.calls.grade(HALLUCINATION_ASK, [*numbered(passages.values()), (NOTE, self.draft)])

    def _write(
        self, kind: Literal["draft", "question"], order: str, material: Material, temperature: float, max_tokens: int
    ) -> ModelText:
        seed = self.flow.settings.seed + self.cycles
        draft = self.calls.write(order, material, temperature=temperature, max_tokens=max_tokens, seed=seed)
        return ModelText(kind=kind, text=draft.text, writer=self.flow.writer.name, seed=seed)

    def _kept(self, passages: Iterable[Passage]) -> dict[Pointer, Passage]:
        """The first ones, each once."""
        found = {pointer_of(passage): passage for passage in passages}
        return dict(list(found.items())[: self.flow.settings.passages])

    def _note(
        self,
        decided: str,
        *,
        grade: float | None = None,
        threshold: float | None = None,
        temperature: float | None = None,
        passages: tuple[Pointer, ...] = (),
        passage_grades: tuple[float, ...] = (),
        model_text: ModelText | None = None,
    ) -> None:
        """The row of the node at work, with all that was spent since the row before."""
        cost = self.calls.take_cost().model_copy(update={"seconds": self.flow.clock() - self.started_s})
        self.visits.append(
            Visit(
                node=self.at,
                cycle=self.cycles,
                decided=decided,
                grade=grade,
                threshold=threshold,
                temperature=temperature,
                cost=cost,
                passages=passages,
                passage_grades=passage_grades,
                model_text=model_text,
            )
        )

    def stopped(self, reason: Reason, decided: str) -> Findings:
        """The end in the middle of a node."""
        self._note(decided)
        return self.findings(reason)

    def findings(self, reason: Reason) -> Findings:
        outcome = Outcome(
            reason=reason,
            evidence=self._evidence(reason),
            grounded=self.grounded,
            answers=self.answers,
            cycles=self.cycles,
            cost=sum((visit.cost for visit in self.visits), Cost()),
            index_version=self.flow.retriever.version,
        )
        return Findings(outcome=outcome, trace=tuple(self.visits))

    def _evidence(self, reason: Reason) -> tuple[GradedPointer, ...]:
        """What answers; else all that looked relevant, for whoever gets the case."""
        threshold = self.flow.settings.threshold_document
        relevant = [pointer for pointer, grade in self.grades.items() if grade >= threshold]
        kept = self.found if reason is Reason.ANSWERED or threshold == 0 else relevant
        graded = [GradedPointer(pointer=pointer, grade=self.grades.get(pointer)) for pointer in kept]
        return tuple(sorted(graded, key=lambda one: -(one.grade or 0.0)))


def _stepped(temperature: float, step: float) -> float:
    """One step on, without the dust of floating point; never below 0."""
    return max(round(temperature + step, 1), 0.0)
