"""The planner's loop: each question of the mail gets its calls, until all are answered or handed over.

The model chooses the topic, the period and the form of the answer, by their titles; which pointer goes into which
call follows from the form, so it has no choice there.

Invariant: every call is made through `catalogue.validated`, with a confidence of at least its tool's threshold;
whatever goes wrong ends in `escalate`, never in a guess. Bounds: calls, tokens and seconds a mail, tries a question.
Checked by tests/unit/planner/test_loop.py, and with whims for choices by tests/integration/test_hostile_model.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import structlog

from support_agent.answer.final_answer import Answer, Item, says_the_same
from support_agent.company.periods import has_inexpressible_period, is_readable, mentioned_periods, without_now
from support_agent.errors import SupportAgentError, ToolCallRejected
from support_agent.model import Model, Usage
from support_agent.planner.choice import ARGUMENT_WEIGHTS, WEIGHTS, Choice, Chooser, Option, Vote
from support_agent.planner.forms import Form, forms_for
from support_agent.planner.neighbours import asked_in
from support_agent.planner.plan import Call, Plan, Status
from support_agent.planner.topics import topic_option
from support_agent.settings import PlannerSettings
from support_agent.tools.base import Added, Context, Ended, Kind, Pointed, Result
from support_agent.tools.catalogue import TOOLS, validated
from support_agent.tools.ending import Reason
from support_agent.tools.facts import likely_document

MOST_PERIODS = 2
"""A question that names more goes to a person: none of them is dropped silently."""
USUAL_PERIODS = ("all_time", "this_year", "last_year", "this_month", "last_month")
"""On the list beside the periods a question names."""
PERIOD_WORDS = {
    "all_time": "all the time since the start",
    "this_year": "this year",
    "last_year": "last year",
    "this_quarter": "this quarter",
    "last_quarter": "last quarter",
    "this_month": "this month",
    "last_month": "last month",
}
ENDS = {
    "level": Reason.LEVEL,
    "no_data": Reason.NO_DATA,
    "zero": Reason.NO_DATA,
    "units": Reason.NO_DATA,
    "not_valid": Reason.NOT_COVERED,
    "no_evidence": Reason.NO_EVIDENCE,
}
"""A call that is rejected with one of these codes ends its question; another topic would not answer it."""
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
log = structlog.get_logger(__name__)
Arguments = Mapping[str, str | int | bool]


class _Stop(Exception):
    """The question, or with `whole_mail` every one that is left, goes to a person."""

    def __init__(self, reason: Reason, *, whole_mail: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.whole_mail = whole_mail


class Planner:
    """Plans mails with a model; keeps nothing of one mail for the next."""

    def __init__(self, model: Model, limits: PlannerSettings, clock: Callable[[], float]) -> None:
        self._chooser = Chooser(model)
        self._model = model
        self._limits = limits
        self._clock = clock

    def plan(self, context: Context) -> Plan:
        """Choose and carry out the calls for `context.questions`. Never raises for what the model or a tool does."""
        work = _Work(self._chooser, self._limits, self._clock, context)
        work.run()
        return Plan(
            outcome="answer" if work.answers else "escalate",
            reason=work.reasons[0].value if work.reasons else None,
            asked=len(work.answers) + len(work.reasons),
            questions=context.questions,
            answers=tuple(work.answers),
            calls=tuple(work.calls),
            usage=work.usage,
            seconds=self._clock() - work.started_at,
            model=self._model.name,
            combiner=f"{WEIGHTS.version} {ARGUMENT_WEIGHTS.version}",
        )


class _Work:
    """The plan of one mail while it is made."""

    def __init__(self, chooser: Chooser, limits: PlannerSettings, clock: Callable[[], float], context: Context) -> None:
        self.chooser = chooser
        self.limits = limits
        self.clock = clock
        self.context = context
        self.started_at = self.recorded_at = clock()
        self.calls: list[Call] = []
        self.answers: list[Answer] = []
        self.reasons: list[Reason] = []
        self.usage = Usage()
        self.considered: tuple[Vote, ...] = ()
        """The votes on the topic of the question in hand, for whoever reads why it was handed over."""

    def run(self) -> None:
        """Every question in turn; then `finish`."""
        for number in range(1, len(self.context.questions) + 1):
            self.context.question = number
            self.considered = ()
            try:
                if number > self.limits.max_questions:
                    raise _Stop(Reason.LIMIT)
                item = self._answer()
                self._check_not_sent(item)
            except _Stop as stop:
                self._end("escalate", {"reason": stop.reason.value}, self.considered)
                self.reasons.append(stop.reason)
                if stop.whole_mail:
                    self.reasons += [stop.reason] * (len(self.context.questions) - number)
                    return
            else:
                if item is not None and Answer(items=(item,)) not in self.answers:
                    self.answers.append(Answer(items=(item,)))
        self._end("finish", {}, ())

    def _check_not_sent(self, item: Item | None) -> None:
        """What was answered already, to the last value, did not help, or a machine asks (RFC 3834, section 2)."""
        if item is None:
            return
        same = (sent for sent in self.context.sent if any(says_the_same(item, one) for one in sent.answer.items))
        if (earlier := next(same, None)) is not None:
            self.context.repeated.append(earlier)
            raise _Stop(Reason.REPEATED)

    def _answer(self) -> Item | None:
        """The item that answers the question in hand, after a bounded number of repairs.

        A call that a tool rejects is taken off the list and the model chooses again.
        """
        refused: set[str] = set()
        for _ in range(self.limits.max_repairs + 1):
            choice = self._guarded(lambda: self._topic(refused))
            try:
                return self._carry_out(choice)
            except ToolCallRejected as error:
                if error.code in ENDS:
                    raise _Stop(ENDS[error.code]) from error
                refused.add(choice.key)
        raise _Stop(Reason.TOOL_FAILED)

    def _topic(self, refused: set[str]) -> Choice:
        """Which document, account value or series answers the question."""
        number = self.context.question
        if number not in self.context.found:
            self._call("find_documents", {"question": number}, 1.0, ())
        options = [
            topic_option(match, self.context)
            for match in self.context.found[number][: self.limits.shortlist]
            if match.topic not in refused
        ]
        if not options:
            raise _Stop(Reason.NOT_COVERED)
        choice = self._spend(self.chooser.topic(self.context.current_question, options, self.limits.threshold_answer))
        self.considered = choice.votes
        return choice

    def _carry_out(self, choice: Choice) -> Item:
        kind, _, name = choice.key.partition(":")
        match kind:
            case "document":
                self._look(int(name), choice)
                return self._send("send_document", {"number": int(name)}, choice.probability, choice.votes)
            case "field":
                self._check_field_question()
                return self._send("send_account_field", {"field": name}, choice.probability, choice.votes)
            case "series":
                return self._series(name, choice)
            case _:
                clarification = self._clarification(choice)
                if clarification is not None:
                    return clarification
                raise _Stop(Reason.NOT_COVERED)

    def _look(self, document: int, choice: Choice) -> None:
        """Have the fact room look into a document before it is sent, where it does not know yet whether that answers.

        What answers may be what the case knew already, or another document.
        """
        context, number = self.context, self.context.question
        if context.room is None or choice.probability < self.limits.threshold_answer:
            return
        finding = context.findings.get(number)
        is_known = finding is not None and bool(finding.sentences_of(document))
        is_refused = finding is not None and not finding.is_answered and likely_document(context, number) == document
        if document in context.sendable and not (is_known or is_refused):
            self._call("find_evidence", {"question": number, "number": document}, 1.0, ())

    def _check_field_question(self) -> None:
        """A field has the value of now and of the sender: a question about another time goes to a person.

        Times beside what is asked ("I decide before the end of the month") are not asked about.
        """
        whole, today = self.context.current_question, self.context.today
        question = without_now(" ".join(asked_in(whole)) or whole)
        is_past = any(self.context.periods[name].last < today for name in mentioned_periods(question, today))
        if is_past or has_inexpressible_period(question, today):
            raise _Stop(Reason.NOT_COVERED)
        self._check_person()

    def _check_person(self) -> None:
        """Whose values they are is not for the mail to say."""
        customer = self.context.customer
        own = customer.address.lower() if customer else ""
        if any(found.lower() != own for found in ADDRESS.findall(self.context.current_question)):
            raise _Stop(Reason.NOT_COVERED)

    def _series(self, series: str, topic: Choice) -> Item:
        """Fetch, shape and send rows of a series: the model chooses the period and the form.

        A period named in a language that is not read would look like none, so a person gets it.
        """
        question = self.context.current_question
        self._check_person()
        if has_inexpressible_period(question, self.context.today):
            raise _Stop(Reason.NOT_COVERED)
        named = mentioned_periods(question, self.context.today)
        if len(named) > MOST_PERIODS or not (named or is_readable(question)):
            raise _Stop(Reason.NOT_COVERED)
        form_choice = self._guarded(lambda: self._form(question, len(named)))
        form = next(form for form in forms_for(question, len(named)) if form.key == form_choice.key)
        sure = topic.probability * form_choice.probability
        if form.periods == 2:
            return self._two_periods(series, form, named, sure, (*topic.votes, *form_choice.votes))
        period = self._guarded(lambda: self._period(question, named))
        sure *= period.probability
        fetched = self._call(
            "fetch_series", {"series": series, "period": period.key}, sure, (*topic.votes, *period.votes)
        )
        return self._shape(form, self._pointer(fetched), sure, form_choice.votes)

    def _shape(self, form: Form, pointer: str, sure: float, votes: tuple[Vote, ...]) -> Item:
        for tool, arguments in form.calls:
            filled = {name: pointer if value == "@" else value for name, value in arguments}
            result = self._call(tool, filled, sure, votes)
            if isinstance(result, Added):
                return result.item
            pointer = self._pointer(result)
        raise _Stop(Reason.TOOL_FAILED)

    def _two_periods(
        self, series: str, form: Form, named: tuple[str, ...], sure: float, votes: tuple[Vote, ...]
    ) -> Item:
        sides = []
        for period in named:
            fetched = self._call("fetch_series", {"series": series, "period": period}, sure, votes)
            pointer = self._pointer(fetched)
            total = self._call("aggregate", {"pointer": pointer, "aggregation": "total"}, sure, votes)
            sides.append(self._pointer(total))
        calculation = {"operation": form.operation, "left": sides[0], "right": sides[1]}
        joined = self._call("calculate", calculation, sure, votes)
        return self._send("send_aggregate", {"pointer": self._pointer(joined)}, sure, votes)

    def _period(self, question: str, named: tuple[str, ...]) -> Choice:
        keys = list(dict.fromkeys([*named, *USUAL_PERIODS])) if not named else list(named)
        options = [
            Option(
                key=key, title=PERIOD_WORDS.get(key, key), mentioned=1.0 if key in named else 0.5 * (key == "all_time")
            )
            for key in keys
        ]
        return self._spend(self.chooser.argument(question, "Which period does the customer ask about?", options))

    def _form(self, question: str, period_count: int) -> Choice:
        options = [
            Option(key=form.key, title=form.title, mentioned=float(form.is_mentioned_in(question)))
            for form in forms_for(question, period_count)
        ]
        return self._spend(
            self.chooser.argument(question, "What does the customer want to know of the numbers?", options)
        )

    def _clarification(self, choice: Choice) -> Item | None:
        """A canned question, where the customer must mean one of a few documents and did not say which."""
        for number, canned in self.context.clarifications.items():
            keys = {f"document:{document}" for document in canned.between}
            together = sum(vote.probability for vote in choice.votes if vote.key in keys)
            if len(keys) > 1 and together >= self.limits.threshold_answer:
                return self._send("ask_clarification", {"number": number}, together, choice.votes)
        return None

    def _send(self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...]) -> Item:
        result = self._call(tool, arguments, sure, votes)
        if isinstance(result, Added):
            return result.item
        raise _Stop(Reason.TOOL_FAILED)

    def _call(self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...]) -> Result:
        """Carry out one call, if it is sure enough, and record it either way."""
        self._check_limits()
        if not sure >= self._threshold(tool):  # a NaN is not sure either
            self._record(tool, arguments, sure, votes, "below_threshold", "")
            raise _Stop(Reason.UNSURE)
        try:
            result = validated(tool, arguments, self.context).run(self.context)
        except ToolCallRejected as error:
            self._record(tool, arguments, sure, votes, "rejected", str(error))
            raise
        except SupportAgentError as error:
            self._record(tool, arguments, sure, votes, "failed", f"{error.code}: {error}")
            raise _Stop(Reason.TOOL_FAILED) from error
        self._record(tool, arguments, sure, votes, "done", _shown(result))
        return result

    def _end(self, tool: str, arguments: Arguments, votes: tuple[Vote, ...]) -> None:
        result = validated(tool, arguments, self.context).run(self.context)
        self._record(tool, arguments, 1.0, votes, "done", _shown(result))

    def _record(
        self, tool: str, arguments: Arguments, sure: float, votes: tuple[Vote, ...], status: Status, result: str
    ) -> None:
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
            case Kind.ANSWER:
                return self.limits.threshold_answer
            case Kind.DATA:
                return self.limits.threshold_data
            case Kind.FACT | Kind.ENDING:
                return 0.0

    def _guarded(self, choose: Callable[[], Choice]) -> Choice:
        """A choice of the model; whatever it does wrong ends in a person's hands, after the bounded tries."""
        for _ in range(self.limits.max_repairs + 1):
            self._check_limits()
            try:
                return choose()
            except ToolCallRejected:
                continue
            except SupportAgentError as error:
                log.error("model_failed", code=error.code, error=str(error))
                raise _Stop(Reason.MODEL_FAILED, whole_mail=True) from error
        raise _Stop(Reason.MODEL_FAILED)

    def _spend(self, choice: Choice) -> Choice:
        self.usage = self.usage + choice.usage
        return choice

    def _check_limits(self) -> None:
        if (
            len(self.calls) >= self.limits.max_calls
            or self.usage.tokens >= self.limits.max_tokens
            or self.clock() - self.started_at >= self.limits.max_s
        ):
            raise _Stop(Reason.LIMIT, whole_mail=True)

    @staticmethod
    def _pointer(result: Result) -> str:
        if isinstance(result, Pointed):
            return result.pointer
        raise _Stop(Reason.TOOL_FAILED)


def _shown(result: Result) -> str:
    match result:
        case Added(item=item):
            return f"added {item.kind}"
        case Pointed(pointer=pointer, description=description):
            return f"{pointer}: {description}"
        case Ended(reason=reason):
            return reason or "finished"
