"""Decide whether an authenticated domain is aligned with the From domain (RFC 7489, section 3.1).

Strict: the same domain. Relaxed: the same organisational domain, which is the public suffix and one more label. The
list of suffixes comes with the library and is never fetched.

Invariant: two different organisations under one public suffix (a country's, or a hosting provider's) are never aligned.
Checked by tests/unit/mail/senders/test_alignment.py.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Alignment = Literal["strict", "relaxed"]


def is_aligned(domain: str, from_domain: str, alignment: Alignment) -> bool:
    """Whether `domain` is aligned with the From domain; both normalised by `normal_domain`."""
    if domain == from_domain:
        return True
    organisation = organisational_domain(from_domain) if alignment == "relaxed" else None
    return organisation is not None and organisation == organisational_domain(domain)


def organisational_domain(domain: str) -> str | None:
    """A domain's public suffix and one more label (RFC 7489, section 3.2); None for a public suffix itself."""
    return _suffixes().privatesuffix(domain)


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
