"""Finds the entry of a list of senders that stands for an address.

Invariant: addresses are compared as `mail.addresses` normalises them, so no spelling of a domain gets past a list.
Checked by tests/unit/mail/senders/test_lists.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from support_agent.core.levels import lower_address
from support_agent.mail.addresses import normal_domain


def entry_for(address: str, entries: Sequence[str]) -> str:
    """The first entry that stands for a sender, or "".

    Args:
        address: Normalised, or "" for none.
        entries: Addresses, domains, names with `*` before the @ (`config.senders.SenderSettings`).
    """
    return next((entry for entry in entries if address and _stands_for(entry, address)), "")


def _stands_for(entry: str, address: str) -> bool:
    local, _, domain = address.rpartition("@")
    name, own_domain = _parsed(entry)
    if own_domain is None:
        return False
    if name is None:
        return domain == own_domain or domain.endswith(f".{own_domain}")
    return domain == own_domain and any(name.fullmatch(one) for one in (local, local.partition("+")[0]))


@lru_cache(maxsize=10_000)
def _parsed(entry: str) -> tuple[re.Pattern[str] | None, str | None]:
    """The name of an entry, None for a whole domain, and its domain, None if there is no such domain."""
    name, at, domain = entry.rpartition("@")
    pattern = re.compile(".*".join(map(re.escape, lower_address(name).split("*")))) if at else None
    return pattern, normal_domain(domain)
