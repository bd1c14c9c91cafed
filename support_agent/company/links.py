"""Normalises web addresses of documents, to compare them with links and pages of the company's site.

Invariant: equivalent addresses have the same key; query and fragment are kept. Checked by
tests/unit/company/test_links.py.
"""

from __future__ import annotations

import re
from contextlib import suppress

import httpx


def link_key(address: str) -> str:
    """An address for comparison: lower-case scheme and host, no default port, no slash at the end of the path."""
    with suppress(httpx.InvalidURL, ValueError):
        address = str(httpx.URL(address))
    path, *rest = re.split(r"(?=[?#])", address, maxsplit=1)
    return "".join((path.rstrip("/"), *rest))
