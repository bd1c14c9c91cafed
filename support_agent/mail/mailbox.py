"""The mailbox we read, over IMAP: what is new since a cursor, and marking what is done.

Invariant: the cursor is (folder, UIDVALIDITY, last UID) and nothing else (S30), reading never sets \\Seen
(S32), nothing is expunged that we did not mark, and each mail of the folder is yielded, if only as a header
or a note that it cannot be read (S37). Checked against a real Dovecot by
tests/integration/mail/test_mailbox.py.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from types import TracebackType
from typing import Any

import imapclient  # type: ignore[import-untyped]
from imapclient.exceptions import (  # type: ignore[import-untyped]
    CapabilityError,
    IMAPClientAbortError,
    IMAPClientError,
    LoginError,
    ProtocolError,
)

from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.frozen import Frozen
from support_agent.mail.message import not_read
from support_agent.mail.tls import client_context
from support_agent.settings import ImapSettings, Security

HANDLED_KEYWORD = b"$SupportAgentHandled"
SIZE_BATCH = 500
"""UIDs asked for their size in one command."""
TEMPORARY_LOGIN_CODES = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]")
"""Response codes of a refused login that pass by themselves (RFC 5530)."""


class Cursor(Frozen):
    """How far a folder has been read; UIDs mean nothing under another `uid_validity`."""

    folder: str
    uid_validity: int
    last_uid: int


class Fetched(Frozen):
    """One mail. `cursor` is what to store once the mail is stored.

    `is_rescan`: the folder's UIDVALIDITY is not the cursor's, so that everything is read again from the start
    and the caller must recognise what it has by sha256 and Message-ID (S31).
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
    """

    def __init__(self, settings: ImapSettings) -> None:
        self._settings = settings
        self._client: Any = None
        self._selected: dict[bytes, Any] = {}

    def __enter__(self) -> Mailbox:
        with self._mapped():
            self._client = self._connect()
        try:
            with self._mapped():
                self._client.login(self._settings.user, self._settings.password.get_secret_value())
            self._select()
            self._make_handled_folder()
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

    def fetch_after(self, cursor: Cursor | None) -> Iterator[Fetched]:
        """Yield the mails after a cursor in the order of their UIDs; all of them for None."""
        self._select()
        uid_validity = self._uid_validity()
        is_rescan = cursor is not None and cursor.uid_validity != uid_validity
        last_uid = 0 if cursor is None or is_rescan else cursor.last_uid
        for uid, size_bytes, arrived_at in self._new_mails(last_uid):
            raw = self._read(uid, size_bytes)
            if raw is None:  # gone since it was listed
                continue
            here = Cursor(folder=self._settings.folder, uid_validity=uid_validity, last_uid=uid)
            yield Fetched(uid=uid, raw=raw, cursor=here, is_rescan=is_rescan, arrived_at=arrived_at)

    def count_after(self, cursor: Cursor | None) -> int:
        """How many mails `fetch_after` would yield; none of them is read."""
        self._select()
        is_same = cursor is not None and cursor.uid_validity == self._uid_validity()
        return len(self._uids_after(cursor.last_uid if cursor is not None and is_same else 0))

    def end(self) -> Cursor:
        """The cursor behind the newest mail: for a first start that leaves old mail alone."""
        self._select()
        last_uid = int(self._selected.get(b"UIDNEXT", 1)) - 1
        return Cursor(folder=self._settings.folder, uid_validity=self._uid_validity(), last_uid=last_uid)

    def mark_handled(self, uid: int) -> None:
        """Set our keyword where the folder permits it, then move the mail to `handled_folder` where one is
        set.

        Moves with MOVE (RFC 6851), else COPY, \\Deleted and UID EXPUNGE of this one UID (RFC 4315); a server
        with neither keeps the mail in place, because a bare EXPUNGE would take what others have marked.
        """
        folder = self._settings.handled_folder
        with self._mapped():
            permitted = self._selected.get(b"PERMANENTFLAGS", ())
            if b"\\*" in permitted or HANDLED_KEYWORD in permitted:
                self._client.add_flags([uid], [HANDLED_KEYWORD], silent=True)
            if not folder:
                return
            if self._client.has_capability("MOVE"):
                self._client.move([uid], folder)
            elif self._client.has_capability("UIDPLUS"):
                self._client.copy([uid], folder)
                self._client.add_flags([uid], [imapclient.DELETED], silent=True)
                self._client.uid_expunge([uid])

    def _connect(self) -> Any:
        settings = self._settings
        context = None if settings.security is Security.PLAIN else client_context(settings, "imap")
        client = imapclient.IMAPClient(
            settings.host,
            port=settings.port,
            ssl=settings.security is Security.TLS,
            ssl_context=context,
            timeout=settings.timeout_s,
        )
        client.normalise_times = False  # with the server's own zone
        try:
            if settings.security is Security.STARTTLS:
                client.starttls(context)  # raises where the server does not offer it: never in the clear
        except BaseException:
            with suppress(OSError):
                client.shutdown()
            raise
        return client

    def _select(self) -> None:
        with self._mapped(folder=self._settings.folder):
            self._selected = self._client.select_folder(self._settings.folder)

    def _uid_validity(self) -> int:
        value = self._selected.get(b"UIDVALIDITY")
        if value is None:
            raise ConfigError(
                f"folder {self._settings.folder!r} has no UIDVALIDITY, so its mails have no lasting numbers:"
                " use a folder of a server with persistent UIDs (RFC 3501, section 2.3.1.1)",
                code="imap_uid_validity",
            )
        return int(value)

    def _make_handled_folder(self) -> None:
        folder = self._settings.handled_folder
        if folder:
            with self._mapped(folder=folder):
                if not self._client.folder_exists(folder):
                    self._client.create_folder(folder)

    def _new_mails(self, last_uid: int) -> Iterator[tuple[int, int, datetime | None]]:
        """UIDs after the last one with their sizes and when they arrived."""
        uids = self._uids_after(last_uid)
        for start in range(0, len(uids), SIZE_BATCH):
            batch = uids[start : start + SIZE_BATCH]
            with self._mapped():
                told = self._client.fetch(batch, ["RFC822.SIZE", "INTERNALDATE"])
            for uid in batch:
                if uid in told:
                    yield uid, int(told[uid][b"RFC822.SIZE"]), _aware(told[uid].get(b"INTERNALDATE"))

    def _uids_after(self, last_uid: int) -> list[int]:
        """In ascending order. "n:*" always names the newest mail, new or not (S30)."""
        with self._mapped():
            found = self._client.search(["UID", f"{last_uid + 1}:*"])
        return sorted(uid for uid in found if uid > last_uid)

    def _read(self, uid: int, size_bytes: int) -> bytes | None:
        """The mail; its header alone where it is over the limit, nothing of it where the server cannot give it.

        What was not read stands in the bytes, as the topmost header field: they are all that is kept of a mail.
        """
        limit = self._settings.max_message_bytes
        is_whole = size_bytes <= limit
        item = "BODY[]" if is_whole else "BODY[HEADER]"
        try:
            with self._mapped():
                answer = self._client.fetch([uid], [item.replace("BODY", "BODY.PEEK")])
        except _Unreadable:
            where = f"UID {uid} of {self._settings.folder}, UIDVALIDITY {self._uid_validity()}"
            return not_read(f"the server cannot give {where}, {size_bytes} bytes") + b"\r\n"
        raw = answer.get(uid, {}).get(item.encode())
        if not isinstance(raw, bytes):
            return None
        cut = not_read(f"{size_bytes} bytes, only the header of a mail over {limit} is read")
        return raw if is_whole else cut + raw

    @contextmanager
    def _mapped(self, folder: str | None = None) -> Iterator[None]:
        """Map every library error to ours; `folder` is the one that the commands inside name."""
        try:
            yield
        except SupportAgentError:
            raise
        except (IMAPClientError, OSError, ssl.SSLError) as error:
            raise _map_error(error, self._settings, folder) from error


def _aware(arrived_at: object) -> datetime | None:
    return arrived_at if isinstance(arrived_at, datetime) and arrived_at.tzinfo is not None else None


class _Unreadable(TransientError):
    """The server answered NO or nonsense to one command; the connection still stands."""


def _map_error(error: Exception, settings: ImapSettings, folder: str | None) -> SupportAgentError:
    where = f"{settings.host}:{settings.port}"
    text = " ".join(str(error).split())[:300]
    if isinstance(error, LoginError):
        if any(code in text.upper() for code in TEMPORARY_LOGIN_CODES):
            return TransientError(f"{where} cannot log in {settings.user!r} now: {text}")
        return ConfigError(
            f"{where} refuses imap.user {settings.user!r} ({text}): check imap.user and imap.password",
            code="imap_login",
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConfigError(
            f"the certificate of {where} cannot be verified ({text}): check imap.host, or set imap.ca_file",
            code="imap_certificate",
        )
    if isinstance(error, CapabilityError):
        return ConfigError(
            f"{where} does not offer STARTTLS ({text}): set imap.security = 'tls' and its port, usually 993",
            code="imap_security",
        )
    if isinstance(error, IMAPClientAbortError | socket.gaierror | OSError):
        return TransientError(f"{where} cannot be used now: {text or type(error).__name__}")
    if folder is not None:
        return ConfigError(f"{where} cannot open the folder {folder!r} ({text}): check [imap]", code="imap_folder")
    if isinstance(error, ProtocolError):
        return _Unreadable(f"{where} answered what is not IMAP: {text}")
    return _Unreadable(f"{where} refused a command: {text}")
