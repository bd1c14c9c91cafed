"""START HERE: the journey of one mail, as one durable workflow.

Two results are recorded before anything is done with them: where the mail belongs and what is decided, so a restarted
process continues where the last one died. What stands around them may run again: a second run leaves the same rows.
`stages` holds what each step does, `decide` how a mail is decided. Every failure escalates to a person: never a guess,
never silence. Checked by tests/journey/test_kill.py: `kill -9` in every step, on SQLite and PostgreSQL.
"""

from __future__ import annotations

from support_agent.cases.decision import Decision
from support_agent.cases.route import RoutedMail, Taken
from support_agent.engine.steps import Steps
from support_agent.errors import Postponed, SupportAgentError
from support_agent.mail.machines.screening import Verdict
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

    taken = steps.step("take", lambda: stages.take(received, screening), Taken)
    mail = RoutedMail.on(received, taken.sender, taken.route)
    if mail.route.is_staff_reply:
        steps.run("pass_on", lambda: stages.pass_on(mail))
        return _send(mail_id, steps, stages, Outcome.FILED)
    if taken.must_wait:
        return Outcome.HELD
    try:
        decision = steps.step("plan", lambda: stages.decide(mail, taken), Decision)
    except SupportAgentError as error:
        decision = stages.failed(error)
    try:
        outcome = steps.run("answer", lambda: stages.answer(mail, decision))
    except SupportAgentError as error:
        stopped = decision.stopped_by(error)
        outcome = steps.run("escalate", lambda: stages.escalate(mail, stopped))
    return _send(mail_id, steps, stages, outcome)


def _send(mail_id: MailId, steps: Steps, stages: Stages, outcome: Outcome) -> str:
    """Send the mail's outbox rows; the worker retries later what cannot be sent now."""
    steps.run("send", lambda: stages.send(mail_id))
    return steps.run("end", lambda: stages.end(mail_id, outcome))
