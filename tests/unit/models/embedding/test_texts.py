"""What an embedder reads of a text can be handed to any library, and is never longer than it says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.models.embedding.texts import readable


@given(st.text(st.characters(codec=None)), st.integers(0, 50))
def test_what_is_read_is_short_enough_and_can_be_encoded(text: str, most: int) -> None:
    """Rule: characters are kept in place; NUL and lone surrogates are replaced, one for one."""
    read = readable(text, most)
    assert len(read) == min(len(text), most)
    assert b"\0" not in read.encode("utf-8")
    kept = [(old, new) for old, new in zip(text, read, strict=False) if old != new]
    assert all(new == "\ufffd" and (old == "\0" or 0xD800 <= ord(old) <= 0xDFFF) for old, new in kept)
