"""The fixed mail that a customer gets when a person takes the case."""

from __future__ import annotations

from support_agent.core.frozen import Frozen


class Acknowledgement(Frozen):
    """The content of an acknowledgement. `subject` is the sanitised parent subject, or None below level 2."""

    company: str
    locale: str
    subject: str | None
    support_address: str
