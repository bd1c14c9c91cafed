"""The port through which a worker reports what it does, for metrics and traces; whoever does something has an observer.

Invariant: an observer gets ids, fixed words and numbers, never a text of a mail, and what it does with them changes
nothing: it raises no error. Checked by tests/unit/watch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Protocol


@dataclass
class Seen:
    """What a journey, a step or a call came to, as far as it is known when it ends."""

    outcome: str = ""
    """How it ended, if that is more than "well"."""
    case_id: str = ""
    prompt_tokens: int = 0
    option_tokens: int = 0
    forward_passes: int = 0


class Observer(Protocol):
    """Notified of everything that a worker does; one for each mailbox."""

    @property
    def expiries(self) -> Mapping[str, datetime | None]:
        """What `expires` was given last."""

    def journey(self, mail_id: str) -> AbstractContextManager[Seen]:
        """A journey runs inside; an error that leaves the block is how it ended."""

    def step(self, name: str, attempt: int) -> AbstractContextManager[Seen]:
        """One try of a step of a journey runs inside."""

    def model(self, call: str) -> AbstractContextManager[Seen]:
        """The language model is asked inside."""

    def sent(self, kind: str, result: str) -> None:
        """A mail of the outbox was tried."""

    def connected(self, server: str, error: BaseException | None) -> None:
        """A connection to a mail server ("imap", "smtp") was opened, or failed."""

    def expires(self, what: str, ends_at: datetime | None) -> None:
        """When a certificate or token ends, see `store.watch_records.Expiring`; None: not known."""

    def turned(self) -> None:
        """The worker's loop goes on."""


class Unobserved:
    """Nobody wants to know."""

    expiries: Mapping[str, datetime | None] = MappingProxyType({})

    @contextmanager
    def journey(self, mail_id: str) -> Iterator[Seen]:
        yield Seen()

    @contextmanager
    def step(self, name: str, attempt: int) -> Iterator[Seen]:
        yield Seen()

    @contextmanager
    def model(self, call: str) -> Iterator[Seen]:
        yield Seen()

    def sent(self, kind: str, result: str) -> None:
        """Nothing."""

    def connected(self, server: str, error: BaseException | None) -> None:
        """Nothing."""

    def expires(self, what: str, ends_at: datetime | None) -> None:
        """Nothing."""

    def turned(self) -> None:
        """Nothing."""


UNOBSERVED = Unobserved()
