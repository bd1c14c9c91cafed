"""Reads past mails from an mbox, a Maildir, .eml files, the folders of an IMAP server, or the agent's own store.

Invariant: nothing is written, moved or flagged, and a mail that cannot be read is counted, never an error: files
of others may hold anything. Checked by tests/unit/ops/backtest/test_sources.py and, on Dovecot, by
tests/integration/transport/test_read_only_mailbox.py.
"""

from __future__ import annotations

import heapq
import mailbox
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from support_agent.config.backtest import BacktestSettings
from support_agent.config.mail_servers import ImapSettings
from support_agent.errors import ConfigError
from support_agent.mail.message import Message, not_read, parse, read_file
from support_agent.outbound.sent_folder import sent_folder_of
from support_agent.store.records import OutgoingKind
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox

OpenFolder = Callable[[ImapSettings], AbstractContextManager[Mailbox]]
MEGABYTE_BYTES = 1_000_000
MBOX_START = b"From "
MAILDIR_FOLDERS = frozenset({"cur", "new"})


class FoundMail(NamedTuple):
    """The bytes of a mail, where they are, and when a server received them; `raw` is None if it cannot be read."""

    place: str
    raw: bytes | None
    arrived_at: datetime | None = None


class PastMail(NamedTuple):
    """One mail and the instant that counts for it: its Date, else its arrival, else now."""

    place: str
    raw: bytes
    message: Message
    at: datetime


class PastMails(NamedTuple):
    """The mails, the oldest first, each once, and how many are left out because they cannot be read or are too many."""

    mails: tuple[PastMail, ...]
    unreadable: int = 0
    too_many: int = 0


def collect(
    found: Iterable[FoundMail], limits: BacktestSettings, now: datetime, since: datetime | None = None
) -> PastMails:
    """Parse mails and keep the newest within the limits.

    Args:
        now: The instant of a mail that has no date, or one in the future.
        since: Leave out older mails.
    """
    kept: list[tuple[datetime, str, PastMail]] = []
    known: set[str] = set()
    unreadable = too_many = size = 0
    for one in found:
        if not one.raw:
            unreadable += 1
            continue
        message = parse(one.raw)
        at = min(now, message.sent_at or one.arrived_at or now)
        if message.raw_sha256 in known or (since is not None and at < since):
            continue
        known.add(message.raw_sha256)
        heapq.heappush(kept, (at, message.raw_sha256, PastMail(one.place, one.raw, message, at)))
        size += len(one.raw)
        while len(kept) > limits.max_mails or (size > limits.max_megabytes * MEGABYTE_BYTES and len(kept) > 1):
            size -= len(heapq.heappop(kept)[2].raw)
            too_many += 1
    return PastMails(tuple(mail for _, _, mail in sorted(kept, key=lambda entry: entry[:2])), unreadable, too_many)


def files_in(paths: Sequence[Path], max_bytes: int) -> Iterator[FoundMail]:
    """The mails of mboxes, Maildirs, folders of .eml files and single .eml files.

    Args:
        max_bytes: `imap.max_message_bytes`; of a longer mail only the beginning is read.
    Raises:
        ConfigError: a path is none of these.
    """
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path, max_bytes)
        elif path.suffix.lower() == ".eml" and path.is_file():
            yield _file(path, max_bytes)
        elif path.is_file():
            yield from _in_mbox(path, max_bytes)
        else:
            raise ConfigError(f"{path}: no such file or folder: name an mbox, a Maildir, or a folder of .eml files")


def in_mailbox(settings: ImapSettings, open_folder: OpenFolder) -> Iterator[FoundMail]:
    """Every mail of the mailbox's folder, then of its Sent folder, the oldest first.

    Args:
        open_folder: Opens the folder of the settings for reading alone.
    """
    with open_folder(settings) as inbox:
        sent = sent_folder_of(inbox, settings)
        yield from _in_open_folder(inbox)
    if sent:
        with open_folder(settings.model_copy(update={"folder": sent})) as folder:
            yield from _in_open_folder(folder)


def in_store(store: Store, since: datetime | None) -> Iterator[FoundMail]:
    """The mails that the agent itself has received, then what people wrote through the desk."""
    for mail in store.mails.find(since=since):
        yield FoundMail(mail.id, store.mails.raw(mail.id), mail.received_at)
    for reply in store.outbox.find(kind=OutgoingKind.PERSON_REPLY):
        yield FoundMail(reply.id, reply.raw, reply.created_at)


def _in_open_folder(folder: Mailbox) -> Iterator[FoundMail]:
    for mail in folder.fetch_after(folder.resume(None)):
        yield FoundMail(f"{mail.cursor.folder}/{mail.uid}", mail.raw, mail.arrived_at)


def _in_folder(folder: Path, max_bytes: int) -> Iterator[FoundMail]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    mails = [path for path in paths if path.parent.name in MAILDIR_FOLDERS]
    mails = mails or [path for path in paths if path.suffix.lower() == ".eml"]
    if not mails:
        raise ConfigError(f"{folder}: neither a Maildir nor .eml files: name the folder that holds `cur`, or the mails")
    for path in mails:
        yield _file(path, max_bytes)


def _file(path: Path, max_bytes: int) -> FoundMail:
    try:
        return FoundMail(_name(path), read_file(path, max_bytes))
    except OSError:
        return FoundMail(_name(path), None)


def _name(path: Path) -> str:
    """The path as text that can be written; the names of others' files need not be UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _in_mbox(path: Path, max_bytes: int) -> Iterator[FoundMail]:
    try:
        with path.open("rb") as file:
            start = file.read(len(MBOX_START))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a file that can be read") from error
    if start not in (MBOX_START, b""):
        raise ConfigError(f"{path}: not an mbox, which begins with 'From ': name an mbox, or a file that ends in .eml")
    box = mailbox.mbox(path, create=False)
    try:
        for key in box.iterkeys():
            yield FoundMail(f"{_name(path)}:{key}", _in_box(box, key, max_bytes))
    finally:
        box.close()


def _in_box(box: mailbox.mbox, key: str, max_bytes: int) -> bytes | None:
    try:
        with box.get_file(key) as file:
            raw: bytes = file.read(max_bytes + 1)
    except (OSError, ValueError, KeyError):
        return None
    return raw if len(raw) <= max_bytes else not_read(f"more than {max_bytes} bytes") + raw[:max_bytes]
