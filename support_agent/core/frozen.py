"""The base of the program's values: what exists is whole and does not change, and a misspelt key is an error."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Frozen, and a key that is not declared is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
