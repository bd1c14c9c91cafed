"""The configuration's section for lists of senders; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from support_agent.core.frozen import Frozen

FORMS = (
    "write an address, a domain (which stands for its subdomains, too), or a name with * before the @: *-news@x.example"
)


def _is_pattern(text: str) -> str:
    name, at, domain = text.rpartition("@")
    is_domain = (
        bool(domain) and not any(character in domain for character in '*@<>" \t') and domain.strip(".") == domain
    )
    is_name = bool(name) and not any(character in name for character in '@<>" \t')
    if not is_domain or (at and not is_name):
        raise ValueError(f"no pattern of senders: {FORMS}")
    return text


SenderPattern = Annotated[str, AfterValidator(_is_pattern)]


class SenderSettings(Frozen):
    """Senders who get nothing from the agent, and the only ones who do.

    An entry is an address, a domain, which stands for its subdomains, too, or a name with `*` before the @. A "+tag" of
    a sender's address is ignored unless the entry has one. Case does not matter.
    """

    block: tuple[SenderPattern, ...] = ()
    """Mail with such a From address, forged or not, is filed: no answer, no acknowledgement, no packet. Bounces and
    delivery reports still count, and so do replies of proven staff to a packet."""
    allow: tuple[SenderPattern, ...] = ()
    """If this is not empty, only these senders get automatic mail, and only if they are proven (level 2); the mail of
    all others goes to the desk, and they get no acknowledgement either."""
