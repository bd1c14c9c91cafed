"""What a file's text is read as: blocks in reading order, and why a file is not read.

Imports nothing but the standard library, because the child process that reads hostile files starts with it.
Checked by tests/unit/extraction/test_process.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    NUMBERED = "numbered"
    ROW = "row"
    CODE = "code"
    LEFT_OUT = "left_out"
    """Something that is no text ("a picture"), at the place where it stood."""


class Block(NamedTuple):
    """One block. `texts` is one text, of a row its cells.

    `level` is 1..6 of a heading, 0 or more of a list item (how deep it is nested), of a row the number of its table.
    """

    kind: Kind
    texts: tuple[str, ...]
    level: int = 0


class Refusal(StrEnum):
    """Why a file is not read, or not to its end."""

    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    TOO_MUCH = "too_much"
    """More than the limits allow, or given up after the time limit."""


class Refused(Exception):
    """A reader cannot go on; what it has found until then is kept."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class Collector:
    """Takes the blocks of one file and refuses more than `max_characters` of them."""

    def __init__(self, max_characters: int) -> None:
        self.blocks: list[Block] = []
        self.max_characters = max_characters
        self._length = 0

    def add(self, kind: Kind, *texts: str, level: int = 0) -> None:
        """Keep a block that has any text; halves of surrogates, which no JSON has, become question marks.

        Raises:
            Refused: this was the one too many (`TOO_MUCH`).
        """
        if not any(text.strip() for text in texts):
            return
        whole = tuple(text.encode("utf-8", "replace").decode("utf-8") for text in texts)
        self.blocks.append(Block(kind, whole, level))
        self._length += sum(len(text) + 1 for text in texts)
        if self._length > self.max_characters:
            raise Refused(Refusal.TOO_MUCH)
