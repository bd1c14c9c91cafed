"""Finds the boundary of a multipart in its body, where the header names none or another one.

Invariant: a boundary counts only where a part's header follows it and no part declares it for parts of its own, and
only if it is the only one: where two readers could split a mail in two ways it is not split. The work is linear in the
length of the body. Checked by tests/unit/mail/test_boundaries.py.
"""

from __future__ import annotations

import re

from support_agent.mail.limits import Part, careful_tree

DECLARED = re.compile(r"boundary[ \t]*=[ \t]*(?:\"([^\"\r\n]{1,70})\"|([^\s;\"]{1,70}))", re.IGNORECASE)
PART_START = re.compile(
    r"^--([^\s\"\\][^\r\n\"\\]{0,69}?)[ \t]*\r?\n(?:(?!content-)[!-9;-~]{1,100}:[^\n]*\n(?:[ \t][^\n]*\n){0,20}){0,20}"
    r"content-[a-z-]{1,40}[ \t]*:",
    re.MULTILINE | re.IGNORECASE,
)
"""A boundary line and a part's header with a field of MIME, as no quotation ("-----Original Message-----") has it."""


def split_by_found_boundary(body: str) -> Part | None:
    """The body as a multipart, split at the only boundary that it can have; None where there is none, or two.

    Args:
        body: As it came, bytes above 127 as surrogates.
    """
    found = dict.fromkeys(match[1] for match in PART_START.finditer(body))
    if not found:
        return None
    inner = {match[1] or match[2] for match in DECLARED.finditer(body)}
    outer = [boundary for boundary in found if boundary not in inner]
    if len(outer) != 1:
        return None
    raw = f'Content-Type: multipart/mixed; boundary="{outer[0]}"\n\n{body}'.encode("utf-8", "surrogateescape")
    try:
        whole = careful_tree(raw)
    except ValueError:
        return None
    return whole if whole.is_multipart() else None
