"""The nodes of the grading workflow for one question: they retrieve, draft and evaluate.

Every grade is a yes/no of the judge. A draft is written only to be graded: it shows whether the passages say enough,
and is then discarded. A node that cannot change the result is skipped: the router without a web search, the grader for
a graded passage or for a draft with an invented number, the answer grader after a hallucination, a repeated search.

Each visit is a row of the trace. Checked by tests/unit/facts/inquiry/test_workflow.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Literal

from support_agent.company.text import collapse
from support_agent.config.facts import GradingSettings
from support_agent.errors import SupportAgentError
from support_agent.facts.grading_words import (
    DOCUMENT_ASK,
    DRAFT_AGAIN,
    DRAFT_ORDER,
    PASSAGE,
    QUESTION,
    REWRITE_ORDER,
    ROUTE_ASK,
    TRIED,
)
from support_agent.facts.graph.evidence import EvidenceChainer
from support_agent.facts.inquiry.loop import Retrieval
from support_agent.facts.inquiry.memory import CHECK_WORDS, Check, EndedQuestion, FailedCheck, Memory, Utility, recalled
from support_agent.facts.inquiry.policy import Action, Policy, likeliest
from support_agent.facts.inquiry.utility import LONGEST, Standard, answering, supported
from support_agent.facts.material import AnyRange, Passage, Retriever, distinct, named
from support_agent.facts.spending import Calls
from support_agent.models.writer import Material
from support_agent.tools.fact_trace import DraftStep, Evidence, ModelText, NodeVisit, SentenceRange, WorkflowNode

DRAFT_TEMPERATURE = 0.4
REWRITE_TEMPERATURE = 0.0
TEMPERATURE_STEP = 0.1
MAX_QUESTION_CHARACTERS = 300
"""Most characters of a rewritten question: it is a search query."""


@dataclass
class Nodes:
    """`facts.inquiry.loop.Means` for one question, and the record of what was done.

    `question` is the customer's; searches use it, or its last rewriting.
    """

    calls: Calls
    retriever: Retriever
    web: Retriever | None
    settings: GradingSettings
    clock: Callable[[], float]
    read: Callable[[SentenceRange], Passage | None]
    question: str
    visits: list[NodeVisit] = field(default_factory=list)
    _asked: str = ""
    _tried: set[str] = field(default_factory=set)
    _searched: set[str] = field(default_factory=set)
    """The queries sent to the web."""
    _is_index_asked: bool = False
    _repeats: int = 0
    """Failed rewritings: each raises the temperature of the next."""
    _passages: dict[SentenceRange, Passage] = field(default_factory=dict)
    """All passages seen, in their latest version."""
    _pages: dict[SentenceRange, Passage] = field(default_factory=dict)
    """The passages of web pages among them."""
    _grades: dict[SentenceRange, float] = field(default_factory=dict)
    _graded: dict[SentenceRange, str] = field(default_factory=dict)
    """The graded text: a web page may change between searches."""
    _node: WorkflowNode = WorkflowNode.RETRIEVER
    _cycle: int = 0
    _started_s: float = 0.0

    def __post_init__(self) -> None:
        self._asked = collapse(self.question)
        self._tried.add(self._asked)

    def branch(self) -> Nodes:
        """A copy for another course of the question; the calls and their budget are shared."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | set | dict):
                setattr(twin, name, value.copy())
        return twin

    # The policy's actions

    def choose(self, policy: Policy, memory: Memory) -> Action:
        """The likeliest action; a choice that was weighed, or cost something, is a row of the trace."""
        self._begin(WorkflowNode.POLICY, max(len(memory.retrievals), len(memory.drafts), 1) - 1)
        probabilities = policy.probabilities(memory)
        action, surely = likeliest(probabilities), max(probabilities)
        if surely < 1 or self.calls.has_cost:
            self._note(action.value, grade=min(surely, 1.0))
        return action

    def recall(self, memory: Memory) -> Memory:
        """The memory with the relevant evidence of earlier questions, graded for this one."""
        known = self._known(memory)
        if not known:
            return memory
        self._begin(WorkflowNode.MEMORY, 0)
        return recalled(memory, self._relevant(known))

    def retrieve(self, memory: Memory) -> Retrieval:
        """See `Means.retrieve`: branches as published, by the evaluation of the last draft."""
        cycle, last = len(memory.retrievals), memory.last_utility
        if memory.last_retrieval is None:
            is_web = not self._is_ours(cycle)
        else:
            is_web = last is not None and last.is_hallucination
            if is_web and (not self.web or self._asked in self._searched):
                return Retrieval(())
            if last is not None and last.is_from_web_only:
                return Retrieval(())
        if not is_web and self._is_index_asked and not self._rewrite(memory, cycle):
            return Retrieval(())
        found = self._search_web(cycle) if is_web else self._retrieve(cycle)
        self._begin(WorkflowNode.DOCUMENT_GRADER, cycle)
        return Retrieval(self._relevant(found), is_web)

    def write(self, memory: Memory) -> str:
        """See `Means.write`: cooler after each hallucination; the model reads what was wrong with the draft before."""
        self._begin(WorkflowNode.GENERATOR, max(len(memory.retrievals) - 1, len(memory.drafts)))
        hand = self._in_hand(memory)
        failed = sum(utility.is_hallucination or utility.is_from_web_only for utility in memory.utilities)
        temperature = _stepped(DRAFT_TEMPERATURE, -failed * TEMPERATURE_STEP)
        has_feedback = self.settings.feedback and bool(memory.feedback)
        order = " ".join([DRAFT_ORDER, DRAFT_AGAIN, *memory.feedback]) if has_feedback else DRAFT_ORDER
        material = [*named(one.shown for one in hand.values()), (QUESTION, self.question)]
        text = self._write("draft", order, material, temperature, self.settings.draft_tokens)
        draft = text.text.strip()[: LONGEST + 1]  # a longer one fails, so its end is not kept
        decided = "written" if draft else "nothing written"
        self._note(decided, temperature=temperature, passages=tuple(hand), model_text=text)
        return draft

    def evaluate(self, memory: Memory) -> Utility:
        """See `Means.evaluate`; a draft with web passages is graded a second time on documents alone."""
        hand, draft = self._in_hand(memory), memory.drafts[-1]
        utility = self._supported(hand, draft, "supported", "hallucination", memory)
        if utility.failures:
            return utility
        utility = self._answering(utility, draft, memory)
        if utility.failures or all(pointer.is_document for pointer in hand):
            return utility
        return self._in_documents(hand, utility, draft, memory)

    def evidence(self, memory: Memory, *, is_answered: bool) -> tuple[Evidence, ...]:
        """The documents' evidence of an answer; else all relevant evidence, for the person. The best first."""
        hand = [place for place in self._in_hand(memory) if place.is_document]
        kept = hand if is_answered else [evidence.place for evidence in memory.evidence]
        return tuple(sorted(map(self._evidence, kept), key=lambda one: -one.certainty))

    def pages(self, evidence: Iterable[Evidence]) -> tuple[Passage, ...]:
        """The web passages among the evidence, in their latest version."""
        return tuple(self._pages[one.place] for one in evidence if one.place in self._pages)

    def sentences(self, memory: Memory, chainer: EvidenceChainer) -> tuple[SentenceRange, ...]:
        """The sentences of the documents that support the last draft, one per range, in the documents' order.

        Raises:
            SupportAgentError: raised by the chainer.
        """
        self._begin(WorkflowNode.EVIDENCE, self._cycle_of(memory))
        documents = frozenset(pointer.source for pointer in self._in_hand(memory) if pointer.is_document)
        found = chainer.find(self.question, memory.drafts[-1], sources=documents)
        n_found = sum(step.pointer is not None for step in found.steps)
        self._note(f"{n_found} of {len(found.steps)} steps supported", passages=found.sentences, steps=found.steps)
        return found.sentences

    def stopped(self, decided: str) -> None:
        """Record that a node was interrupted."""
        self._note(decided)

    # Retrieval

    def _is_ours(self, cycle: int) -> bool:
        """Whether the index is asked first, and not the web."""
        threshold = self.settings.threshold_router
        if not self.web or threshold == 0:
            return True
        self._begin(WorkflowNode.ROUTER, cycle)
        grade = self.calls.yes(ROUTE_ASK, [(QUESTION, self.question)]).probability
        is_ours = grade >= threshold
        self._note("to the index" if is_ours else "to the web", grade=grade, threshold=threshold)
        return is_ours

    def _retrieve(self, cycle: int) -> list[Passage]:
        self._begin(WorkflowNode.RETRIEVER, cycle)
        self._is_index_asked = True
        found = self._kept(self.retriever.find(self._asked, self.settings.passages))
        self._note(f"{len(found)} passages", passages=_places(found))
        return found

    def _search_web(self, cycle: int) -> list[Passage]:
        """Passages of web pages; a failing web search does not end the question."""
        self._begin(WorkflowNode.WEB_SEARCH, cycle)
        self._searched.add(self._asked)
        found: Sequence[Passage] = ()
        decided = ""
        if self.web:
            try:
                found = tuple(self.web.find(self._asked, self.settings.passages))
            except SupportAgentError as error:
                decided = f"the search failed: {error.code}"
            except Exception as error:  # a defect of a source does not end the question, either
                decided = f"the search failed: {type(error).__name__}"
        pages = self._kept(passage for passage in found if not passage.is_document)
        self._pages |= {page.place: page for page in pages}
        self._note(decided or f"{len(pages)} passages", passages=_places(pages))
        return pages

    def _rewrite(self, memory: Memory, cycle: int) -> bool:
        """Rewrite the question; whether the result is new."""
        self._begin(WorkflowNode.REWRITER, cycle)
        warmer = self._repeats + sum(utility.is_off_the_question for utility in memory.utilities)
        temperature = _stepped(REWRITE_TEMPERATURE, warmer * TEMPERATURE_STEP)
        material = [(QUESTION, self.question)]
        if self._asked != collapse(self.question):
            material.append((TRIED, self._asked))
        text = self._write("question", REWRITE_ORDER, material, temperature, self.settings.question_tokens)
        asked = collapse(text.text)[:MAX_QUESTION_CHARACTERS].strip()
        is_new = bool(asked) and asked not in self._tried
        if is_new:
            self._asked = asked
            self._tried.add(asked)
        else:
            self._repeats += 1
        self._note("rewritten" if is_new else "nothing new to ask", temperature=temperature, model_text=text)
        return is_new

    def _relevant(self, found: Iterable[Passage]) -> list[Evidence]:
        """The relevant passages; a passage graded before for this question keeps its grade."""
        threshold = self.settings.threshold_document
        seen = {passage.place: passage for passage in found}
        self._passages |= seen
        kept = self._graded_in_turn(seen) if threshold > 0 else list(seen)
        judged = [pointer for pointer in seen if threshold == 0 or pointer in self._graded]
        self._note(
            f"{len(kept)} of {len(judged)} relevant",
            threshold=threshold,
            passages=tuple(judged),
            passage_grades=tuple(self._grades[pointer] for pointer in judged if threshold > 0),
        )
        return list(map(self._evidence, kept))

    def _evidence(self, place: SentenceRange) -> Evidence:
        return Evidence(**dict(place), grade=self._grades.get(place))

    def _graded_in_turn(self, seen: Mapping[SentenceRange, Passage]) -> list[SentenceRange]:
        """Grade passages until enough are relevant; for a draft, grade all."""
        kept: list[SentenceRange] = []
        enough = len(seen) if self.settings.writes_drafts else self.settings.enough_passages
        for pointer, passage in seen.items():
            self._grade(pointer, passage.shown)
            if self._grades[pointer] >= self.settings.threshold_document:
                kept.append(pointer)
            if len(kept) == enough:
                break
        return kept

    def _grade(self, pointer: SentenceRange, text: str) -> None:
        if self._graded.get(pointer) != text:
            grade = self.calls.yes(DOCUMENT_ASK, [(PASSAGE, text), (QUESTION, self.question)])
            self._grades[pointer], self._graded[pointer] = grade.probability, text

    def _known(self, memory: Memory) -> list[Passage]:
        """Passages that the case's earlier questions found, as they read today, the latest first."""
        ends = [fact for fact in reversed(memory.history) if isinstance(fact, EndedQuestion)]
        pointers = dict.fromkeys(evidence.place for fact in ends for evidence in fact.evidence)
        read = (self.read(pointer) for pointer in pointers if pointer.is_document)
        return self._kept(passage for passage in read if passage is not None)

    # Drafts and grades

    def _in_hand(self, memory: Memory) -> dict[SentenceRange, Passage]:
        """The material of a draft: the best documents and the best pages; only documents after a web-only draft."""
        pointers = [evidence.place for evidence in sorted(memory.evidence, key=lambda evidence: -evidence.certainty)]
        documents = [pointer for pointer in pointers if pointer.is_document][: self.settings.passages]
        pages = [pointer for pointer in pointers if not pointer.is_document][: self.settings.passages]
        last = memory.utilities[-1] if memory.utilities else None
        is_web_refused = last is not None and last.is_from_web_only
        return {pointer: self._passages[pointer] for pointer in (documents if is_web_refused else documents + pages)}

    def _supported(
        self, hand: Mapping[SentenceRange, Passage], draft: str, yes: str, no: str, memory: Memory
    ) -> Utility:
        self._begin(WorkflowNode.HALLUCINATION_GRADER, self._cycle_of(memory))
        utility = supported(self.calls, self.question, draft, [one.shown for one in hand.values()], self._standard)
        if utility.failures or utility.supported is not None:
            checks = ", ".join(dict.fromkeys(CHECK_WORDS[failure.check] for failure in utility.failures))
            decided = f"{no}: {checks}" if checks else yes
            threshold = self._standard.supported
            self._note(decided, grade=utility.supported, threshold=threshold, passages=tuple(hand))
        return utility

    def _answering(self, utility: Utility, draft: str, memory: Memory) -> Utility:
        if not self._standard.answers:
            return utility
        self._begin(WorkflowNode.ANSWER_GRADER, self._cycle_of(memory))
        judged = answering(self.calls, self.question, draft, utility, self._standard)
        decided = "not an answer" if judged.failures else "an answer"
        self._note(decided, grade=judged.answers, threshold=self._standard.answers)
        return judged

    def _in_documents(
        self, hand: Mapping[SentenceRange, Passage], utility: Utility, draft: str, memory: Memory
    ) -> Utility:
        """Grade the same draft on the documents alone: a page could claim that any document answers."""
        documents = {pointer: passage for pointer, passage in hand.items() if pointer.is_document}
        alone = self._supported(documents, draft, "supported by documents alone", "supported by the web only", memory)
        if not alone.failures:
            return alone.model_copy(update={"answers": utility.answers})
        return utility.model_copy(update={"failures": (FailedCheck(check=Check.ONLY_WEB),)})

    @property
    def _standard(self) -> Standard:
        settings = self.settings
        return Standard(
            supported=settings.threshold_hallucination,
            answers=settings.threshold_answer,
            knowledge=settings.threshold_knowledge,
        )

    def _write(
        self, kind: Literal["draft", "question"], order: str, material: Material, temperature: float, max_tokens: int
    ) -> ModelText:
        seed = self.settings.seed + self._cycle
        draft = self.calls.generate(order, material, temperature=temperature, max_tokens=max_tokens, seed=seed)
        return ModelText(kind=kind, text=draft.text, writer=self.calls.name, seed=seed)

    def _kept(self, passages: Iterable[AnyRange]) -> list[AnyRange]:
        """The first distinct passages, as many as the settings allow."""
        return distinct(passages)[: self.settings.passages]

    # The trace

    @staticmethod
    def _cycle_of(memory: Memory) -> int:
        return max(len(memory.retrievals), len(memory.drafts)) - 1

    def _begin(self, node: WorkflowNode, cycle: int) -> None:
        self._node, self._cycle, self._started_s = node, cycle, self.clock()

    def _note(
        self,
        decided: str,
        *,
        grade: float | None = None,
        threshold: float | None = None,
        temperature: float | None = None,
        passages: tuple[SentenceRange, ...] = (),
        passage_grades: tuple[float, ...] = (),
        model_text: ModelText | None = None,
        steps: tuple[DraftStep, ...] = (),
    ) -> None:
        """Add a row for the current node, with the cost since the last row."""
        visit = NodeVisit(
            node=self._node,
            cycle=self._cycle,
            decided=decided,
            grade=grade,
            threshold=threshold,
            temperature=temperature,
            cost=self.calls.take_cost().model_copy(update={"seconds": self.clock() - self._started_s}),
            passages=passages,
            passage_grades=passage_grades,
            model_text=model_text,
            steps=steps,
        )
        self.visits.append(visit)


def _places(passages: Iterable[Passage]) -> tuple[SentenceRange, ...]:
    return tuple(passage.place for passage in passages)


def _stepped(temperature: float, step: float) -> float:
    """One step on, rounded; never below 0."""
    return max(round(temperature + step, 1), 0.0)
