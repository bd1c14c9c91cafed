"""The result of reading a file: blocks in reading order, or the reason why the file was not read.

Imports only the standard library, because the child process that reads hostile files starts with it.
Checked by tests/unit/extraction/test_process.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class BlockKind(StrEnum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    NUMBERED = "numbered"
    ROW = "row"
    CODE = "code"
    LEFT_OUT = "left_out"
    """Marks the place of something other than text, such as "a picture"."""


class Block(NamedTuple):
    """One block. `texts` holds one text, or the cells of a row.

    `level` is 1..6 for a heading, the depth (from 0) for a list item, and the number of its table for a row.
    """

    kind: BlockKind
    texts: tuple[str, ...]
    level: int = 0


class Refusal(StrEnum):
    """Why a file was not read, or not to its end."""

    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    TOO_MUCH = "too_much"
    """The file exceeds the limits, or took longer than the time limit."""


class FileRefused(Exception):
    """A reader cannot continue; the blocks found so far are kept."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class Collector:
    """Collects the blocks of one file, up to `max_characters` characters."""

    def __init__(self, max_characters: int) -> None:
        self.blocks: list[Block] = []
        self.max_characters = max_characters
        self._length = 0

    def add(self, kind: BlockKind, *texts: str, level: int = 0) -> None:
        """Keep a block if it has any text; lone surrogates, which JSON cannot hold, become question marks.

        Raises:
            FileRefused: this block exceeds the limit (`TOO_MUCH`).
        """
        if not any(text.strip() for text in texts):
            return
        whole = tuple(text.encode("utf-8", "replace").decode("utf-8") for text in texts)
        self.blocks.append(Block(kind, whole, level))
        self._length += sum(len(text) + 1 for text in texts)
        if self._length > self.max_characters:
            raise FileRefused(Refusal.TOO_MUCH)
