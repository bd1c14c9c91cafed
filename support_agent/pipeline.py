"""START HERE: the journey of one mail, as one durable workflow.

Each step is recorded before the next begins, so a restarted process continues where the last one died. `stages` holds
what each step does, `decide` how a mail is decided. Every failure escalates to a person: never a guess, never silence.
Checked by tests/journey/test_kill.py: `kill -9` in every step, on SQLite and PostgreSQL.
"""

from __future__ import annotations

from support_agent.cases.decision import Decision
from support_agent.cases.route import Route, RoutedMail
from support_agent.engine.steps import Steps
from support_agent.errors import Postponed, SupportAgentError
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import MailId
from support_agent.workflow.stages import Outcome, Stages


def handle(mail_id: MailId, steps: Steps, stages: Stages) -> str:
    """mailbox -> parse -> screen -> identify -> plan <-> tools -> answer -> render -> gate -> outbox -> SMTP."""
    received = steps.unrecorded("parse", lambda: stages.parse(mail_id))
    try:
        screening = steps.step("screen", lambda: stages.screen(received), Screening)
        if screening.verdict in (Verdict.FILE, Verdict.DROP):
            return steps.step("file", lambda: stages.file(received, screening))
    except Postponed:
        return Outcome.HELD

    # Recorded journeys know their steps by name, so "place" and "hand_over" keep their old names.
    sender = steps.step("identify", lambda: stages.identify(received), Sender)
    route = steps.step("place", lambda: stages.route(received, sender), Route)
    mail = RoutedMail.on(received, sender, route)
    if route.is_staff_reply:
        steps.step("pass_on", lambda: stages.pass_on(mail))
        return _send(mail_id, steps, stages, Outcome.FILED)

    is_unplanned = screening.verdict is Verdict.DESK or not route.may_answer or mail.intention is not None
    is_for_desk = is_unplanned and not mail.closes
    if steps.step("hold", lambda: stages.must_wait(mail_id, is_for_desk=is_for_desk)):
        return Outcome.HELD
    try:
        if is_unplanned:
            decision = steps.step("hand_over", lambda: stages.unplanned(screening, mail), Decision)
        else:
            decision = steps.step("plan", lambda: stages.plan(mail), Decision)
    except SupportAgentError as error:
        decision = stages.failed(error)
    try:
        outcome = steps.step("answer", lambda: stages.answer(mail, decision), Outcome)
    except SupportAgentError as error:
        stopped = decision.stopped_by(error)
        outcome = steps.step("escalate", lambda: stages.escalate(mail, stopped), Outcome)
    return _send(mail_id, steps, stages, outcome)


def _send(mail_id: MailId, steps: Steps, stages: Stages, outcome: Outcome) -> str:
    """Send the mail's outbox rows; the worker retries later what cannot be sent now."""
    steps.step("send", lambda: stages.send(mail_id))
    return steps.step("end", lambda: stages.end(mail_id, outcome))
