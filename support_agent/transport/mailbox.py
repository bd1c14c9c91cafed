"""The mailbox we read, over IMAP: what is new since a cursor, waiting for more, and marking what is done.

Invariant: the cursor is (folder, UIDVALIDITY, last UID) and nothing else (S30), reading never sets \\Seen
(S32), nothing is expunged that we did not mark, and each mail of the folder is yielded, if only as a header
or a note that it cannot be read (S37). Checked against a real Dovecot by tests/integration/transport/test_mailbox.py,
and by tests/integration/transport/test_mailbox_cuts.py for a connection that dies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import structlog

from support_agent.config.settings import ImapSettings, SignIn
from support_agent.core.cursor import Cursor
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.transport.imap import (
    DELETED,
    SEEN,
    Refused,
    SignInRefused,
    connect,
    folder_name,
    mapped,
    open_folder,
    sign_in,
    wait_for_input,
)
from support_agent.transport.oauth import TokenSource
from support_agent.transport.reading import FolderReader

log = structlog.get_logger(__name__)

HANDLED_KEYWORD = b"$SupportAgentHandled"
WAIT_SLICE_S = 1.0
"""How soon a wait notices that the program is to stop."""


class Fetched(Frozen):
    """One mail. `cursor` is what to store once the mail is stored.

    `is_rescan`: the folder was numbered anew, and this mail was there then, so that the caller must recognise what
    it has by sha256 and Message-ID (S31).
    `arrived_at` is when the server got the mail (INTERNALDATE), None where it does not say.
    """

    uid: int
    raw: bytes
    cursor: Cursor
    is_rescan: bool = False
    arrived_at: datetime | None = None


class Mailbox:
    """An open connection to one folder; use it as a context manager, from one thread.

    Raises, from every method: ConfigError where the operator must act (login, certificate, STARTTLS, folder),
    TransientError where a later try may pass.

    Args:
        tokens, now: For `imap.auth = "xoauth2"`: where access tokens come from, and the clock.
    """

    def __init__(
        self, settings: ImapSettings, tokens: TokenSource | None = None, now: Callable[[], datetime] | None = None
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._now = now
        self._client: Any = None
        self._selected: dict[bytes, Any] = {}
        self._is_target_there = False
        self.is_writable = True
        """Whether mails may be marked and moved, known once the folder is open."""

    def __enter__(self) -> Self:
        try:
            self._sign_in()
            self._select()
            if not self.is_writable:
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
        """Log out where the server still listens, and release the socket."""
        if self._client is not None:
            self._client.__exit__(None, None, None)
            self._client = None

    # Reading

    def resume(self, cursor: Cursor | None) -> Cursor:
        """Look at the folder anew, and where to go on in it: before the oldest mail for None.

        A folder that was numbered anew is read again from the start, with the mark of a rescan on all that is there
        now (S31).
        """
        self._select()
        uid_validity = self._uid_validity()
        if cursor is None:
            return Cursor(folder=self._settings.folder, uid_validity=uid_validity, last_uid=0)
        if cursor.uid_validity == uid_validity:
            return cursor
        changes = {"uid_validity": uid_validity, "last_uid": 0, "rescan_until": self._reader().newest_uid()}
        return cursor.model_copy(update=changes)

    def end(self) -> Cursor:
        """The cursor behind the newest mail: for a first start that leaves old mail alone."""
        return self.resume(None).model_copy(update={"last_uid": self._reader().newest_uid()})

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        """Yield the mails after a cursor that `resume` or `end` gave, in the order of their UIDs."""
        for listed, raw in self._reader().mails_after(cursor.last_uid):
            yield Fetched(
                uid=listed.uid,
                raw=raw,
                cursor=cursor.model_copy(update={"last_uid": listed.uid}),
                is_rescan=listed.uid <= cursor.rescan_until,
                arrived_at=listed.arrived_at,
            )

    def count_after(self, cursor: Cursor | None) -> int:
        """How many mails are after a cursor; none of them is read."""
        here = self.resume(cursor)
        return sum(map(len, self._reader().uids_after(here.last_uid)))

    @property
    def can_idle(self) -> bool:
        """Whether the server says that it can tell of new mail by itself."""
        with mapped(self._settings):
            return bool(self._client.has_capability("IDLE"))

    def wait(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Wait in IDLE until the server tells of mail, for at most this long; whether it told (RFC 2177)."""
        with mapped(self._settings):
            self._client.idle()
            waited_s, is_heard = 0.0, False
            while not is_heard and waited_s < timeout_s and not is_stopping():
                slice_s = min(WAIT_SLICE_S, timeout_s - waited_s)
                is_heard = wait_for_input(self._client, slice_s)
                waited_s += slice_s
            self._client.idle_done()
        return is_heard

    # Marking

    def mark_handled(self, uid: int, message_id: str | None = None) -> None:
        """Set our keyword where the folder permits it, then move the mail to `imap.move_handled_to` where that is set.

        Moves with MOVE (RFC 6851), else COPY, \\Deleted and UID EXPUNGE of this one UID (RFC 4315); a server
        with neither keeps the mail in place, because a bare EXPUNGE would take what others have marked. A mail that
        the server does not let us mark or move stays where it is.

        Args:
            message_id: Given where the process died, perhaps in here: no second copy of such a mail is made.
        """
        if not self.is_writable:
            return
        try:
            with mapped(self._settings):
                self._mark(uid)
                if self._settings.move_handled_to:
                    self._make_target(self._settings.move_handled_to)
                    self._move(uid, self._settings.move_handled_to, message_id)
        except Refused as error:
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
        """Whether the other folder has a mail of the same Message-ID and size; a mail that is gone was moved."""
        own = self._sizes([uid])
        with self._other(folder):
            return not own or own[uid] in self._sizes(self._with_message_id(message_id)).values()

    def _sizes(self, uids: Sequence[int]) -> dict[int, object]:
        told = self._client.fetch(uids, ["RFC822.SIZE"]) if uids else {}
        return {uid: data[b"RFC822.SIZE"] for uid, data in told.items()}

    # Other folders

    def has_message_id(self, folder: str, message_id: str) -> bool:
        """Whether a folder has a mail with this Message-ID, angle brackets included."""
        with mapped(self._settings, folder), self._other(folder):
            return bool(self._with_message_id(message_id))

    def append(self, folder: str, raw: bytes, sent_at: datetime) -> None:
        """File a mail that went out into a folder, as read; as often as it is called."""
        with mapped(self._settings):
            self._client.append(folder, raw, flags=[SEEN], msg_time=sent_at)

    def special_folder(self, use: str) -> str | None:
        """The name of the folder for a use such as "\\\\Sent" (RFC 6154), or of one that is commonly called so."""
        with mapped(self._settings):
            name = self._client.find_special_folder(use.encode("ascii"))
        return None if name is None else folder_name(name)

    def has_folder(self, folder: str) -> bool:
        """Whether there is a folder of this name."""
        with mapped(self._settings):
            return bool(self._client.folder_exists(folder))

    def _with_message_id(self, message_id: str) -> list[int]:
        if not (message_id.isascii() and message_id.isprintable()):
            return []  # such an identifier cannot be asked for
        return list(self._client.search(["HEADER", "Message-ID", message_id]))

    @contextmanager
    def _other(self, folder: str) -> Iterator[None]:
        """Another folder is open inside, for reading; afterwards our own is again."""
        self._client.select_folder(folder, readonly=True)
        try:
            yield
        finally:
            self._select()

    # The connection

    def _sign_in(self) -> None:
        """An access token that the server does not take is replaced, once: it may have been revoked early."""
        token = self._token()
        try:
            self._connect(token)
        except SignInRefused:
            if token is None or self._tokens is None:
                raise
            log.warning("access_token_refused", host=self._settings.host)
            self._tokens.refused(token)
            self.close()
            self._connect(self._token())

    def _token(self) -> str | None:
        if self._settings.auth is not SignIn.XOAUTH2:
            return None
        if self._tokens is None or self._now is None:
            raise ValueError("a mailbox with imap.auth = 'xoauth2' is given a TokenSource and a clock")
        return self._tokens.token(self._now())

    def _connect(self, token: str | None) -> None:
        with mapped(self._settings):
            self._client = connect(self._settings)
            sign_in(self._client, self._settings, token)

    def _select(self) -> None:
        with mapped(self._settings, self._settings.folder):
            self._selected, self.is_writable = open_folder(self._client, self._settings.folder)

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
                f"folder {self._settings.folder!r} has no UIDVALIDITY, so its mails have no lasting numbers:"
                " use a folder of a server with persistent UIDs (RFC 3501, section 2.3.1.1)",
                code="imap_uid_validity",
            )
        return int(value)
