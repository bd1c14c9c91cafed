"""The four modes of autonomy, the strictest first, and the keys of what has one.

A key names a document ("document:3"), an account field ("field:plan"), a series ("series:payments"), a kind of records
("record:invoices") or a canned question ("question:1"). Checked by tests/unit/core/test_modes.py.
"""

from __future__ import annotations

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

    @property
    def is_proposed(self) -> bool:
        """Whether an answer in this mode is shown to a person and not sent by itself."""
        return self in (Mode.SHADOW, Mode.APPROVE)


_ORDER = tuple(Mode)

_DOCUMENT = "document:"


def document_key(number: int) -> str:
    """The key of a document."""
    return f"{_DOCUMENT}{number}"


def document_of(key: str | None) -> int | None:
    """The number of the document that a key names; None: it names something else."""
    return int(key.removeprefix(_DOCUMENT)) if key is not None and key.startswith(_DOCUMENT) else None
