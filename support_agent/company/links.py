"""Web addresses of documents, as they are compared: by people's links and by pages of the company's own site.

Invariant: two writings of one address are one key, and what stands behind "?" and "#" is kept. Checked by
tests/unit/company/test_links.py.
"""

from __future__ import annotations

import re
from contextlib import suppress

import httpx


def link_key(address: str) -> str:
    """An address for comparison: scheme and host in small letters, no port that goes without saying, no slash at the
    end of its path.
    """
    with suppress(httpx.InvalidURL, ValueError):
        address = str(httpx.URL(address))
    path, *rest = re.split(r"(?=[?#])", address, maxsplit=1)
    return "".join((path.rstrip("/"), *rest))
