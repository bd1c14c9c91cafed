"""Find the boundary of a multipart in its body, for a header that names no boundary or a wrong one.

Invariant: a body is split only if its boundary is unambiguous: the body begins and ends with it, and every other line
that looks like a boundary is declared by an inner part. So no content can change what is seen. The work is linear in
the length of the body. Checked by tests/unit/mail/text/test_boundaries.py.
"""

from __future__ import annotations

import re

from support_agent.mail.text.limits import Part, careful_tree

BOUNDARY = r"[^\s\"\\](?:[^\r\n\"\\]{0,68}[^\s\"\\])?"
FIRST_LINE = re.compile(rf"\s{{0,100}}^--({BOUNDARY})[ \t]*\r?\n", re.MULTILINE)
ANY_LINE = re.compile(rf"^--({BOUNDARY})[ \t]*\r?$", re.MULTILINE)
PART_HEAD = re.compile(rf"^--({BOUNDARY})[ \t]*\r?\n((?:[!-9;-~]{{1,100}}:[^\n]*\n(?:[ \t][^\n]*\n)*)+)", re.MULTILINE)
OF_MIME = re.compile(r"^content-[a-z-]{1,40}[ \t]*:", re.MULTILINE | re.IGNORECASE)
DECLARED = re.compile(r"boundary[ \t]*=[ \t]*(?:\"([^\"\r\n]{1,70})\"|([^\s;\"]{1,70}))", re.IGNORECASE)


def holds_parts(text: str) -> bool:
    """Whether a text is an undecoded multipart: a part begins, and its boundary is closed."""
    heads = (match for match in PART_HEAD.finditer(text) if OF_MIME.search(match[2]))
    match = next(heads, None)
    return match is not None and f"\n--{match[1]}--" in text


def split_by_found_boundary(body: str) -> Part | None:
    """The body as a multipart, split at its only possible boundary; None where that is missing or ambiguous.

    Args:
        body: As received, bytes above 127 as surrogates.
    """
    first = FIRST_LINE.match(body)
    if first is None or not _is_alone(first[1], body):
        return None
    raw = f'Content-Type: multipart/mixed; boundary="{first[1]}"\n\n{body}'.encode("utf-8", "surrogateescape")
    try:
        whole = careful_tree(raw)
    except ValueError:
        return None
    return whole if whole.is_multipart() else None


def _is_alone(outer: str, body: str) -> bool:
    """Whether the boundary closes the body, a part's header follows it, and inner parts declare all others."""
    heads = PART_HEAD.findall(body)
    inner = {match[1] or match[2] for _, fields in heads for match in DECLARED.finditer(fields)}
    known = {f"{boundary}{end}" for boundary in {outer, *inner} for end in ("", "--")}
    lines = ANY_LINE.findall(body)
    is_of_parts = any(boundary == outer and OF_MIME.search(fields) for boundary, fields in heads)
    is_closed = lines[-1:] == [f"{outer}--"] and not body.rpartition(f"--{outer}--")[2].strip()
    return is_of_parts and outer not in inner and is_closed and known.issuperset(lines)
