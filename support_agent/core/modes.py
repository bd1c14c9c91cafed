"""The four modes of autonomy, the strictest first, and the keys of what has one.

A key names a document ("document:3"), an account field ("field:plan"), a series ("series:payments"), a kind of records
("record:invoices") or a canned question ("question:1"). Invariant: a mail takes the strictest mode of its items.
Checked by tests/unit/core/test_modes.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Mode(StrEnum):
    """What happens to an answer. `off`: a person answers, nothing is proposed. `shadow`: the answer is decided and
    recorded, a person answers. `approve`: it leaves when a person confirms it. `auto`: it leaves by itself."""

    OFF = "off"
    SHADOW = "shadow"
    APPROVE = "approve"
    AUTO = "auto"

    @property
    def rank(self) -> int:
        """0 for the strictest."""
        return _ORDER.index(self)

    def at_most(self, ceiling: Mode) -> Mode:
        """The stricter of the two."""
        return min(self, ceiling, key=lambda mode: mode.rank)

    @property
    def is_proposed(self) -> bool:
        """Whether an answer in this mode is shown to a person and not sent by itself."""
        return self in (Mode.SHADOW, Mode.APPROVE)


_ORDER = tuple(Mode)


def strictest(modes: Iterable[Mode]) -> Mode:
    """The strictest of at least one mode."""
    return min(modes, key=lambda mode: mode.rank)
