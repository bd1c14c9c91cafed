"""Read an open IMAP folder: list the mails after a UID and fetch their bytes, in batches of bounded size.

Invariant: each mail of the folder is yielded once, in the order of UIDs, if necessary only its header or a note that it
cannot be read (S37); memory holds only one batch, however many mails there are. Checked against a real Dovecot by
tests/integration/transport/test_mailbox_reading.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, NamedTuple

from support_agent.config.mail_servers import ImapSettings
from support_agent.core.size_limits import batches
from support_agent.mail.head import split_head
from support_agent.mail.message import not_read
from support_agent.transport.imap import ImapRefused, asking

SEARCH_WINDOW = 50_000
"""UIDs per search in a large folder: the answer is one line, and its length is limited."""
LIST_BATCH = 500
"""Mails per command that asks for sizes."""
READ_BATCH = 50
"""Most mails per read command."""
READ_BATCH_BYTES = 1_000_000
"""Most bytes per read command; a larger mail is read alone."""
MIN_BYTES_A_SECOND = 10_000
"""The slowest connection that is supported."""
MAX_UID = 2**32 - 1
"""RFC 3501, section 2.3.1.1."""


class Listed(NamedTuple):
    """A mail that was not read yet; `size_bytes` is None if the server does not give it."""

    uid: int
    size_bytes: int | None
    arrived_at: datetime | None


class FolderReader:
    """Reads the folder that is open on a connection.

    Args:
        client: An `imapclient.IMAPClient`.
        selected: The server's answer to opening the folder.
    """

    def __init__(self, client: Any, settings: ImapSettings, selected: dict[bytes, Any]) -> None:
        self._client = client
        self._settings = settings
        self._selected = selected

    def newest_uid(self) -> int:
        """The highest UID. Asks for it if the answer had no UIDNEXT, or 0: it is optional (RFC 3501, section 6.3.1)."""
        uid_next = self._selected.get(b"UIDNEXT")
        if uid_next:
            return _checked(int(uid_next) - 1, self._settings)
        with self._asking():
            return _checked(max(self._client.search(["UID", "*"]), default=0), self._settings)

    def uids_after(self, last_uid: int) -> Iterator[list[int]]:
        """The UIDs after one, ascending, in lists of bounded length. "n:*" always includes the newest mail (S30)."""
        for first, last in self._windows(last_uid + 1):
            with self._asking():
                found = self._client.search(["UID", f"{first}:{last}"])
            yield sorted(_checked(uid, self._settings) for uid in set(found) if uid >= first)

    def _windows(self, first: int) -> Iterator[tuple[int, int | str]]:
        """Ranges that together cover all UIDs from `first` on; a single range if the folder has few mails."""
        if int(self._selected.get(b"EXISTS", 0)) > SEARCH_WINDOW:
            newest = self.newest_uid()
            while first + SEARCH_WINDOW <= newest:
                yield first, first + SEARCH_WINDOW - 1
                first += SEARCH_WINDOW
        if first <= MAX_UID:
            yield first, "*"

    def _list(self, last_uid: int) -> Iterator[list[Listed]]:
        """The mails after a UID, with sizes and arrival times, in batches that may be empty."""
        for uids in self.uids_after(last_uid):
            for batch in batches(uids, LIST_BATCH):
                with self._asking():
                    answer = self._client.fetch(batch, ["RFC822.SIZE", "INTERNALDATE"])
                yield [_listed(uid, answer.get(uid, {})) for uid in batch]

    def mails_after(self, last_uid: int) -> Iterator[tuple[Listed, bytes]]:
        """The mails after a UID; may include mails that arrive meanwhile."""
        for batch in self._list(last_uid):
            for group in _groups(batch, self._settings.max_message_bytes):
                yield from self._read_group(group)

    def _read_group(self, group: Sequence[Listed]) -> Iterator[tuple[Listed, bytes]]:
        """The mails of a group; a mail that spoils the common answer is read alone."""
        raws: dict[int, bytes] = {}
        if len(group) > 1:
            with suppress(ImapRefused):
                raws = self._bodies([listed.uid for listed in group], "BODY[]")
        for listed in group:
            raw = raws.pop(listed.uid, None)
            raw = self._read_alone(listed) if raw is None else self._bounded(raw)
            if raw is not None:
                yield listed, raw

    def _read_alone(self, listed: Listed) -> bytes | None:
        """The mail; only its header if it is over the limit, a note if the server cannot give it; None if it is gone.

        What was not read is recorded as the topmost header field, because only the bytes are kept.
        """
        limit, size_bytes = self._settings.max_message_bytes, listed.size_bytes
        is_whole = size_bytes is not None and size_bytes <= limit
        item = "BODY[]" if is_whole else "BODY[HEADER]"
        raw: bytes | None = None
        with suppress(ImapRefused):
            raw = self._bodies([listed.uid], item).get(listed.uid)
        if raw is None:
            return self._note(listed) if self._is_there(listed.uid) else None
        if is_whole:
            return self._bounded(raw)
        size = "an unknown number of" if size_bytes is None else str(size_bytes)
        return not_read(f"{size} bytes, only the header of a mail over {limit} is read") + raw[:limit]

    def _bounded(self, raw: bytes) -> bytes:
        """The mail, or only its header if it is over the limit: the server may have given a wrong size."""
        limit = self._settings.max_message_bytes
        if len(raw) <= limit:
            return raw
        kept = raw[:limit]
        _, body = split_head(kept)
        return not_read(f"{len(raw)} bytes, only the header of a mail over {limit} is read") + kept.removesuffix(body)

    def _note(self, listed: Listed) -> bytes:
        where = f"UID {listed.uid} of {self._settings.folder}, UIDVALIDITY {self._selected.get(b'UIDVALIDITY')}"
        size = "" if listed.size_bytes is None else f", {listed.size_bytes} bytes"
        return not_read(f"the server cannot give {where}{size}") + b"\r\n"

    def _bodies(self, uids: Sequence[int], item: str) -> dict[int, bytes]:
        most_bytes = max(READ_BATCH_BYTES, self._settings.max_message_bytes)
        with self._asking(most_bytes / MIN_BYTES_A_SECOND):
            answer = self._client.fetch(uids, [item.replace("BODY", "BODY.PEEK")])
        raws = ((uid, data.get(item.encode())) for uid, data in answer.items())
        return {uid: raw for uid, raw in raws if isinstance(raw, bytes)}

    def _asking(self, more_s: float = 0.0) -> AbstractContextManager[None]:
        return asking(self._client, self._settings, more_s=more_s)

    def _is_there(self, uid: int) -> bool:
        """Whether a mail that could not be read still exists; another client may have removed it."""
        with self._asking():
            self._client.noop()
            return uid in self._client.search(["UID", str(uid)])


def _checked(uid: int, settings: ImapSettings) -> int:
    """The UID, if it is valid.

    A cursor with a high one would skip every later mail; the store cannot read a cursor with a negative one.
    """
    if not 0 <= uid <= MAX_UID:
        raise ImapRefused(f"{settings.host}:{settings.port} sent a UID outside 0..{MAX_UID}")
    return uid


def _listed(uid: int, answer: dict[bytes, Any]) -> Listed:
    size, arrived_at = answer.get(b"RFC822.SIZE"), answer.get(b"INTERNALDATE")
    is_aware = isinstance(arrived_at, datetime) and arrived_at.tzinfo is not None
    return Listed(uid, size if isinstance(size, int) else None, arrived_at if is_aware else None)


def _groups(batch: Sequence[Listed], limit_bytes: int) -> Iterator[list[Listed]]:
    """Groups of mails to read in one command; a mail that is too large or of unknown size is alone."""
    group: list[Listed] = []
    group_bytes = 0
    for listed in batch:
        size = limit_bytes + 1 if listed.size_bytes is None else listed.size_bytes
        is_full = len(group) >= READ_BATCH or group_bytes + size > READ_BATCH_BYTES or size > limit_bytes
        if group and is_full:
            yield group
            group, group_bytes = [], 0
        group.append(listed)
        group_bytes += size
        if size > limit_bytes:
            yield group
            group, group_bytes = [], 0
    if group:
        yield group
