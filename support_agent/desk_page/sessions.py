"""Sessions of people who are signed in, in the memory of this process: a restart ends them all.

Invariant: a session has a random id that was never known before the sign-in (no fixation), ends after a time without
requests and after a time in any case, and cannot be brought back. Checked by tests/unit/desk_page/test_sessions.py.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from support_agent.config.desk_page import DeskPageSettings

TOKEN_BYTES = 32
MOST_OF_ONE = 10
"""A person with more sessions gets room for a further one from the own ones, so that nobody can end all others'."""


class Notice(NamedTuple):
    """What an act said, for the next page."""

    said: str
    is_error: bool


@dataclass(frozen=True)
class Session:
    """One person's session; `form_key` proves that a form of this session was sent by its own page."""

    address: str
    form_key: str
    opened_at: datetime
    seen_at: datetime
    notice: Notice | None = None

    def is_form_key(self, given: str) -> bool:
        """Whether a form has this session's key."""
        return hmac.compare_digest(self.form_key.encode(), given.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Sessions:
    """All open sessions, by the digest of their id; `now` is the clock. Safe for several threads."""

    settings: DeskPageSettings
    now: Callable[[], datetime]
    _open: dict[bytes, Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def open(self, address: str) -> str:
        """Open a session; the id goes into the browser's cookie."""
        token, now = secrets.token_urlsafe(TOKEN_BYTES), self.now()
        with self._lock:
            self._drop_old(now)
            if len(self._open) >= self.settings.max_sessions:
                self._drop_idlest(address)
            made = Session(address, secrets.token_urlsafe(TOKEN_BYTES), now, now)
            self._open[digest_of(token)] = made
        return token

    def of(self, token: str, *, is_active: bool = True) -> Session | None:
        """The open session with this id; None: there is none, or it has ended.

        Args:
            is_active: A person did something; False: an open page looked for news by itself.
        """
        key, now = digest_of(token), self.now()
        with self._lock:
            self._drop_old(now)
            found = self._open.get(key)
            if found is not None and is_active:
                found = self._open[key] = replace(found, seen_at=now)
            return found

    def leave_notice(self, token: str, said: str, *, is_error: bool) -> None:
        """Keep what an act said until the session's next page."""
        self._change(token, Notice(said, is_error))

    def take_notice(self, token: str) -> Notice | None:
        """What the last act said, once."""
        return self._change(token, None)

    def _change(self, token: str, notice: Notice | None) -> Notice | None:
        key = digest_of(token)
        with self._lock:
            found = self._open.get(key)
            if found is None:
                return None
            self._open[key] = replace(found, notice=notice)
            return found.notice

    def close(self, token: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(digest_of(token), None)

    def _drop_idlest(self, address: str) -> None:
        """Make room: for a person with many sessions among these, else among all."""
        own = [key for key, session in self._open.items() if session.address == address]
        among = own if len(own) >= MOST_OF_ONE else list(self._open)
        del self._open[min(among, key=lambda key: self._open[key].seen_at)]

    def _drop_old(self, now: datetime) -> None:
        idle, longest = timedelta(minutes=self.settings.idle_min), timedelta(hours=self.settings.session_h)
        ended = [
            key
            for key, session in self._open.items()
            if not (now - session.seen_at <= idle and now - session.opened_at <= longest)
        ]
        for key in ended:
            del self._open[key]


def digest_of(token: str) -> bytes:
    """The digest under which a secret that a browser has is kept, in the place of the secret."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
