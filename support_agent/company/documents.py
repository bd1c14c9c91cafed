"""The numbered documents: `policies/NNN-name.md`, the only long text a customer is ever sent.

Invariant: a `Document` is the file, whole: its `version` is the file's sha256, and joining `sentences` by position
gives back only text that stands in the file. Checked by tests/unit/company/test_documents.py.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NewType

from pydantic import BaseModel, ConfigDict, Field

DocumentNumber = NewType("DocumentNumber", int)


class Delivery(StrEnum):
    """How much of a document a customer is sent; the link always goes along."""

    FULL = "full"
    EXCERPT = "excerpt"
    LINK = "link"


class FrontMatter(BaseModel):
    """The YAML head of a policy file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: Annotated[int, Field(ge=1, le=99_999)]
    title: Annotated[str, Field(min_length=1, max_length=120)]
    summary: Annotated[str, Field(min_length=1, max_length=500)]
    """What the document answers; shown to the model, never to the customer."""
    url: Annotated[str, Field(pattern=r"^https://")]
    delivery: Delivery = Delivery.EXCERPT
    questions: tuple[str, ...] = ()
    """A few questions as customers ask them; shown to the similarity vote."""
    valid_from: date
    valid_until: date | None = None
    audience: Literal["everyone", "customers"] = "everyone"
    """`customers`: sent only to senders of level 3."""


class Sentence(BaseModel):
    """One whole sentence (or list item, or table row) of a document.

    `index` counts from 0 over the document; `text` is plain text with inline Markdown removed; `heading` is the
    nearest heading above ("" for none); `paragraph` counts blocks, so that neighbours can be set together;
    `line` is the 1-based line of the file where it starts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    text: str
    heading: str
    paragraph: int
    kind: Literal["sentence", "item", "row"]
    line: int


class Document(BaseModel):
    """One policy file, parsed. `path` is where it was read; `version` is the sha256 of its bytes, in hex."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: FrontMatter
    version: str
    path: Path
    sentences: tuple[Sentence, ...]

    @property
    def number(self) -> DocumentNumber:
        return DocumentNumber(self.head.number)

    def is_valid_on(self, day: date) -> bool:
        """Whether the document may be sent on that day."""
        return self.head.valid_from <= day and (self.head.valid_until is None or day <= self.head.valid_until)
