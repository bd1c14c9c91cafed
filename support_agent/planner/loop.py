"""Plans each question of a mail until all are answered or escalated.

The model chooses the topic, the period and the form of the answer by their titles, unless the other votes have already
decided. The form determines the calls and their pointers. With `planner.mode = "tools"` the model composes the calls
itself, in `planner.composing`.

Invariant: every call is made through `catalogue.validated`, with a confidence of at least its tool's threshold;
every failure ends in `escalate`, never in a guess. Calls, tokens and seconds are bounded per mail, tries per question.
Checked by tests/unit/planner/test_loop.py, and with random choices by tests/integration/test_hostile_model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from support_agent.answer.final_answer import Item
from support_agent.config.settings import PlannerSettings
from support_agent.errors import SupportAgentError, ToolCallRejected
from support_agent.models.language_model import Model, Usage
from support_agent.planner.choice import ARGUMENT_VERSION, NONE_KEY, Choice, Chooser, Option, Vote
from support_agent.planner.combiner import Calibration, Combiner
from support_agent.planner.composers import composer_for
from support_agent.planner.composing import COMPOSING_VERSION, ComposedRun
from support_agent.planner.forms import LISTED, NO_FORM, SURE_FORM, Form, are_several, forms_for, votes_for
from support_agent.planner.plan import Plan
from support_agent.planner.plan_run import PERIOD_WORDS, USUAL_PERIODS, PlanRun, Stop, clarification_probability, log
from support_agent.planner.qualifiers import QUALIFIERS_VERSION
from support_agent.planner.splitting import SURE, MailPart, split_question
from support_agent.tools.base import Added, Context
from support_agent.tools.ending import REASON_BY_CODE, Reason


class Planner:
    """Plans mails with a model; keeps no state between mails."""

    def __init__(
        self,
        model: Model,
        limits: PlannerSettings,
        clock: Callable[[], float],
        *,
        combiner: Combiner,
        calibration: Calibration | None = None,
    ) -> None:
        self._chooser = Chooser(model, combiner, calibration=calibration, model_votes=limits.model_votes)
        self._composer = composer_for(model, limits.model_votes)
        self._model = model
        self._limits = limits
        self._clock = clock

    def plan(self, context: Context) -> Plan:
        """Choose and carry out the calls for `context.questions`.

        Raises:
            TransientError: the model does not answer now. Any other fault of the model escalates the mail; a tool that
                fails, also for now, escalates its question.
        """
        run = self._run_for(context)
        run.run()
        return Plan(
            outcome="answer" if run.answers else "escalate",
            reason=run.reasons[0].value if run.reasons else None,
            asked=run.answered + len(run.reasons),
            answered=run.answered,
            questions=context.questions,
            answers=run.answers,
            calls=tuple(run.calls),
            usage=run.usage,
            seconds=self._clock() - run.started_at,
            model=self._model.name,
            combiner=self._combiner(),
        )

    def _run_for(self, context: Context) -> PlanRun:
        match self._limits.mode:
            case "guided":
                return _GuidedRun(self._chooser, self._limits, self._clock, context)
            case "tools":
                return ComposedRun(self._composer, self._chooser, self._limits, self._clock, context)
            case never:
                assert_never(never)

    def _combiner(self) -> str:
        versions = [self._chooser.combiner.version, ARGUMENT_VERSION, QUALIFIERS_VERSION]
        versions += [COMPOSING_VERSION] if self._limits.mode == "tools" else []
        return " ".join([*versions, *filter(None, [self._chooser.calibration.version])])


class _GuidedRun(PlanRun):
    """Guided mode: the model chooses topic, period and form, which determine the calls."""

    def run(self) -> None:
        """Split questions that ask for two things, note the doubtful parts, then plan each question."""
        self.doubtful = set[int]()
        are_few = len(self.context.questions) <= self.limits.max_questions
        parts = [part for question in self.context.questions for part in self._parts(question)] if are_few else []
        if 0 < len(parts) <= self.limits.max_questions:
            self.context.questions = tuple(part.text for part in parts)
            self.doubtful = {number for number, part in enumerate(parts, 1) if not part.is_sure}
        super().run()

    def _parts(self, question: str) -> tuple[MailPart, ...]:
        try:
            return split_question(
                question, self._chances, self.context.search.read, self.limits.threshold_answer, self.context.today
            )
        except SupportAgentError as error:  # searching the question fails in the same way and reports it
            log.error("question_not_split", code=error.code, error=str(error))
            return (MailPart(question),)

    def _chances(self, text: str) -> Mapping[str, float]:
        matches = self.context.search.nearest(text)
        chances = self.chooser.without_model(matches).chances
        return dict(zip([*(match.topic for match in matches), NONE_KEY], chances, strict=True))

    def _answer(self) -> tuple[Item, ...]:
        """The items that answer the current question.

        If a tool rejects a call, its topic is removed from the shortlist and the model chooses again, a bounded number
        of times.
        """
        refused: set[str] = set()
        for _ in range(self.limits.max_repairs + 1):
            choice = self.guarded(lambda: self._topic_without(refused))
            self.considered = choice.votes
            if self.context.question in self.doubtful and choice.probability < SURE:
                raise Stop(Reason.UNSURE)
            try:
                return self._carry_out(choice)
            except ToolCallRejected as error:
                if error.code in REASON_BY_CODE:
                    raise Stop(REASON_BY_CODE[error.code]) from error
                refused.add(choice.key)
        raise Stop(Reason.TOOL_FAILED)

    def _topic_without(self, refused: set[str]) -> Choice:
        return self.topic([option for option in self.shortlist() if option.key not in refused], refused)

    def _carry_out(self, choice: Choice) -> tuple[Item, ...]:
        kind, _, name = choice.key.partition(":")
        if self.named and kind != "record":  # a true answer, but not about the named record
            raise Stop(Reason.NOT_COVERED)
        match kind:
            case "document":
                self.retrieve_evidence(int(name), choice.probability)
                return (self.send("send_document", {"number": int(name)}, choice.probability, choice.votes),)
            case "field":
                self.check_field_question()
                return (self.send("send_account_field", {"field": name}, choice.probability, choice.votes),)
            case "series":
                return (self._series(name, choice),)
            case "record":
                return self.record_items(name, choice)
            case _:
                if (clarification := self._clarification(choice)) is not None:
                    return (clarification,)
                raise Stop(Reason.NOT_COVERED)

    def _series(self, series: str, topic: Choice) -> Item:
        """Fetch, transform and send rows of a series; the model chooses the period and the form."""
        question = self.context.current_question
        named = self.check_series_question()
        form_choice = self.guarded(lambda: self._form(question, len(named)))
        form = next(form for form in forms_for(len(named)) if form.key == form_choice.key)
        sure = topic.probability * form_choice.probability
        if form.periods == 2:
            return self._two_periods(series, form, named, sure, (*topic.votes, *form_choice.votes))
        period = self.guarded(lambda: self._period(question, named))
        sure *= period.probability
        fetched = self.call(
            "fetch_series", {"series": series, "period": period.key}, sure, (*topic.votes, *period.votes)
        )
        return self._shape(form, self.pointer(fetched), sure, form_choice.votes)

    def _shape(self, form: Form, pointer: str, sure: float, votes: tuple[Vote, ...]) -> Item:
        for tool, arguments in form.calls:
            filled = {name: pointer if value == "@" else value for name, value in arguments}
            result = self.call(tool, filled, sure, votes)
            if isinstance(result, Added):
                return result.item
            pointer = self.pointer(result)
        raise Stop(Reason.TOOL_FAILED)

    def _two_periods(
        self, series: str, form: Form, named: tuple[str, ...], sure: float, votes: tuple[Vote, ...]
    ) -> Item:
        sides = []
        for period in named:
            fetched = self.call("fetch_series", {"series": series, "period": period}, sure, votes)
            pointer = self.pointer(fetched)
            total = self.call("aggregate", {"pointer": pointer, "aggregation": "total"}, sure, votes)
            sides.append(self.pointer(total))
        calculation = {"operation": form.operation, "left": sides[0], "right": sides[1]}
        joined = self.call("calculate", calculation, sure, votes)
        return self.send("send_aggregate", {"pointer": self.pointer(joined)}, sure, votes)

    def _period(self, question: str, named: tuple[str, ...]) -> Choice:
        options = [
            Option(
                key=key, title=PERIOD_WORDS.get(key, key), mentioned=1.0 if key in named else 0.5 * (key == "all_time")
            )
            for key in named or USUAL_PERIODS
        ]
        return self._count_usage(self.chooser.argument(question, "Which period does the customer ask about?", options))

    def _form(self, question: str, period_count: int) -> Choice:
        """The form that the vote is sure of; otherwise the model picks among the likeliest, in their usual order.

        Raises:
            Stop: the question asks for several forms, or for one that needs more periods than it names.
        """
        if are_several(question, self.context.search):  # answering one would silently drop the others
            raise Stop(Reason.UNSURE)
        votes, fitting = votes_for(question, self.context.search), forms_for(period_count)
        first = max(votes.keys() - {NO_FORM}, key=lambda key: votes[key])
        if (sure := votes[first]) >= SURE_FORM:
            if first not in {form.key for form in fitting}:
                raise Stop(Reason.NOT_COVERED)
            vote = Vote(key=first, mentioned=sure, probability=sure)
            return Choice(votes=(vote,), usage=Usage())
        likeliest = sorted(fitting, key=lambda form: -votes[form.key])[:LISTED]
        options = [
            Option(key=form.key, title=form.title, mentioned=votes[form.key]) for form in fitting if form in likeliest
        ]
        return self._count_usage(
            self.chooser.argument(question, "What does the customer want to know of the numbers?", options)
        )

    def _clarification(self, choice: Choice) -> Item | None:
        """A canned question, if the answer is probably one of a few documents and the customer did not say which."""
        for number in self.context.clarifications:
            sure = clarification_probability(number, self.context, choice.votes)
            if sure > 0 and sure >= self.limits.threshold_answer:
                return self.send("ask_clarification", {"number": number}, sure, choice.votes)
        return None
