"""START HERE: the journey of one mail, as one durable workflow.

What is decided is recorded before anything is done with it, so a restarted process continues where the last one died.
All else may run again: a second run leaves the same rows. `stages` holds what each step does, `decide` how a mail is
decided. Every failure escalates to a person: never a guess, never silence. Checked by tests/journey/test_kill.py:
`kill -9` in every step, on SQLite and PostgreSQL.
"""

from __future__ import annotations

from support_agent.cases.decision import Decided
from support_agent.cases.route import ReceivedMail, RoutedMail
from support_agent.engine.steps import Steps
from support_agent.errors import Postponed, SupportAgentError
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.store.records import MailId
from support_agent.workflow.stages import Outcome, Stages


def handle(mail_id: MailId, steps: Steps, stages: Stages) -> str:
    """mailbox -> parse -> screen -> identify -> plan <-> tools -> answer -> render -> gate -> outbox -> SMTP."""
    received = steps.run("parse", lambda: stages.parse(mail_id))
    try:
        screening = steps.run("screen", lambda: stages.screen(received))
        if screening.verdict in (Verdict.FILE, Verdict.DROP):
            return steps.run("file", lambda: stages.file(received, screening))
    except Postponed:
        return Outcome.HELD

    sender, route, decision = steps.step("decide", lambda: _decide(received, screening, steps, stages), Decided)
    mail = RoutedMail.on(received, sender, route)
    if route.is_staff_reply:
        steps.run("pass_on", lambda: stages.staff_replies.pass_on(mail, screening))
        return _send(mail_id, steps, stages, Outcome.FILED)
    if decision is None:
        return Outcome.HELD
    try:
        outcome = steps.run("answer", lambda: stages.answer(mail, decision))
    except SupportAgentError as error:
        stopped = decision.stopped_by(error)
        outcome = steps.run("escalate", lambda: stages.escalate(mail, stopped))
    return _send(mail_id, steps, stages, outcome)


def _decide(received: ReceivedMail, screening: Screening, steps: Steps, stages: Stages) -> Decided:
    """Whose mail it is, to which case it belongs, and what becomes of it."""
    sender = steps.run("identify", lambda: stages.identify(received))
    route = steps.run("route", lambda: stages.route(received, sender))
    mail = RoutedMail.on(received, sender, route)
    if route.is_staff_reply or steps.run("hold", lambda: stages.must_wait(mail, screening)):
        return Decided(sender, route, None)
    try:
        return Decided(sender, route, steps.run("plan", lambda: stages.decide(mail, screening)))
    except SupportAgentError as error:
        return Decided(sender, route, stages.failed(error))


def _send(mail_id: MailId, steps: Steps, stages: Stages, outcome: Outcome) -> str:
    """Send the mail's outbox rows; the worker retries later what cannot be sent now."""
    steps.run("send", lambda: stages.send(mail_id))
    return steps.run("end", lambda: stages.end(mail_id, outcome))
