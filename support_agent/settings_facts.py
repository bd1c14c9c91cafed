"""The fact room's sections of the configuration; `settings.Settings` holds them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from support_agent.frozen import Frozen


class Ways(StrEnum):
    """What passages are found by: the nearness of their vectors, the words they share with the question, or both."""

    BOTH = "both"
    VECTORS = "vectors"
    WORDS = "words"


class ChunkUnit(StrEnum):
    """What the length of a chunk is counted in; tokens are those of the embedding model."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


Threshold = Annotated[float, Field(ge=0, le=1)]


class FactSettings(Frozen):
    """The search inside the documents, of which no customer sees anything: how they are cut, and what finds them."""

    chunk_unit: ChunkUnit = ChunkUnit.CHARACTERS
    chunk_size: Annotated[int, Field(ge=50, le=10_000)] = 400
    """Longest chunk, in `chunk_unit`s, without the title and the heading that it is searched by as well. Of a chunk
    longer than 256 tokens the rest is found by its words only."""
    chunk_overlap: Annotated[int, Field(ge=0, le=5_000)] = 100
    """The most that a chunk repeats of the one before it, in `chunk_unit`s; below `chunk_size`."""
    ways: Ways = Ways.BOTH
    """What passages are found by. By vectors alone, questions in other words than the document's are found somewhat
    better, and codes and numbers next to never."""

    @model_validator(mode="after")
    def _moves_on(self) -> FactSettings:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap = {self.chunk_overlap} must be below chunk_size = {self.chunk_size}")
        return self


class GradingSettings(Frozen):
    """How questions are looked into before a document may answer them: thresholds, bounds, and the cost.

    A grader whose threshold is 0 is switched off: it would let everything pass.
    """

    passages: Annotated[int, Field(ge=1, le=20)] = 4
    """Passages of one retrieval, all of which are graded."""
    max_cycles: Annotated[int, Field(ge=0, le=10)] = 3
    """Times that a question is rewritten or drafted anew; then a person gets it."""
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    """Tokens that one mail may take in grades, drafts and rewritten questions; looked at before each of them."""
    draft_tokens: Annotated[int, Field(ge=16, le=2_000)] = 120
    """Longest draft."""
    question_tokens: Annotated[int, Field(ge=8, le=200)] = 40
    """Longest rewritten question."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Longest wait for one draft or rewritten question."""
    prior: Threshold = 0.0
    """How much of what the model says to empty texts is taken off each grade, for a model that leans to one answer."""
    threshold_router: Threshold = 0.5
    """Below it a question is looked up in the web first, where a search is configured."""
    threshold_document: Threshold = 0.5
    """A passage below it is not used."""
    threshold_hallucination: Threshold = 0.6
    """A draft below it says what its passages do not."""
    threshold_answer: Threshold = 0.5
    """A draft below it does not answer the question."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1
    """Of the drafts: the same seed, question and index give the same ones with the embedded model."""
