"""A mail as the rest of the program sees it: `parse` turns any bytes into a frozen `Message`.

Invariant: `parse` never raises on bytes; what cannot be understood is kept in `defects` and the raw bytes stay the
truth. Checked by tests/unit/mail/test_message.py.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value of the mail room."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Address(Frozen):
    """One mailbox address; `addr` is lower-cased, its domain an A-label."""

    name: str
    addr: str

    @property
    def domain(self) -> str:
        return self.addr.rpartition("@")[2]


class Attachment(Frozen):
    name: str
    content_type: str
    size_bytes: int
    sha256: str


class Message(Frozen):
    """One inbound mail.

    `message_id` carries its angle brackets and is synthetic (from the raw bytes) where the mail has none.
    `from_` is None unless there is exactly one From field with exactly one address (S22).
    `text` is the whole plain text (made from HTML where there is no text part); `visible_text` is the part the
    sender wrote now, `quoted_text` what it replies to, `signature` the rest. `headers` keeps order and duplicates,
    names as written, values unfolded and decoded.
    """

    raw_sha256: str
    size_bytes: int
    message_id: str
    has_synthetic_id: bool
    in_reply_to: str | None
    references: tuple[str, ...]
    subject: str
    sent_at: datetime | None
    from_: Address | None
    reply_to: tuple[Address, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    text: str
    visible_text: str
    quoted_text: str
    signature: str
    attachments: tuple[Attachment, ...]
    headers: tuple[tuple[str, str], ...]
    defects: tuple[str, ...]

    def header(self, name: str) -> str | None:
        """The topmost value of a header, or None."""
        return next(iter(self.all_headers(name)), None)

    def all_headers(self, name: str) -> tuple[str, ...]:
        """Every value of a header, topmost first; names compared without case."""
        return tuple(value for key, value in self.headers if key.lower() == name.lower())
