"""Finds the passages of the company's documents that answer a question: retrieval that corrects itself by grades.

    router -> retriever | web search -> document grader -> draft -> hallucination grader -> answer grader -> answered
    nothing relevant: rewrite, retrieve.    hallucination: web search, a cooler draft.    no answer: a warmer rewrite.

At each turn the policy chooses to retrieve, draft, answer or escalate (`facts.inquiry.loop`); the nodes of the figure
(`facts.inquiry.nodes`) carry it out; the memory of the case records the result.

Invariant: it ends after at most `max_cycles` further retrievals and drafts, and begins no call that could exceed the
mail's budget; every failure ends in "don't know"; only passages of documents can answer. Checked by
tests/unit/facts/inquiry/test_workflow.py and tests/integration/facts/test_grading.py.

Sources: figure 1 of the paper on advanced RAG for local models: adaptive, corrective and self-reflective RAG as one
graph, with its four passages and its temperatures; LLM-Augmenter (Peng et al. 2023): memory, policy, utility, feedback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support_agent.answer.packet import FoundPage
from support_agent.company.text import collapse
from support_agent.config.facts import GradingSettings
from support_agent.errors import SupportAgentError
from support_agent.facts.graph.open_evidence import Chaining
from support_agent.facts.graph.shown import EntityGraph
from support_agent.facts.inquiry.loop import Inquiry, inquire
from support_agent.facts.inquiry.memory import Ending, Memory, begin, ended
from support_agent.facts.inquiry.nodes import Nodes
from support_agent.facts.inquiry.policy import InquiryLimits, Policy, always
from support_agent.facts.material import Passage, Retriever
from support_agent.facts.spending import Budget, Calls, NoRoom
from support_agent.models.judge import Judge
from support_agent.models.writer import Writer
from support_agent.tools.fact_room import MAX_PAGE_CHARACTERS, MOST_PAGES, FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Cost, SentenceRange

CASE = "-"
"""The case id of a question without a case."""

PolicyFor = Callable[[Judge, InquiryLimits], Policy]
Read = Callable[[SentenceRange], Passage | None]


def retrieve_always(judge: Judge, limits: InquiryLimits) -> Policy:
    """The published policy: retrieve evidence before each draft."""
    return always(limits)


def knows_nothing(pointer: SentenceRange) -> Passage | None:
    """Read no earlier passage: each question starts without evidence."""
    return None


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """The graph, ready for questions.

    Args:
        judge: Gives the grades.
        writer: Writes drafts and rewritten questions.
        retriever: Finds passages of the company's documents.
        web: Finds passages in the web; None: off.
        settings: Thresholds and bounds.
        clock: Monotonic seconds.
        policy: Creates the policy for a question.
        chaining: Creates the chainer that finds the sentences supporting a draft; None: the passages are the evidence.
        read: Reads a passage that an earlier question of the case found; None: it is gone.
        index_version: Identifies the indexed topics and passages, and the graph of their documents.
    """

    judge: Judge
    writer: Writer
    retriever: Retriever
    web: Retriever | None
    settings: GradingSettings
    clock: Callable[[], float]
    policy: PolicyFor = retrieve_always
    chaining: Chaining | None = None
    read: Read = knows_nothing
    index_version: str = ""

    def find(self, question: str, budget: Budget) -> RetrievalResult:
        """Find evidence for a question that belongs to no case; see `retrieve`."""
        return self.retrieve(begin(CASE, question), budget)[0]

    def retrieve(self, memory: Memory, budget: Budget) -> tuple[RetrievalResult, Memory]:
        """Find evidence for the current question. Failures of the model, the index or the web raise nothing.

        Args:
            memory: Of a question that has not ended, in the customer's own words.
            budget: The mail's; the cost is subtracted.
        Returns:
            The finding, and the memory with the question ended.
        """
        nodes = self.nodes(memory, budget)
        inquiry = self._inquire(memory, nodes)
        if inquiry.error is not None:
            nodes.stopped(_decided(inquiry.error))
        sentences = self._sentences(inquiry.memory, nodes)
        return self._finding(inquiry, nodes, sentences), inquiry.memory

    def nodes(self, memory: Memory, budget: Budget) -> Nodes:
        """The nodes for the current question."""
        return Nodes(
            calls=Calls(self.judge, self.writer, budget),
            retriever=self.retriever,
            web=self.web,
            settings=self.settings,
            clock=self.clock,
            read=self.read,
            question=memory.question,
        )

    def _inquire(self, memory: Memory, nodes: Nodes) -> Inquiry:
        try:
            memory = nodes.recall(memory)
        except SupportAgentError as error:
            return Inquiry(ended(memory, Ending.ESCALATED), error)
        return inquire(memory, self.policy(nodes.calls, self.limits), nodes, nodes.choose)

    def _sentences(self, memory: Memory, nodes: Nodes) -> tuple[SentenceRange, ...]:
        """The sentences that support the draft; if there are none, the passages are the evidence."""
        if self.chaining is None or memory.ending is not Ending.ANSWERED or not memory.drafts:
            return ()
        try:
            return nodes.sentences(memory, self.chaining.chainer(nodes.calls, nodes.calls))
        except SupportAgentError as error:
            nodes.stopped(_decided(error))
            return ()

    def entity_graph(self, found: RetrievalResult) -> EntityGraph:
        """The entities of a draft's steps and their surroundings in the documents of the evidence, for people."""
        steps = next((visit.steps for visit in reversed(found.trace) if visit.steps), ())
        if self.chaining is None or not steps:
            return EntityGraph()
        among = frozenset(one.source for one in found.evidence)
        return self.chaining.shown(steps, among)

    @property
    def limits(self) -> InquiryLimits:
        """Most retrievals and drafts, by the settings."""
        most = self.settings.max_cycles + 1
        return InquiryLimits(retrievals=most, drafts=most if self.settings.writes_drafts else 0)

    def _finding(self, inquiry: Inquiry, nodes: Nodes, sentences: tuple[SentenceRange, ...]) -> RetrievalResult:
        memory, trace, reason = inquiry.memory, tuple(nodes.visits), _reason(inquiry)
        last = memory.last_utility
        evidence = nodes.evidence(memory, is_answered=reason is FindingReason.ANSWERED)
        cost = sum((visit.cost for visit in trace), Cost())
        return RetrievalResult(
            reason=reason,
            evidence=tuple(one for one in evidence if one.is_document),
            sentences=sentences,
            pages=tuple(map(_found_page, nodes.pages(evidence)[:MOST_PAGES])),
            grounded=last.supported if last else None,
            answers=last.answers if last else None,
            cycles=max(len(memory.retrievals), len(memory.drafts), 1) - 1,
            index_version=self.index_version,
            tokens=cost.tokens,
            forward_passes=cost.forward_passes,
            seconds=cost.seconds,
            trace=trace,
        )


def _found_page(passage: Passage) -> FoundPage:
    """A web passage for the desk, in one line."""
    text = collapse(passage.text)[:MAX_PAGE_CHARACTERS]
    return FoundPage(address=passage.source, heading=passage.heading, text=text, found_by=passage.found_by)


def _decided(error: SupportAgentError) -> str:
    return "the budget is spent" if isinstance(error, NoRoom) else f"failed: {error.code}"


def _reason(inquiry: Inquiry) -> FindingReason:
    """The reason of the ending, from the memory."""
    memory, last = inquiry.memory, inquiry.memory.last_utility
    if inquiry.error is not None:
        return FindingReason.BUDGET if isinstance(inquiry.error, NoRoom) else FindingReason.FAILED
    if memory.ending is Ending.ANSWERED:
        return FindingReason.ANSWERED
    if not memory.evidence:
        return FindingReason.IRRELEVANT if memory.last_retrieval else FindingReason.POLICY
    if not memory.has_documents:
        return FindingReason.ONLY_WEB
    if last is None or last.is_sound:
        return FindingReason.POLICY
    if last.is_from_web_only:
        return FindingReason.ONLY_WEB
    return FindingReason.NOT_AN_ANSWER if last.is_off_the_question else FindingReason.HALLUCINATION
