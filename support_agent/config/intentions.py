"""The configuration's section for what a customer means by a reply in a case; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen

Probability = Annotated[float, Field(ge=0.2, le=1)]


class IntentionSettings(Frozen):
    """The fitted vote on what a reply in a case means. It needs `use` or `e5` in `embedding.models`; without one of
    them each reply is a question, as it is where the vote is not sure enough."""

    enabled: bool = True
    """Whether the vote is used; false: each reply is a question."""
    closes_from: Probability = 0.8
    """From this probability on "thanks", "solved" or "never mind" closes the case, and nobody gets the mail."""
    not_helped_from: Probability = 0.9
    """From this probability on a person gets "that did not help", with the whole case."""
    any_news_from: Probability = 0.8
    """From this probability on the desk is reminded of the case by "any news?". Outside any thread such a mail of
    a proven sender belongs to the one case that a person has, if there is one."""
    notifies_desk: bool = True
    """Whether the desk is notified that a request it has not answered yet is solved or withdrawn: it may be about to
    act on it. `false`: such a case is closed without a packet, too."""
