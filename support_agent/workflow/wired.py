"""What works on the mails of one store, as `app` wires it. Each user takes its part: the pipeline the stages of the
journey, the worker the stages and what it does between mails, and the desk's page the desk and the stages for what a
person does there, and for previews the company, its templates and the decider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support_agent.answer.templates import Templates
from support_agent.company.company import Company
from support_agent.outbound.reminders import Reminders
from support_agent.workflow.alarms import Alarms
from support_agent.workflow.decide import Decider
from support_agent.workflow.desk_commands import DeskCommands
from support_agent.workflow.digest import WeeklyDigest
from support_agent.workflow.stages import Stages


@dataclass(frozen=True)
class Wired:
    """The parts of an agent, on the company's files as they were when it was wired."""

    stages: Stages
    templates: Templates
    desk: DeskCommands
    reminders: Reminders
    digest: WeeklyDigest
    alarms: Alarms

    @property
    def company(self) -> Company:
        return self.stages.company

    @property
    def decider(self) -> Callable[[], Decider]:
        return self.stages.decider
