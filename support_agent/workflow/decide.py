"""Decides a mail: turns the mail, its sender and what was sent before into a decision; stores nothing.

The pipeline, the dry run (`try`) and `replay --plan` all decide here, so an admin sees what a customer gets. Account
values are read from the company's database while it decides. Checked by tests/unit/workflow/test_stages.py and
tests/integration/test_hostile_model.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from support_agent.answer.final_answer import Answer, FinalAnswer
from support_agent.answer.packet import FoundDocument
from support_agent.answer.repetition import SentAnswer
from support_agent.answer.templates import Templates
from support_agent.cases.decision import Decision, escalated
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.intention_vote import IntentionVote
from support_agent.cases.intentions import Intention
from support_agent.company.company import Company
from support_agent.company.periods.recognition import periods
from support_agent.company.text import collapse
from support_agent.company.values import Customer
from support_agent.company.words import plain_letters
from support_agent.config.facts import Retrieve
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER, PROVEN
from support_agent.desk.retrieved import retrieved
from support_agent.errors import ToolCallRejected
from support_agent.mail.machines.machine_vote import MachineVote
from support_agent.mail.machines.screening import Screening
from support_agent.mail.message import Message
from support_agent.mail.outgoing import REPLY_PREFIX, thread_subject
from support_agent.mail.senders.identity import Sender
from support_agent.mail.text.attachment_text import asked_text, speaks_through_attachments, with_attached_text
from support_agent.mail.text.left_out import Thread, left_out
from support_agent.mail.text.person_word import asks_for_person
from support_agent.planner.loop import Planner
from support_agent.planner.plan import Plan
from support_agent.planner.questions import questions_of
from support_agent.planner.segments import Read
from support_agent.tools.base import Context, Search
from support_agent.tools.ending import Reason
from support_agent.tools.fact_room import FactRoom, FactRooms
from support_agent.tools.person_choice import PersonChoice, item_for
from support_agent.tools.retrieval import finding_text, memory_of, open_room

MOST_DELAY = timedelta(days=31)
"""An older Date does not count: the clock that wrote it was wrong, or the mail is an old one."""


@dataclass(frozen=True)
class Decider:
    """Decides mails with one company, one planner and one search; keeps no state between mails.

    `rooms` opens the fact room for a mail; None: it is off. `machine` is the fitted vote on whether a machine wrote a
    mail; None: the screening rules decide alone. `intentions` is the fitted vote on what a reply in a case means; None:
    each reply is a question.
    """

    company: Company
    planner: Planner
    search: Search
    templates: Templates
    settings: Settings
    rooms: FactRooms | None = None
    machine: MachineVote | None = None
    intentions: IntentionVote | None = None

    def judged(self, message: Message, screening: Screening) -> Screening:
        """The screening after the fitted vote: a mail that a machine wrote, or may have written, goes to a person."""
        return screening if self.machine is None else self.machine.judged(message, screening)

    def intended(self, message: Message, thread: Callable[[], Thread | None]) -> Intention | None:
        """What the sender means by a reply; None where that is not asked. A subject of the mail's own is read, too.

        A mail that would close its case is read once more, with all that stands outside its visible text.

        Args:
            thread: Returns the earlier mails of the case; None: there are none, and no case to close.
        """
        if self.intentions is None or not message.visible_text.strip():
            return None
        is_reply = REPLY_PREFIX.match(message.subject) is not None
        text = message.visible_text if is_reply else f"{message.subject}\n{message.visible_text}"
        has_files = any(not part.is_inline_image for part in message.attachments)
        meant = self.intentions.of(text, has_more=has_files)
        if not meant.intent.closes or (known := thread()) is None:
            return meant
        more = left_out(message, known)
        whole = "\n".join((*more.lines, message.visible_text))
        return self.intentions.of(whole, has_more=has_files or more.has_more)

    def decide(
        self,
        message: Message,
        sender: Sender,
        customer: Customer | None,
        now: datetime,
        sent: tuple[SentAnswer, ...] = (),
        *,
        case_id: str = "",
        memory: str | None = None,
        received_at: datetime | None = None,
    ) -> Decision:
        """Plan the mail and make its final answer.

        Args:
            message: The parsed mail.
            sender: The sender, with the level that the answer may use.
            customer: The known customer; at level 3 only.
            now: Aware; its day in the company's time zone is "today" for periods and for the validity of documents.
            sent: Earlier answers that must not be repeated, newest first.
            case_id: The mail's case; "" in a dry run.
            memory: The fact room's memory after the case's last mail.
            received_at: When the mail was recorded; None: now.
        """
        reason = self._refusal(message, sender)
        if reason is not None:
            return escalated(reason, now)
        if unread := self._unread_attachments(message):
            code, why = unread
            return escalated(code, now, why)
        names = (*message.people(self.settings.agent.address), *((customer.name, customer.address) if customer else ()))
        sender, customer = _as_trusted(message, sender, customer)
        room = open_room(self.rooms, case_id, memory, names) if self.rooms is not None else None
        at = written_at(message, min(received_at or now, now))
        context = self._context(message, sender, customer, now, at, sent, room)
        plan = self.planner.plan(context)
        final = None
        if plan.outcome == "answer":
            final = self._answer(message, sender, context, plan.answers, asked=plan.asked, answered=plan.answered)
        return Decision(
            plan=plan,
            final=final,
            found=_found(context),
            decided_at=now,
            why=_why(plan, context),
            findings=context.findings,
            retrievals=retrieved(context),
            memory=memory_of(room) if room is not None else None,
        )

    def chosen(
        self,
        message: Message,
        sender: Sender,
        customer: Customer | None,
        now: datetime,
        choice: PersonChoice,
        ordered_at: datetime | None = None,
    ) -> FinalAnswer:
        """The answer that a person chose: one item, made by the tools that the model's choices go through.

        The whole mail is the question that sections are chosen for; where none is sure enough, the whole document is
        sent, because a person has said that it answers.

        Args:
            ordered_at: When the person wrote the choice down, which may name a period such as this month; None: now.
        Raises:
            ToolCallRejected: there is no such item, or this sender may not get it today.
            TransientError, PermanentError: the company's database failed.
        """
        sender, customer = _as_trusted(message, sender, customer)
        if not self.settings.agent.may_answer(sender.level):
            raise ToolCallRejected(f"a sender of level {sender.level} gets no automatic mail", code="level")
        context = self._context(message, sender, customer, now, ordered_at or now, (), None)
        answers = (Answer(items=(item_for(choice, context),)),)
        final = self._answer(message, sender, context, answers, asked=1, answered=1)
        return final.model_copy(update={"is_approved": True})

    def with_attached_text(self, message: Message, raw: Callable[[], bytes], sender: Sender) -> Message:
        """Add the text of attachments that hold the question, for `decide`.

        None is opened for a sender who gets no answers, or if the mail is too long.
        """
        if self._refusal(message, sender) is not None:
            return message
        return with_attached_text(message, raw, self.settings.planner.max_attachment_characters)

    def _refusal(self, message: Message, sender: Sender) -> Reason | None:
        if not self.settings.agent.may_answer(sender.level):
            return Reason.LEVEL
        if len(message.subject) + len(message.visible_text) > self.settings.planner.max_mail_characters:
            return Reason.LIMIT
        return None

    def _unread_attachments(self, message: Message) -> tuple[str, str] | None:
        """Code and sentence if the question is in attachments that a person must read; else None."""
        if not speaks_through_attachments(message):
            return None
        words = asked_text(message)
        if message.why_not_whole:
            return Reason.LIMIT, message.why_not_whole
        if not any(one.text for one in message.attachments):
            return EscalationReason.SCREENING, "the question is in an attachment whose text cannot be read"
        if asked := asks_for_person(words, self.settings.desk.person_words):
            return Reason.PERSON_ASKED_FOR, f"the customer asks for a person: {asked!r}"
        return None

    def _context(
        self,
        message: Message,
        sender: Sender,
        customer: Customer | None,
        now: datetime,
        written: datetime,
        sent: tuple[SentAnswer, ...],
        room: FactRoom | None,
    ) -> Context:
        today, questions = self.settings.company.day_of(now), questions_in(message, self.search.read)
        locale = self.templates.locale_for(self.templates.locale_of(customer, self.settings.company.locale))
        return Context(
            today=today,
            written_on=self.settings.company.day_of(written),
            locale=locale,
            level=sender.level,
            customer=customer,
            documents=self.company.by_number,
            clarifications={question.number: question for question in self.company.questions},
            periods={period.name: period for period in periods(today)},
            accounts=self.company.accounts,
            search=self.search,
            questions=questions,
            subject=_subject_in(questions[0], message),
            mail=f"{message.subject}\n{asked_text(message)}",
            sent=sent,
            room=room,
            always_retrieves=self.settings.facts.retrieve is Retrieve.ALWAYS,
            searches_web=bool(self.settings.search.sources),
            translations=self.company.in_language(locale, today),
            vocabulary=self.company.vocabulary,
            least_section=self.settings.planner.threshold_section,
        )

    def _answer(
        self,
        message: Message,
        sender: Sender,
        context: Context,
        answers: tuple[Answer, ...],
        *,
        asked: int,
        answered: int | None,
    ) -> FinalAnswer:
        customer = context.customer if sender.level >= CUSTOMER else None
        return FinalAnswer(
            company=self.settings.company.name,
            locale=self.templates.locale_of(context.customer, self.settings.company.locale),
            greeting_name=customer.name if customer is not None else None,
            subject=thread_subject(message.subject) if sender.level >= PROVEN else None,
            asked=asked,
            answered=answered,
            answers=answers,
            support_address=self.settings.agent.address,
            customer=customer,
            notice=self.settings.company.notice,
        )


def _as_trusted(message: Message, sender: Sender, customer: Customer | None) -> tuple[Sender, Customer | None]:
    """The sender and customer that an answer may use: none of the account where the answer would go elsewhere (S16)."""
    if message.other_reply_to:
        return sender.model_copy(update={"level": min(sender.level, PROVEN)}), None
    return sender, customer


def written_at(message: Message, received_at: datetime) -> datetime:
    """When a mail was written: its Date, where that can be; it may have waited before it was recorded."""
    sent_at = message.sent_at
    can_be = sent_at is not None and received_at - MOST_DELAY <= sent_at <= received_at
    return sent_at if sent_at is not None and can_be else received_at


def questions_in(message: Message, read: Read) -> tuple[str, ...]:
    """The mail's questions, each in the customer's own words; `read` classifies the pieces of a mail."""
    return questions_of(plain_letters(message.subject), plain_letters(asked_text(message)), read)


def _subject_in(question: str, message: Message) -> str:
    """The subject, if the first question begins with it and it is no reply's subject; else ""."""
    subject = collapse(plain_letters(message.subject))
    return subject if subject and question.startswith(subject) and not REPLY_PREFIX.match(subject) else ""


def _why(plan: Plan, context: Context) -> str:
    """Explain the plan's reason to a person, beyond its code."""
    if plan.reason == Reason.NO_EVIDENCE:
        vetoed = next(call.question for call in plan.calls if call.args.get("reason") == plan.reason)
        finding = context.findings.get(vetoed)
        return "" if finding is None else f"question {vetoed} was looked into: {finding_text(finding)}"
    if plan.reason == Reason.BESIDE:
        return f"the answer does not mention {context.missing_qualifiers[0].text!r}, which the question names"
    if plan.reason == Reason.UNKNOWN_RECORD:
        return f"the mail names {', '.join(context.unknown_records)}, which is none of the customer's own records"
    stopped = (context.questions[call.question - 1] for call in plan.calls if call.args.get("reason") == plan.reason)
    if plan.reason == Reason.NOT_COVERED and any(map(context.names_moved_period, stopped)):
        return f"it was written on {context.written_on}: the period that it names is another one on {context.today}"
    if plan.reason != Reason.REPEATED or not context.repeated:
        return ""
    return context.repeated[0].where


def _found(context: Context) -> tuple[FoundDocument, ...]:
    """The five best documents found for any question, each with its best score, best first."""
    best: dict[int, float] = {}
    for matches in context.found.values():
        for match in matches:
            kind, _, number = match.topic.partition(":")
            if kind == "document":
                score = min(match.score, 1.0)  # a cosine of 32-bit numbers may be a little more
                best[int(number)] = max(score, best.get(int(number), -1.0))
    ranked = sorted(best.items(), key=lambda entry: -entry[1])[:5]
    return tuple(
        FoundDocument(number=number, title=context.documents[number].head.title, score=score)
        for number, score in ranked
    )
