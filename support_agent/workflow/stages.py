"""The stages of a mail's journey: each takes decisions from `decide`, queues mails, and records in the store.

Invariant: a stage that runs twice leaves the same rows. Checked by tests/unit/workflow/test_stages.py,
tests/unit/workflow/test_stages_failures.py and, with real servers and real kills, by
tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache

import structlog

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.repetition import sent_before
from support_agent.cases.autonomy import Autonomy, Leaves
from support_agent.cases.breaker import Breaker
from support_agent.cases.case_words import thread_before
from support_agent.cases.copies import COPY_RULE, TAKEN_UP, Copies
from support_agent.cases.decision import Decision, escalated, failed, intended, screened_out
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.handling import Handling
from support_agent.cases.intentions import Intent, Intention
from support_agent.cases.rate_limits import CLOCK_SLACK, DAY, RATE_RULE, Rates
from support_agent.cases.route import ReceivedMail, Route, RoutedMail, case_id_of
from support_agent.cases.routing import CaseRouting
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.core.modes import Mode
from support_agent.errors import PermanentError, SupportAgentError
from support_agent.mail.machines.machine_vote import JUDGED_RULES
from support_agent.mail.machines.screening import (
    BLOCK_RULE,
    BOUNCE_RULE,
    CLOSING_RULE,
    OWN_MAIL_RULE,
    PERSON_RULE,
    UNREADABLE_RULE,
    Screening,
    Verdict,
    screen,
)
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.delivery_reports import Reports
from support_agent.outbound.notices import Notices
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import OutboxSender
from support_agent.store.records import MailId, MailStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.tools.ending import Reason
from support_agent.workflow.decide import Decider
from support_agent.workflow.staff_replies import StaffReplies

log = structlog.get_logger(__name__)

ACKNOWLEDGED_RULES = frozenset({None, PERSON_RULE, CLOSING_RULE, UNREADABLE_RULE})
"""Screening rules after which a customer still gets an acknowledgement."""
SIGNED_IN = Screening(verdict=Verdict.ANSWER, rule=None, why="a person who had signed in made it on the desk's page")


class Outcome(StrEnum):
    """The outcome of a mail's journey."""

    ANSWERED = "answered"
    ESCALATED = "escalated"
    FILED = "filed"
    HELD = "held"
    """The mail stays `new`: it waits until automatic mail may go on, or until the mail it reports on has been tried."""


@dataclass(frozen=True)
class Stages:
    """The stages and their collaborators, wired by `app`; `now` is the clock.

    `decider` returns the decider; a dry run opens it only when a mail needs it.
    """

    store: Store
    settings: Settings
    company: Company
    decider: Callable[[], Decider]
    routing: CaseRouting
    copies: Copies
    rates: Rates
    breaker: Breaker
    autonomy: Autonomy
    staff_replies: StaffReplies
    reports: Reports
    queue: OutboundQueue
    outbox_sender: OutboxSender
    notices: Notices
    now: Callable[[], datetime]

    def parse(self, mail_id: MailId) -> ReceivedMail:
        """Parse the recorded mail; the result is always the same, so the step is not recorded."""
        return ReceivedMail.of(mail_id, *self.store.mails.received(mail_id))

    def screen(self, mail: ReceivedMail) -> Screening:
        """Decide whether the agent may answer at all (RFC 3834), and whether the mail is a copy.

        What a person did on the desk's page is no machine's mail, whatever its address and its words are like.
        """
        found: list[tuple[Sender, bool]] = []

        def sender() -> Sender:
            found[:] = found or [self.routing.senders.found(mail)]
            return found[0][0]

        def is_staff_reply() -> bool:
            is_staff = self.routing.threads.is_staff(sender())
            return is_staff and self.routing.threads.packet_answered_by(mail.message) is not None

        is_customer = self.routing.senders.is_customer
        settings = self.settings
        screening = SIGNED_IN
        if not mail.is_of_page:
            screening = screen(
                mail.message, settings.agent, settings.desk, is_customer, is_staff_reply, settings.senders
            )
            if screening.rule in JUDGED_RULES:
                judged = self.decider().judged(mail.message, screening)
                if judged is not screening and not is_staff_reply():
                    screening = judged
        screening = self.copies.recognise(mail, screening, self.now(), sender)
        if screening.verdict is Verdict.DESK and screening.rule == BOUNCE_RULE:
            report = self.reports.read(mail.id, mail.message, mail.raw, has_headers=False)
            screening = screening.model_copy(update={"why": "; ".join(filter(None, (screening.why, report)))})
        unrecorded = [one for one, is_recorded in found if not is_recorded]
        if not unrecorded and screening.verdict not in TAKEN_UP:
            return screening  # `file` records it
        with self.store.database.together():
            for one in unrecorded:
                self.routing.senders.record(mail.id, one)
            self.store.mails.save_screening(mail.id, screening.verdict.value, screening.rule)
        return screening

    def file(self, mail: ReceivedMail, screening: Screening) -> str:
        """File the mail without an answer; a bounce updates the mail of ours that it names (S64)."""
        is_copy = screening.verdict is Verdict.DROP or screening.rule in (COPY_RULE, RATE_RULE)
        has_headers = screening.rule != BLOCK_RULE
        report = "" if is_copy else self.reports.read(mail.id, mail.message, mail.raw, has_headers=has_headers)
        why = "; ".join(filter(None, (screening.why, report)))
        if screening.verdict is Verdict.DROP:
            self._alarm(mail.id, screening)
        with self.store.database.together():
            self.store.mails.save_screening(mail.id, screening.verdict.value, screening.rule)
            self.store.mails.end(mail.id, MailStatus.FILED, screening.rule or "screening", why, self.now())
        return Outcome.FILED

    def identify(self, mail: ReceivedMail) -> Sender:
        """Identify the sender and the level (RFC 8601)."""
        return self.routing.senders.of(mail)

    def route(self, mail: ReceivedMail, sender: Sender) -> Route:
        """Route the mail to its case: the thread's case if the sender is a participant, else a new one.

        The route also has what a proven sender means by a reply, unless a screening rule decides on the mail.
        """
        self.routing.lift_suppression(mail.id, sender)
        alone = cache(lambda: self.decider().intended(mail.message, lambda: None))
        route = self.routing.route(mail, sender, lambda: _asks_for_news(alone()))
        if route.is_staff_reply:
            return route
        return self.routing.continued(mail, sender, route, self._intention(mail, sender, route, alone))

    def must_wait(self, mail: RoutedMail, screening: Screening) -> bool:
        """Whether the mail must wait: the agent is paused, the hourly limit is reached, or an older mail waits.

        An older mail does not hold back a mail for the desk. The worker starts the journey again later.
        """
        is_for_desk = _is_unplanned(mail, screening) and not mail.closes
        why = self.breaker.for_mail(mail.sender.level, is_for_desk=is_for_desk)
        if not why and not is_for_desk and self.store.mails.follows_open(mail.id):
            why = "an older mail of the case waits"
        if why:
            log.warning("mail_waits", mail_id=mail.id, why=why)
        return bool(why)

    def decide(self, mail: RoutedMail, screening: Screening) -> Decision:
        """Decide the mail: with a plan, unless a rule, a reply's meaning or the case's state decides already."""
        return self.unplanned(screening, mail) if _is_unplanned(mail, screening) else self.plan(mail)

    def plan(self, mail: RoutedMail) -> Decision:
        """Decide the answer; the only stage that asks the language model."""
        decider, sender, case_id, now = self.decider(), mail.sender, mail.route.case_id, self.now()
        customer = self.company.known_customer(sender.address, sender.level)
        sent = self.rates.answers_before(mail.id, case_id, sender, now)
        message = decider.with_attached_text(mail.message, lambda: mail.raw, sender)
        memory = self.store.plans.memory_before(mail.id)
        decision = decider.decide(
            message, sender, customer, now, sent, case_id=case_id, memory=memory, received_at=mail.received_at
        )
        decision = decision.model_copy(update={"intention": mail.route.intention})
        record = decision.record(mail.id, self.company.version, decider.search.version)
        self.store.plans.save(record, decision.memory)
        return decision

    def unplanned(self, screening: Screening, mail: RoutedMail) -> Decision:
        """Decide without a plan, because of what a reply means, of a screening rule or of the state of the case."""
        route = mail.route
        if mail.intention is not None:
            decision, search = intended(mail.intention, route.why, self.now()), self.decider().search
            self.store.plans.save(decision.record(mail.id, self.company.version, search.version))
            return decision
        if screening.verdict is Verdict.DESK:
            return screened_out(screening, self.now())
        return escalated(route.reason, self.now(), route.why)

    def failed(self, error: SupportAgentError) -> Decision:
        """Escalate without a plan, because deciding failed."""
        log.error("decision_failed", code=error.code)
        return failed(error, self.now())

    def answer(self, mail: RoutedMail, decision: Decision) -> Outcome:
        """Put the answer into the outbox, rendered and gated, and with it a packet for the open questions.

        If the modes of its items do not let it leave by itself, a person gets the mail, with the answer as a proposal.

        Raises:
            GateRefused: the answer has a byte without a source; nothing is in the outbox.
            PermanentError: another thread or worker has queued the same answer for this sender meanwhile.
        """
        if decision.plan.outcome == "close":
            return self._close(mail, decision)
        if decision.final is None:
            return self.escalate(mail, decision)
        leaves = self.autonomy.of_answer(decision.final)
        if leaves.mode is not Mode.AUTO:
            return self._leave_to_person(mail, decision, leaves)
        final = decision.final
        is_first = self.queue.answer(mail, decision, final, lambda: self._require_new(mail, final))
        return Outcome.ANSWERED if is_first else self._outcome_of_first(mail.id)

    def escalate(self, mail: RoutedMail, decision: Decision, proposed: FinalAnswer | None = None) -> Outcome:
        """Escalate the case: queue a packet for the desk, and an acknowledgement for the customer where that is safe.

        A sender over the daily limit of packets is taken for a machine: one more packet says so, and further mails are
        only filed.

        Args:
            proposed: An answer that the packet shows as a proposal.
        """
        if (outcome := self._outcome_before(mail.id)) is not None:
            return outcome
        if self.rates.is_flood(mail.id, mail.sender, self.now()):
            return self._flood(mail, decision)
        is_acknowledged = self._is_acknowledged(mail)
        if proposed is None:
            is_first = self.queue.packet(mail, decision, is_acknowledged=is_acknowledged)
        else:
            is_first = self.queue.propose(mail, decision, proposed, is_acknowledged=is_acknowledged)
        return Outcome.ESCALATED if is_first else self._outcome_of_first(mail.id)

    def send(self, mail_id: MailId) -> list[str]:
        """Try each due outbox mail for this mail once; if one is lost, do at once what each round does about losses."""
        results = self.outbox_sender.send(mail_id)
        if any(result.is_loss for result in results):
            results += self.notices.send_without_original(mail_id)
            results += self.notices.notify_losses(mail_id)
        return [result.value for result in results]

    def end(self, mail_id: MailId, outcome: Outcome) -> str:
        """Record the mail's final status; a lost answer may already have escalated it.

        The reason code and sentence come from the packet, if a person got the mail or a part of it.
        """
        payload = self.store.outbox.payload(mail_id, OutgoingKind.PACKET, OutgoingKind.FAILURE)
        code, why = (str(payload["reason_code"]), _why_for_operator(payload)) if payload else (None, None)
        if self.store.mails.end(mail_id, MailStatus(outcome.value), code, why, self.now()):
            return outcome.value
        ended = self.store.mails.get(mail_id)
        return ended.status.value if ended is not None else outcome.value

    # ------------------------------------------------------------------------------------------------------------

    def _require_new(self, mail: RoutedMail, final: FinalAnswer) -> None:
        """The rule against repeated answers (S12) again, for mails that were decided at the same time.

        Raises:
            PermanentError: as `answer`.
        """
        earlier = self.rates.answers_before(mail.id, mail.route.case_id, mail.sender, self.now())
        for answer in final.answers:
            if (sent := sent_before(answer, earlier)) is not None:
                raise PermanentError(sent.where, code=Reason.REPEATED)

    def _outcome_before(self, mail_id: MailId) -> Outcome | None:
        """What an earlier run decided; None: nothing is in the outbox."""
        kinds = {row.kind: row for row in self.store.outbox.find(mail_id=mail_id)}
        if (answer := kinds.get(OutgoingKind.ANSWER)) is not None:
            return Outcome.ESCALATED if answer.status.is_unsent else Outcome.ANSWERED
        return Outcome.ESCALATED if OutgoingKind.PACKET in kinds else None

    def _outcome_of_first(self, mail_id: MailId) -> Outcome:
        """What the first run decided: an earlier one, or that of a worker which has taken the mail over meanwhile."""
        log.info("decided_before", mail_id=mail_id)
        return self._outcome_before(mail_id) or Outcome.ESCALATED

    def _leave_to_person(self, mail: RoutedMail, decision: Decision, leaves: Leaves) -> Outcome:
        """Escalate an answer that may not leave by itself; a mode that shows it stores it as a proposal."""
        open_part = f"; a part is open: {decision.plan.reason}" if decision.plan.is_partial else ""
        stopped = decision.because(EscalationReason(leaves.mode.value), f"{leaves.why}{open_part}")
        return self.escalate(mail, stopped, decision.final if leaves.mode.is_proposed else None)

    def _is_acknowledged(self, mail: RoutedMail) -> bool:
        """Whether the customer gets the fixed mail that a person has the case."""
        recorded = self.store.mails.get(mail.id)
        rule = recorded.screening_rule if recorded is not None else None
        may_acknowledge = mail.route.may_acknowledge and not self.breaker.paused()
        is_answered = bool(self.store.outbox.find(mail_id=mail.id, kind=OutgoingKind.ANSWER))
        return may_acknowledge and rule in ACKNOWLEDGED_RULES and not is_answered

    def _intention(
        self, mail: ReceivedMail, sender: Sender, route: Route, alone: Callable[[], Intention | None]
    ) -> Intention | None:
        """What a reply of a proven sender means; None for first mails, and where a rule decides on the mail.

        Args:
            alone: Returns what the mail means outside any thread.
        """
        is_reply = bool(mail.message.in_reply_to or mail.message.references)
        is_follow_up = is_reply or route.case_id != case_id_of(mail.id)
        if not is_follow_up or sender.level < PROVEN:
            return None
        recorded = self.store.mails.get(mail.id)
        if recorded is None or recorded.screening_rule not in (None, CLOSING_RULE):
            return None
        if not is_reply:  # it joined the case because it asks for news
            return alone()
        return self.decider().intended(
            mail.message, lambda: thread_before(mail.id, route.case_id, self.store, self.settings)
        )

    def _close(self, mail: RoutedMail, decision: Decision) -> Outcome:
        """File a mail by which the sender needs nothing more, and close its case; the customer gets no mail.

        While the desk still has to answer, thanks leave the case open, and so does any such mail if another participant
        waits, too; "solved" and "never mind" are told to the desk by a packet (`intentions.notifies_desk`). While an
        answer to the sender has not left, the case stays open, too. "Solved" or "never mind" in reply to a mail
        withdraws the answer to that mail, and only another answer keeps the case open; thanks withdraw none.
        """
        is_waiting, is_thanks = self.routing.waits_for_person(mail.route.case_id), decision.plan.reason == Intent.THANKS
        stays = is_thanks or self.routing.others_wait(mail.route.case_id, mail.sender.address)
        handling = Handling(self.store, self.settings)
        withdrawn = None if is_thanks else self.routing.threads.mail_replied_to(mail.message)
        leaving = handling.mails_with_answers_to_leave(mail.route.case_id, mail.sender.address)
        is_notified = is_waiting and not is_thanks and self.settings.intentions.notifies_desk
        with self.store.database.together():
            if is_notified and not self.rates.is_flood(mail.id, mail.sender, self.now()):
                self.queue.packet(mail, decision, is_acknowledged=False, is_escalated=False)
            if not leaving - {withdrawn} and not (is_waiting and stays):
                handling.close_for_customer(mail.route.case_id, mail.sender.address, decision.why, self.now())
            elif withdrawn in leaving:
                handling.withdraw_for_customer(mail.route.case_id, withdrawn, mail.sender.address, self.now())
            self.store.mails.end(mail.id, MailStatus.FILED, decision.plan.reason, decision.why, self.now())
        log.info("reply_filed", case_id=mail.route.case_id, mail_id=mail.id, intent=decision.plan.reason)
        return Outcome.FILED

    def _alarm(self, mail_id: MailId, screening: Screening) -> None:
        """Log a probable mail loop (S9, S11); the day's first mail of our own may be a copy that somebody sent us."""
        now, rule = self.now(), screening.rule or ""
        is_first = not self.store.traffic.ended_for(rule, now - DAY, until=now + CLOCK_SLACK)
        alarm = log.warning if rule == OWN_MAIL_RULE and is_first else log.critical
        alarm("mail_dropped", mail_id=mail_id, rule=rule, why=screening.why)

    def _flood(self, mail: RoutedMail, decision: Decision) -> Outcome:
        """Handle a mail over the limit of packets: the day's first notifies the desk, the others are filed."""
        why = self.rates.why_flood
        if self.rates.is_first_of_flood(mail.sender, self.now()):
            log.warning("sender_over_limit", case_id=mail.route.case_id, mail_id=mail.id, why=why)
            why = f"{why}: further mails of this sender are only filed for a day, `support-agent doctor` counts them"
            self.queue.packet(mail, decision.because(EscalationReason.FLOOD, why), is_acknowledged=False)
            return Outcome.ESCALATED
        log.critical("sender_over_limit", case_id=mail.route.case_id, mail_id=mail.id, why=why)
        screening = Screening(verdict=Verdict.FILE, rule=RATE_RULE, why=why)
        self.file(mail, screening)
        return Outcome.FILED


def _why_for_operator(payload: Mapping[str, object]) -> str | None:
    """The sentence of a packet, with the vote that it is by."""
    why = str(payload["why"])
    return f"{why} by the fitted vote {vote}" if (vote := payload.get("vote")) else why or None


def _asks_for_news(intention: Intention | None) -> bool:
    return intention is not None and intention.intent is Intent.ANY_NEWS


def _is_unplanned(mail: RoutedMail, screening: Screening) -> bool:
    """Whether the mail is decided without a plan."""
    return screening.verdict is Verdict.DESK or not mail.route.may_answer or mail.intention is not None
