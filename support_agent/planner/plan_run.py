"""Plans one mail: limits, thresholds, checks of a question and the record of each call.

Two modes build on it: in `planner.loop` the calls follow from a form, in `planner.composing` the model composes them.

Invariant: every call is made through `catalogue.validated`, with a confidence of at least its tool's threshold, and is
recorded even if it was not made. Checked by tests/unit/planner/test_loop.py and tests/unit/planner/test_composing.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

import structlog

from support_agent.answer.final_answer import Answer, FieldItem, Item, RecordItem, with_answer
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.repetition import sent_before
from support_agent.company.front_matter import DocumentDelivery
from support_agent.company.periods.recognition import (
    has_inexpressible_period,
    is_readable,
    mentioned_periods,
    without_now,
)
from support_agent.config.settings import PlannerSettings
from support_agent.errors import SupportAgentError, ToolCallRejected, TransientError
from support_agent.models.language_model import Usage
from support_agent.planner.answer_content import content_of
from support_agent.planner.choice import NONE_KEY, Choice, Chooser, Option, Vote, is_clear
from support_agent.planner.forms import aggregate_asked_for
from support_agent.planner.identifiers import FoundIdentifier
from support_agent.planner.plan import Call, Status
from support_agent.planner.qualifiers import missing_qualifier, negated_wish
from support_agent.planner.questions import asked_in
from support_agent.planner.record_choice import Records, columns_of
from support_agent.planner.segments import asks
from support_agent.planner.topics import topic_option
from support_agent.tools.base import Added, Context, Match, Pointed, Qualifier, Result, ToolKind, shown
from support_agent.tools.catalogue import TOOLS, validated
from support_agent.tools.ending import Reason
from support_agent.tools.excerpts import choose_sections
from support_agent.tools.facts import likely_document

MOST_PERIODS = 2
"""A question that names more goes to a person, so that no period is dropped silently."""
USUAL_PERIODS = ("all_time", "this_year", "last_year", "this_month", "last_month")
"""Offered when a question names no period."""
PERIOD_WORDS = {
    "all_time": "all the time since the start",
    "this_year": "this year",
    "last_year": "last year",
    "this_quarter": "this quarter",
    "last_quarter": "last quarter",
    "this_month": "this month",
    "last_month": "last month",
}
TOPIC_KINDS = {
    "send_document": "document",
    "send_account_field": "field",
    "send_table": "series",
    "send_aggregate": "series",
    "send_record": "record",
}
"""The kind of topic that each of these tools answers about; thresholds are calibrated by kind."""
log = structlog.get_logger(__name__)
Arguments = Mapping[str, str | int | bool]
T = TypeVar("T")


class Stop(Exception):
    """The question goes to a person; with `whole_mail`, all remaining questions do."""

    def __init__(self, reason: Reason, *, whole_mail: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.whole_mail = whole_mail


class PlanRun(ABC):
    """One mail while it is planned; the subclasses decide how a question is answered."""

    def __init__(self, chooser: Chooser, limits: PlannerSettings, clock: Callable[[], float], context: Context) -> None:
        self.chooser = chooser
        self.limits = limits
        self.clock = clock
        self.context = context
        self.started_at = self.recorded_at = clock()
        self.calls: list[Call] = []
        self.answers: tuple[Answer, ...] = ()
        self.answered = 0
        self.reasons: list[Reason] = []
        self.usage = Usage()
        self.records = Records(context, limits.max_records)
        self.named: tuple[FoundIdentifier, ...] = ()
        """The records that the current question names, whether or not they are the customer's."""
        self.considered: tuple[Vote, ...] = ()
        """The votes on the topic of the current question; they explain an escalation."""
        self.looked_up = set[int]()
        """The questions whose nearest topics are recorded."""

    @abstractmethod
    def _answer(self) -> tuple[Item, ...]:
        """The items that answer the current question, 1..n.

        Raises:
            Stop: a person must answer it.
        """

    def run(self) -> None:
        """Plan each question in turn, then call `finish`."""
        for number in range(1, len(self.context.questions) + 1):
            self.context.question = number
            self.considered = ()
            try:
                if number > self.limits.max_questions:
                    raise Stop(Reason.LIMIT)
                self.named = self.records.named()
                if any(one.outcome == "unknown" for one in self.named):
                    raise Stop(self.records.unknown)
                answer = Answer(items=self._answer())
                self._check_not_sent(answer)
            except Stop as stop:
                self._end("escalate", {"reason": stop.reason.value}, self.considered)
                self.reasons.append(stop.reason)
                if stop.whole_mail:
                    self.reasons += [stop.reason] * (len(self.context.questions) - number)
                    return
            else:
                self.answers = with_answer(self.answers, answer)
                self.answered += 1
        self._end("finish", {}, ())

    def _check_not_sent(self, answer: Answer) -> None:
        """Escalate an answer that was sent before."""
        if (earlier := sent_before(answer, self.context.sent)) is not None:
            self.context.repeated.append(earlier)
            raise Stop(Reason.REPEATED)

    def shortlist(self) -> list[Option]:
        """The likeliest topics for the current question as the model sees them, the likeliest first."""
        matches = self._nearest()
        chances = self.chooser.without_model(matches).chances[:-1]
        ranked = sorted(zip(chances, matches, strict=True), key=lambda pair: -pair[0])[: self.limits.shortlist]
        documents, accounts = self.context.documents, self.context.accounts
        options = [topic_option(match.topic, documents, accounts) for _, match in ranked]
        return self.records.options(options, self.named)

    def _nearest(self) -> tuple[Match, ...]:
        """The nearest topics for the current question; they are searched once."""
        context = self.context
        if context.question not in context.found:
            try:
                context.found[context.question] = context.search.nearest(context.current_question)
            except SupportAgentError:
                self._find_documents()  # fails in the same way, and is recorded
        return context.found[context.question]

    def topic(self, options: Sequence[Option], excluded: Collection[str] = ()) -> Choice:
        """Choose the topic that answers the question, or none.

        Args:
            options: The shortlist without the excluded topics.
            excluded: Topics that may not be chosen.
        Raises:
            Stop: there are no options.
        """
        if not options:
            self._find_documents()
            raise Stop(Reason.NOT_COVERED)
        found = self.context.found[self.context.question]
        unfound = {option.key for option in options} - {match.topic for match in found}
        matches = [match for match in found if match.topic not in excluded]
        matches += [Match(topic=topic, score=0.0) for topic in sorted(unfound)]
        question, least = self.context.current_question, self.limits.threshold_answer
        self._find_documents(choice := self._count_usage(self.chooser.topic(question, matches, options, least)))
        return choice

    def _find_documents(self, choice: Choice | None = None) -> None:
        """Record once what is near the question; the fact room retrieves evidence unless it is settled."""
        if self.context.question not in self.looked_up:
            self.looked_up.add(self.context.question)
            if choice is not None and self.context.room is not None and not self.context.always_retrieves:
                self._settle(choice)
            self.call("find_documents", {"question": self.context.question}, 1.0, ())

    def _settle(self, choice: Choice) -> None:
        """Record a choice that needs no evidence: a clear one, and if it is a document, with a clear section.

        A question that no topic answers goes to a person, who knows the documents: only the web could add to them.
        """
        context = self.context
        kind, _, name = choice.key.partition(":")
        is_clearly_one = choice.key != NONE_KEY and is_clear(choice.probability, self.threshold_for(kind))
        if is_clearly_one and kind == "document":
            is_clearly_one = int(name) in context.sendable and self._is_section_clear(int(name))
        if is_clearly_one or (choice.key == NONE_KEY and not context.searches_web):
            context.settled[context.question] = choice.key

    def _is_section_clear(self, number: int) -> bool:
        """Whether it is clear which sections to send; a whole document or a link needs no choice."""
        context, document = self.context, self.context.version_sent(number)
        if document.head.delivery is not DocumentDelivery.EXCERPT:
            return True
        try:
            chances = context.search.sections(context.current_question, document)
        except SupportAgentError as error:  # sending the document fails in the same way and reports it
            log.error("clear_section_unknown", code=error.code, error=str(error))
            return False
        return is_clear(choose_sections(document, chances, context.least_section).probability, context.least_section)

    def threshold_for(self, kind: str) -> float:
        """The probability that an answer about this kind of topic needs: calibrated for the company, or configured."""
        return self.chooser.calibration.thresholds.get(kind, self.limits.threshold_answer)

    def retrieve_evidence(self, document: int, sure: float) -> None:
        """Let the fact room retrieve evidence from a document before it is sent.

        Skipped if the fact room has already judged this document, or if its choice is sure without.

        Args:
            sure: The topic's probability.
        """
        context, number = self.context, self.context.question
        if context.room is None or not sure >= self.threshold_for("document") or document not in context.sendable:
            return
        finding = context.findings.get(number)
        is_known = finding is not None and bool(finding.sentences_of(document))
        is_refused = finding is not None and not finding.is_answered and likely_document(context, number) == document
        if not (is_known or is_refused or context.settled.get(number) == f"document:{document}"):
            self.call("find_evidence", {"question": number, "number": document}, 1.0, ())

    def check_field_question(self) -> None:
        """Escalate a question about another time: a field only has the sender's current value.

        Only sentences that ask count; "I decide before the end of the month" asks about no time.
        """
        whole, today = self.context.current_question, self.context.today
        question = without_now(" ".join(asked_in(whole, self.context.search.read)))
        is_past = any(self.context.periods[name].last < today for name in mentioned_periods(question, today))
        if is_past or has_inexpressible_period(question, today) or self.context.names_moved_period(question):
            raise Stop(Reason.NOT_COVERED)

    def check_series_question(self) -> tuple[str, ...]:
        """The periods that a question about a series names, at most `MOST_PERIODS`.

        Questions in an unsupported language are escalated, because a period in them would go unnoticed.
        """
        question = self.context.current_question
        if has_inexpressible_period(question, self.context.today) or self.context.names_moved_period(question):
            raise Stop(Reason.NOT_COVERED)
        named = mentioned_periods(question, self.context.today)
        if len(named) > MOST_PERIODS or not (named or is_readable(question)):
            raise Stop(Reason.NOT_COVERED)
        return named

    def record_items(self, kind: str, topic: Choice) -> tuple[Item, ...]:
        """Send columns of the records in question, or ask the customer which record is meant."""
        wanted = self.records.selected(kind, self.named)
        if wanted.clarification is not None:
            return (self.send("ask_clarification", {"number": wanted.clarification}, topic.probability, topic.votes),)
        if not wanted.identifiers:
            raise Stop(wanted.reason)
        if not self.named:
            self.check_field_question()
        choice = self.guarded(lambda: self._count_usage(self.records.column(kind, self.chooser)))
        columns, sure = columns_of(choice, topic.probability, self.threshold_for("record"))
        if not columns:
            raise Stop(Reason.UNSURE)
        items, votes = list[Item](), (*topic.votes, *choice.votes)
        for identifier in wanted.identifiers:
            fetched = self.call("fetch_record", {"records": kind, "id": identifier}, sure, votes)
            sent = ({"pointer": self.pointer(fetched), "column": column} for column in columns)
            items += [self.send("send_record", arguments, sure, votes) for arguments in sent]
        return tuple(items)

    def send(self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...]) -> Item:
        """Call an answer tool and return its item."""
        result = self.call(tool, arguments, sure, votes)
        if isinstance(result, Added):
            return result.item
        raise Stop(Reason.TOOL_FAILED)

    @staticmethod
    def pointer(result: Result) -> str:
        """The pointer that a data call returned."""
        if isinstance(result, Pointed):
            return result.pointer
        raise Stop(Reason.TOOL_FAILED)

    def call(self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...]) -> Result:
        """Make one call if it is sure enough, and record it either way."""
        self._check_limits()
        if not sure >= self._threshold(tool):  # a NaN is not sure either
            self.record(tool, arguments, sure, votes, "below_threshold", "")
            raise Stop(Reason.UNSURE)
        try:
            result = validated(tool, arguments, self.context).run(self.context)
        except ToolCallRejected as error:
            self.record(tool, arguments, sure, votes, "rejected", str(error))
            raise
        except SupportAgentError as error:
            self.record(tool, arguments, sure, votes, "failed", f"{error.code}: {error}")
            raise Stop(Reason.TOOL_FAILED) from error
        if isinstance(result, Added) and (found := self._missing_qualifier(result.item)):
            self.record(tool, arguments, sure, votes, "rejected", f"the item does not mention {found.text!r}")
            raise Stop(Reason.BESIDE)
        self.record(tool, arguments, sure, votes, "done", shown(result))
        return result

    def _missing_qualifier(self, item: Item) -> Qualifier | None:
        """A qualifier of the question that the item lacks: a true item would then answer another question."""
        context, read = self.context, self.context.search.read
        content = content_of(item, context, self.other_content(item))
        question, asking = context.current_question, partial(asks, read=read)
        found = missing_qualifier(question, context.subject, content, asking) if content else None
        found = found or negated_wish(question, context.questions, KINDS[item.kind].keys(item)[0], read)
        if found is None and isinstance(item, FieldItem):
            spec = context.accounts.fields[item.field]
            own = (spec.label_for("en"), spec.summary, *spec.questions)
            found = aggregate_asked_for(question, own, context.search)
        context.missing_qualifiers += [found] if found else []
        return found

    def other_content(self, item: Item) -> list[str]:
        """Content of the answer's other items: each of several named records gets an item of its own."""
        return [found.written for found in self.named if isinstance(item, RecordItem)]

    def _end(self, tool: str, arguments: Arguments, votes: tuple[Vote, ...]) -> None:
        result = validated(tool, arguments, self.context).run(self.context)
        self.record(tool, arguments, 1.0, votes, "done", shown(result))

    def record(
        self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...], status: Status, result: str
    ) -> None:
        """Record a call, made or not, with the seconds since the previous one."""
        now = self.clock()
        self.calls.append(
            Call(
                question=self.context.question,
                tool=tool,
                args=dict(arguments),
                confidence=sure,
                threshold=self._threshold(tool),
                considered=votes,
                status=status,
                result=result,
                usage=self.usage,
                seconds=now - self.recorded_at,
            )
        )
        self.recorded_at = now

    def _threshold(self, tool: str) -> float:
        match TOOLS[tool].kind:
            case ToolKind.ANSWER:
                return self.threshold_for(TOPIC_KINDS.get(tool, ""))
            case ToolKind.DATA:
                return self.limits.threshold_data
            case ToolKind.FACT | ToolKind.ENDING:
                return 0.0

    def guarded(self, choose: Callable[[], T]) -> T:
        """Run a choice of the model with bounded retries; after the last failure a person gets the question.

        Raises:
            TransientError: the model did not answer, or its server failed; the step of the journey is tried again.
        """
        for _ in range(self.limits.max_repairs + 1):
            self._check_limits()
            try:
                return choose()
            except ToolCallRejected:
                continue
            except TransientError:
                raise
            except SupportAgentError as error:
                log.error("model_failed", code=error.code, error=str(error))
                raise Stop(Reason.MODEL_FAILED, whole_mail=True) from error
        raise Stop(Reason.MODEL_FAILED)

    def _count_usage(self, choice: Choice) -> Choice:
        self.usage = self.usage + choice.usage
        return choice

    def _check_limits(self) -> None:
        if (
            len(self.calls) >= self.limits.max_calls
            or self.usage.tokens >= self.limits.max_tokens
            or self.clock() - self.started_at >= self.limits.max_s
        ):
            raise Stop(Reason.LIMIT, whole_mail=True)


def clarification_probability(number: int, context: Context, votes: Sequence[Vote]) -> float:
    """How likely the answer is one of the documents that a canned question distinguishes; 0 if there are none."""
    keys = {f"document:{document}" for document in context.clarifications[number].between}
    return sum(vote.probability for vote in votes if vote.key in keys) if len(keys) > 1 else 0.0
