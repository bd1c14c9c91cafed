"""Web addresses of documents, as they are compared: by people's links and by pages of the company's own site.

Invariant: two writings of one address are one key, and what stands behind "?" and "#" is kept. Checked by
tests/unit/company/test_links.py.
"""

from __future__ import annotations

import re
from contextlib import suppress

import httpx

_SLASHES = re.compile(r"/+(?=[#?]|$)")


def link_key(address: str) -> str:
    """An address for comparison: its host and its escapes in one writing, no port that goes without saying, small
    letters, no slash at the end of its path; another text than an address in small letters.
    """
    with suppress(httpx.InvalidURL, ValueError):
        address = str(httpx.URL(address))
    return _SLASHES.sub("", address).casefold()
