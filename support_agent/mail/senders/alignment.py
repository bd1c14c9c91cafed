"""Whether an authenticated domain speaks for the From domain (RFC 7489, section 3.1).

Strict: the same domain. Relaxed: the same organisational domain, which is one label below the public suffix. The
suffixes come with the library and are never fetched.

Invariant: two domains below one public suffix (a country's, or a host's of other people's sites) are never aligned.
Checked by tests/unit/mail/senders/test_alignment.py.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Alignment = Literal["strict", "relaxed"]


def is_aligned(domain: str, from_domain: str, alignment: Alignment) -> bool:
    """Whether `domain` is aligned with the From domain; both as `normal_domain` leaves them."""
    if domain == from_domain:
        return True
    organisation = organisational_domain(from_domain) if alignment == "relaxed" else None
    return organisation is not None and organisation == organisational_domain(domain)


def organisational_domain(domain: str) -> str | None:
    """The public suffix of a domain and one label more (RFC 7489, section 3.2); None for a public suffix itself."""
    return _suffixes().privatesuffix(domain)


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
