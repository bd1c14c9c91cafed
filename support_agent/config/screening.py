"""The section of the configuration on what screening asks besides its rules; `settings.Settings` holds it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen

Probability = Annotated[float, Field(ge=0.05, le=1)]


class ScreeningSettings(Frozen):
    """The fitted vote on whether a machine wrote a mail without saying so. It needs `use` or `e5` in
    `embedding.models`; without one of them the rules alone decide."""

    machine_vote: bool = True
    doubtful_from: Probability = 0.5
    """From here on a person gets the mail. At 0.5 that is at most one in a hundred plain mails of customers, on the
    mails that the vote was fitted on, each judged by a vote that saw neither it nor its language; on mails that were
    only measured it was two in a hundred (270 mails, `use`)."""
    sure_from: Probability = 0.8
    """From here on the desk is told that a machine wrote it, below that it may have."""

    @model_validator(mode="after")
    def _in_order(self) -> ScreeningSettings:
        if self.sure_from < self.doubtful_from:
            raise ValueError("sure_from is below doubtful_from")
        return self
