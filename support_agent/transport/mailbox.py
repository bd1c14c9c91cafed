"""Read a mailbox over IMAP: fetch the mails after a cursor, wait for new ones, and mark those that the store has.

Invariant: the cursor is only (folder, UIDVALIDITY, last UID) (S30); reading never sets \\Seen (S32); only mails that we
flagged ourselves are expunged; and each mail of the folder is yielded, if necessary only its header or a note that it
cannot be read (S37). Checked against a real Dovecot by tests/integration/transport/test_mailbox.py, and by
tests/integration/transport/test_mailbox_cuts.py for connections that break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import structlog

from support_agent.config.mail_servers import ImapSettings, SignIn
from support_agent.core.cursor import Cursor
from support_agent.core.frozen import Frozen
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.transport.imap import (
    DELETED,
    SEEN,
    ImapRefused,
    SignInRefused,
    asking,
    bounded,
    connect,
    folder_name,
    mapped,
    open_folder,
    sign_in,
    wait_for_input,
)
from support_agent.transport.oauth import TokenSource
from support_agent.transport.reading import MAX_UID, MIN_BYTES_A_SECOND, FolderReader
from support_agent.transport.tls import certificate_end

log = structlog.get_logger(__name__)

MOST_ANSWERS = 5
"""Answers to one mail that are read from a folder."""
HANDLED_KEYWORD = b"$SupportAgentHandled"
WAIT_SLICE_S = 1.0
"""How soon a wait notices that the program is stopping."""


class Fetched(Frozen):
    """One mail. `cursor` is the cursor to store once the mail is stored.

    `is_rescan`: the server renumbered the folder while this mail was in it, so the caller must recognise mails that it
    already has, by sha256 and Message-ID (S31).
    `arrived_at` is when the server received the mail (INTERNALDATE); None if the server does not say.
    """

    uid: int
    raw: bytes
    cursor: Cursor
    is_rescan: bool = False
    arrived_at: datetime | None = None

    @property
    def is_in_doubt(self) -> bool:
        """Whether a store that was lost may have handled the mail."""
        return self.uid <= self.cursor.in_doubt_until


class FolderState(NamedTuple):
    """What differs once a mail has arrived in a folder; `modseq` (RFC 7162) is None where the server has none.

    UIDNEXT must grow with each new mail (RFC 3501, section 2.3.1.1); the highest mod-sequence grows with every change.
    """

    uid_validity: int | None
    uid_next: int | None
    modseq: int | None

    @classmethod
    def of(cls, answer: Mapping[bytes, Any]) -> Self:
        """By the server's answer to SELECT or STATUS."""
        names = (b"UIDVALIDITY", b"UIDNEXT", b"HIGHESTMODSEQ")
        return cls(*(int(answer[name]) if answer.get(name) is not None else None for name in names))


class Mailbox:
    """An open connection to one folder; use it as a context manager, from one thread.

    Every method raises ConfigError if the operator must act (login, certificate, STARTTLS, folder), and TransientError
    if a later try may succeed.

    Args:
        tokens, now: The source of access tokens and the clock; needed for `imap.auth = "xoauth2"`.
        read_only: Open the folder with EXAMINE: nothing in it changes, whatever is called.
        observer: Notified of each connection.
    """

    def __init__(
        self,
        settings: ImapSettings,
        tokens: TokenSource | None = None,
        now: Callable[[], datetime] | None = None,
        *,
        read_only: bool = False,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._now = now
        self._read_only = read_only
        self._observer = observer
        self._client: Any = None
        self._selected: dict[bytes, Any] = {}
        self._is_target_there = False
        self._read: tuple[FolderState, int] | None = None
        self.is_writable = True
        """Whether mails may be flagged and moved; known once the folder is open."""

    def __enter__(self) -> Self:
        try:
            self._sign_in()
            self._select()
            if not self.is_writable and not self._read_only:
                log.warning("mailbox_read_only", folder=self._settings.folder)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Log out if the connection still works, and release the socket."""
        if self._client is not None:
            with bounded(self._client, self._settings):
                self._client.__exit__(None, None, None)
            self._client = None

    # Reading

    def resume(self, cursor: Cursor | None) -> Cursor:
        """Refresh the folder and return the cursor to continue from; None starts before the oldest mail.

        A renumbered folder is read again from the start, and all mails now in it have `is_rescan` (S31).
        """
        self._select()
        uid_validity = self._uid_validity()
        if cursor is None:
            return Cursor(folder=self._settings.folder, uid_validity=uid_validity, last_uid=0)
        if cursor.uid_validity == uid_validity:
            return cursor
        newest = self._reader().newest_uid()
        in_doubt_until = newest if cursor.in_doubt_until > cursor.last_uid else 0
        changes = {"last_uid": 0, "rescan_until": newest, "in_doubt_until": in_doubt_until}
        return cursor.model_copy(update={"uid_validity": uid_validity, **changes})

    def end(self) -> Cursor:
        """The cursor after the newest mail: for a first start that ignores old mail."""
        return self.resume(None).model_copy(update={"last_uid": self._reader().newest_uid()})

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        """Yield the mails after a cursor from `resume` or `end`, in the order of their UIDs.

        A folder that has not changed since it was read to its end is not searched (CONDSTORE, RFC 7162).
        """
        state, last_uid = FolderState.of(self._selected), cursor.last_uid
        if self._read is not None and state == self._read[0] and last_uid >= self._read[1]:
            return
        for listed, raw in self._reader().mails_after(cursor.last_uid):
            last_uid = listed.uid
            yield Fetched(
                uid=listed.uid,
                raw=raw,
                cursor=cursor.model_copy(update={"last_uid": listed.uid}),
                is_rescan=listed.uid <= cursor.rescan_until,
                arrived_at=listed.arrived_at,
            )
        self._read = (state, last_uid) if state.modseq is not None else None

    def count_after(self, cursor: Cursor | None) -> int:
        """How many mails are after a cursor, without reading them."""
        here = self.resume(cursor)
        return sum(map(len, self._reader().uids_after(here.last_uid)))

    @property
    def can_idle(self) -> bool:
        """Whether the server announces IDLE: notifications of new mail."""
        with self._asking():
            return bool(self._client.has_capability("IDLE"))

    def wait(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Wait in IDLE for at most this long; returns whether the server sent a notification (RFC 2177)."""
        with self._asking(more_s=timeout_s):
            self._client.idle()
            waited_s, is_notified = 0.0, False
            while not is_notified and waited_s < timeout_s and not is_stopping():
                slice_s = min(WAIT_SLICE_S, timeout_s - waited_s)
                is_notified = wait_for_input(self._client, slice_s)
                waited_s += slice_s
            self._client.idle_done()
        return is_notified

    # Marking

    def mark_handled(self, uid: int, message_id: str | None = None) -> None:
        """Mark a mail that the store has, for people who read the folder; the program itself goes by the cursor.

        Sets our keyword if the folder permits it, then moves the mail to `imap.move_handled_to` if that is set: with
        MOVE (RFC 6851), else with COPY, \\Deleted and UID EXPUNGE of this UID (RFC 4315). On a server with neither the
        mail stays, because a plain EXPUNGE would also remove mails that others flagged. A mail that the server does not
        let us flag or move stays too.

        Args:
            message_id: Pass it if the process died earlier, perhaps in this method: then the mail is not copied twice.
        """
        if not self.is_writable:
            return
        try:
            with self._asking():
                self._mark(uid)
                if self._settings.move_handled_to:
                    self._make_target(self._settings.move_handled_to)
                    self._move(uid, self._settings.move_handled_to, message_id)
        except ImapRefused as error:
            log.warning("mail_not_marked", uid=uid, error=str(error))

    def _mark(self, uid: int) -> None:
        permitted = self._selected.get(b"PERMANENTFLAGS", ())
        if b"\\*" in permitted or HANDLED_KEYWORD in permitted:
            self._client.add_flags([uid], [HANDLED_KEYWORD], silent=True)

    def _move(self, uid: int, folder: str, message_id: str | None) -> None:
        if self._client.has_capability("MOVE"):
            self._client.move([uid], folder)
        elif self._client.has_capability("UIDPLUS"):
            if message_id is None or not self._is_copied(uid, folder, message_id):
                self._client.copy([uid], folder)
            self._client.add_flags([uid], [DELETED], silent=True)
            self._client.uid_expunge([uid])

    def _is_copied(self, uid: int, folder: str, message_id: str) -> bool:
        """Whether the target folder has a mail with this Message-ID and size; a mail that is gone was moved."""
        own = self._sizes([uid])
        with self._other(folder):
            return not own or own[uid] in self._sizes(self._naming("Message-ID", message_id)).values()

    def _sizes(self, uids: Sequence[int]) -> dict[int, object]:
        answer = self._client.fetch(uids, ["RFC822.SIZE"]) if uids else {}
        return {uid: data[b"RFC822.SIZE"] for uid, data in answer.items()}

    # Other folders

    def has_message_id(self, folder: str, message_id: str) -> bool:
        """Whether a folder has a mail with this Message-ID (with angle brackets)."""
        with self._asking(folder), self._other(folder):
            return bool(self._naming("Message-ID", message_id))

    def answers_to(self, folder: str, message_id: str) -> list[bytes]:
        """The mails of a folder whose In-Reply-To or References name this Message-ID, a few at most; none is marked."""
        more_s = MOST_ANSWERS * self._settings.max_message_bytes / MIN_BYTES_A_SECOND
        with self._asking(folder, more_s), self._other(folder):
            found = {uid for name in ("In-Reply-To", "References") for uid in self._naming(name, message_id)}
            uids = sorted(found)[-MOST_ANSWERS:]
            answer = self._client.fetch(uids, ["BODY.PEEK[]"]) if uids else {}
            return [bytes(answer[uid][b"BODY[]"]) for uid in uids if uid in answer]

    def folder_state(self, folder: str) -> FolderState:
        """The state of a folder, by STATUS, without opening it."""
        has_modseq = self._client.has_capability("CONDSTORE") or self._client.has_capability("QRESYNC")
        items = ["UIDVALIDITY", "UIDNEXT", *(["HIGHESTMODSEQ"] if has_modseq else [])]
        with self._asking(folder):
            return FolderState.of(self._client.folder_status(folder, items))

    def append(self, folder: str, raw: bytes, sent_at: datetime) -> None:
        """Append a sent mail to a folder, flagged as read; each call appends one copy."""
        with self._asking(more_s=len(raw) / MIN_BYTES_A_SECOND):
            self._client.append(folder, raw, flags=[SEEN], msg_time=sent_at)

    def special_folder(self, use: str) -> str | None:
        """The folder with a special use such as "\\\\Sent" (RFC 6154), or one with a common name for it; else None."""
        with self._asking():
            name = self._client.find_special_folder(use.encode("ascii"))
        return None if name is None else folder_name(name)

    def has_folder(self, folder: str) -> bool:
        """Whether a folder with this name exists."""
        with self._asking():
            return bool(self._client.folder_exists(folder))

    def _naming(self, field: str, message_id: str) -> list[int]:
        """The mails of the open folder that have this Message-ID in a field."""
        if not (message_id.isascii() and message_id.isprintable()):
            return []  # SEARCH cannot express such an id
        # Quoted here: the library leaves "(" and "{" bare, and the server refuses the command (RFC 3501, section 9).
        quoted = message_id.replace("\\", "\\\\").replace('"', '\\"')
        return list(self._client.search(f'HEADER {field} "{quoted}"'))

    @contextmanager
    def _other(self, folder: str) -> Iterator[None]:
        """Open another folder read-only inside the block, and our own again afterwards."""
        self._client.select_folder(folder, readonly=True)
        try:
            yield
        finally:
            self._select()

    # The connection

    def _sign_in(self) -> None:
        if self._settings.auth is not SignIn.XOAUTH2:
            return self._connect(None)
        if self._tokens is None or self._now is None:
            raise ValueError("a mailbox with imap.auth = 'xoauth2' needs a TokenSource and a clock")
        return self._tokens.sign_in(self._connect, SignInRefused, self._now(), host=self._settings.host)

    def _connect(self, token: str | None) -> None:
        self.close()  # the connection on which a token was refused
        try:
            with mapped(self._settings):
                self._client = connect(self._settings)
                ends_at = certificate_end(self._client.socket())
                with bounded(self._client, self._settings):
                    sign_in(self._client, self._settings, token)
        except SupportAgentError as error:
            self._observer.connected("imap", error)
            raise
        self._observer.connected("imap", None)
        self._observer.expires("imap_certificate", ends_at)

    def _select(self) -> None:
        with self._asking(self._settings.folder):
            self._selected, self.is_writable = open_folder(
                self._client, self._settings.folder, read_only=self._read_only
            )

    def _asking(self, folder: str | None = None, more_s: float = 0.0) -> AbstractContextManager[None]:
        return asking(self._client, self._settings, folder, more_s)

    def _reader(self) -> FolderReader:
        return FolderReader(self._client, self._settings, self._selected)

    def _make_target(self, folder: str) -> None:
        if not self._is_target_there and not self._client.folder_exists(folder):
            self._client.create_folder(folder)
        self._is_target_there = True

    def _uid_validity(self) -> int:
        value = self._selected.get(b"UIDVALIDITY")
        if value is None:
            raise ConfigError(
                f"folder {self._settings.folder!r} has no UIDVALIDITY, so its mails have no persistent UIDs:"
                " use a folder of a server with persistent UIDs (RFC 3501, section 2.3.1.1)",
                code="imap_uid_validity",
            )
        if not 0 <= int(value) <= MAX_UID:
            raise ImapRefused(f"{self._settings.host}:{self._settings.port} sent the UIDVALIDITY {value}")
        return int(value)
