"""What works on the mails of one store, as `app` wires it. Each user takes its part: the pipeline the stages of the
journey, the desk's page the desk, and the worker the stages and what it does between mails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support_agent.answer.templates import Templates
from support_agent.cases.routing import CaseRouting
from support_agent.company.company import Company
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.reminders import Reminders
from support_agent.workflow.alarms import Alarms
from support_agent.workflow.decide import Decider
from support_agent.workflow.desk_commands import DeskCommands
from support_agent.workflow.digest import WeeklyDigest
from support_agent.workflow.stages import Stages


@dataclass(frozen=True)
class Wired:
    """The parts of an agent, on the company's files as they were when it was wired.

    `decider` returns the decider; a dry run opens it only when a mail needs it.
    """

    company: Company
    templates: Templates
    decider: Callable[[], Decider]
    routing: CaseRouting
    queue: OutboundQueue
    stages: Stages
    desk: DeskCommands
    reminders: Reminders
    digest: WeeklyDigest
    alarms: Alarms
