"""The base of the program's values: each is validated and immutable, and a misspelt key is an error."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable model that refuses undeclared keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
