"""The configuration's section for the fitted vote of screening; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen

Probability = Annotated[float, Field(ge=0.05, le=1)]


class ScreeningSettings(Frozen):
    """The fitted vote on whether a machine wrote a mail that has no machine headers. It needs `use` or `e5` in
    `embedding.models`; without one of them only the rules decide."""

    machine_vote: bool = True
    """Whether the vote is used; false: only the rules decide."""
    doubtful_from: Probability = 0.5
    """From this probability on a person gets the mail. At 0.5 the vote wrongly stops at most one in a hundred plain
    mails of customers, measured on the mails that it was fitted on, each judged by a vote fitted without the mail and
    its language; on mails used only for measuring it was two in a hundred (270 mails, `use`)."""
    sure_from: Probability = 0.8
    """From this probability on the packet says that a machine wrote the mail; below, that a machine may have."""

    @model_validator(mode="after")
    def _in_order(self) -> ScreeningSettings:
        if self.sure_from < self.doubtful_from:
            raise ValueError("sure_from is below doubtful_from")
        return self
