"""Rejoin the paragraphs of format=flowed text (RFC 3676).

Invariant: no word is lost or added; a quotation keeps its depth, and "-- " stays a line of its own.
Checked by tests/unit/mail/text/test_flowed.py.
"""

from __future__ import annotations

import re

QUOTES = re.compile(r">*")
SIGNATURE = "-- "


def unflow(text: str, *, is_delsp: bool) -> str:
    """Join each line that ends in a space with the next line of the same depth (RFC 3676, section 4).

    Args:
        text: Lines that end in LF.
        is_delsp: Remove that space, because the sender's program added it (DelSp=yes, for scripts without spaces).
    """
    out: list[str] = []
    flowing: list[str] = []
    depth_before = 0

    def finish() -> None:
        if flowing:
            content = "".join(flowing)
            out.append(">" * depth_before + (" " if depth_before and content else "") + content)
            flowing.clear()

    for line in text.split("\n"):
        depth = len(QUOTES.match(line)[0])  # type: ignore[index]  # the pattern matches anywhere
        content = line[depth:].removeprefix(" ")
        is_signature = content == SIGNATURE
        if depth != depth_before or is_signature:
            finish()
        depth_before = depth
        is_soft = content.endswith(" ") and not is_signature
        flowing.append(content[:-1] if is_soft and is_delsp else content)
        if not is_soft:
            finish()
    finish()
    return "\n".join(out)
