"""Open an IMAP connection over verified TLS, sign in, and map the library's errors to ours.

Invariant: no secret is sent before TLS is established, unless the settings allow plain connections (S36); no library
error leaves this package unmapped, and no error contains a secret. Checked against a real Dovecot and a scripted server
by tests/integration/transport/test_mailbox.py and tests/integration/transport/test_sign_in.py.
"""

from __future__ import annotations

import io
import re
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import imapclient  # type: ignore[import-untyped]
from imapclient.exceptions import (  # type: ignore[import-untyped]
    CapabilityError,
    IMAPClientAbortError,
    IMAPClientError,
    IMAPClientReadOnlyError,
    LoginError,
    ProtocolError,
)

from support_agent.config.mail_servers import ImapSettings, Security, SignIn
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.transport.oauth import xoauth2
from support_agent.transport.tls import client_context

DELETED = b"\\Deleted"
SEEN = b"\\Seen"
MOST_TIMEOUTS = 10
"""Times `imap.timeout_s` that a command may take, besides the time of a mail's bytes."""
PASSING_CODES = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]")
"""Response codes of temporary refusals (RFC 5530)."""
_AS_BYTES = re.compile(r"""^b(['"])(.*)\1$""")
"""The server's words as imaplib's errors have them."""


class ImapRefused(TransientError):
    """The server answered one command with NO or nonsense; the connection is still usable."""


class SignInRefused(ConfigError):
    """The server rejects the password or the access token."""

    code = "imap_login"


def connect(settings: ImapSettings) -> Any:
    """An `imapclient.IMAPClient` on a connection secured as the settings say, not signed in yet."""
    context = None if settings.security is Security.PLAIN else client_context(settings, "imap")
    client = imapclient.IMAPClient(
        settings.host,
        port=settings.port,
        ssl=settings.security is Security.TLS,
        ssl_context=context,
        timeout=settings.timeout_s,
    )
    client.normalise_times = False  # keep the server's time zone
    try:
        if settings.security is Security.STARTTLS:
            client.starttls(context)  # raises if the server does not offer it: no plain-text fallback
    except BaseException:
        with suppress(OSError):
            client.shutdown()
        raise
    return client


def sign_in(client: Any, settings: ImapSettings, access_token: str | None) -> None:
    """Sign in with the password, or with XOAUTH2 if there is an access token."""
    user, password = settings.user, settings.password.get_secret_value()
    if access_token is not None:
        client.sasl_login("XOAUTH2", _Xoauth2(user, access_token))
    elif user.isascii() and password.isascii():
        client.login(user, password)
    else:  # LOGIN knows ASCII alone (RFC 3501, section 9), PLAIN all of UTF-8 (RFC 4616)
        client.sasl_login("PLAIN", lambda _: f"\0{user}\0{password}".encode())
    if client.has_capability("UTF8=ONLY"):  # RFC 6855: such a server accepts no other command first
        client.enable("UTF8=ACCEPT")
        _speak_utf8(client)
        client.folder_encode = False


class _Xoauth2:
    """The client's side of XOAUTH2: first the token, then an empty answer to the server's JSON error."""

    def __init__(self, user: str, access_token: str) -> None:
        self._answers = [xoauth2(user, access_token)]

    def __call__(self, challenge: bytes) -> bytes:
        return self._answers.pop() if self._answers else b""


def open_folder(client: Any, folder: str, *, read_only: bool = False) -> tuple[dict[bytes, Any], bool]:
    """Open a folder with SELECT; with EXAMINE, which changes no flag, if it is or shall be read-only.

    Returns the server's answer and whether the folder is writable.
    """
    if read_only:
        return client.select_folder(folder, readonly=True), False
    try:
        return client.select_folder(folder), True
    except IMAPClientReadOnlyError:  # [READ-ONLY] (RFC 3501, section 6.3.1)
        return client.select_folder(folder, readonly=True), False


def folder_name(name: str | bytes) -> str:
    """A folder's name from a listing, which has bytes if the connection uses UTF-8."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def wait_for_input(client: Any, timeout_s: float) -> bool:
    """Whether the server sends something within this time, or has sent something that was not read yet."""
    connection: socket.socket = client.socket()
    usual_timeout_s = connection.gettimeout()
    connection.settimeout(0)
    try:
        # A notification in the same packet as the answer to IDLE is in the reader's buffer, not in the socket.
        if _reader(client).peek(1):
            return True
    except (BlockingIOError, ssl.SSLWantReadError):
        pass
    finally:
        connection.settimeout(usual_timeout_s)
    poller = select.poll()  # not `select`, which cannot watch a file number above 1023
    poller.register(connection.fileno(), select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))


# The next two functions are the only ones here that use private attributes of the libraries, because there is no public
# way. test_what_is_private_to_the_libraries_is_as_it_was checks that the attributes still exist.


def _reader(client: Any) -> io.BufferedReader:
    """The file that `imaplib` reads lines from; only its buffer shows what has arrived but was not read.

    True up to Python 3.13; later versions of `imaplib` have an additional buffer.
    """
    reader: io.BufferedReader = client._imap.file
    return reader


def _speak_utf8(client: Any) -> None:
    """Switch to UTF-8, as `imaplib.IMAP4.enable` does; that method refuses, because it knows only the old
    capabilities."""
    client._imap._mode_utf8()


@contextmanager
def bounded(client: Any, settings: ImapSettings, more_s: float = 0.0) -> Iterator[None]:
    """End the connection if the commands inside take too long: `imap.timeout_s` begins anew with each byte.

    Args:
        more_s: Time that they may take besides.
    """
    end = threading.Timer(MOST_TIMEOUTS * settings.timeout_s + more_s, _end, [client])
    end.daemon = True
    end.start()
    try:
        yield
    finally:
        end.cancel()


def _end(client: Any) -> None:
    with suppress(OSError):  # it has ended meanwhile
        client.socket().shutdown(socket.SHUT_RDWR)


@contextmanager
def asking(client: Any, settings: ImapSettings, folder: str | None = None, more_s: float = 0.0) -> Iterator[None]:
    """Bound the time of the commands inside, see `bounded`, and map their errors, see `mapped`."""
    with mapped(settings, folder), bounded(client, settings, more_s):
        yield


@contextmanager
def mapped(settings: ImapSettings, folder: str | None = None) -> Iterator[None]:
    """Map every library error to ours; `folder` is the folder that the commands inside open."""
    try:
        yield
    except SupportAgentError:
        raise
    except (IMAPClientError, OSError, ssl.SSLError) as error:
        raise _map_error(error, settings, folder) from error
    except (ValueError, RecursionError) as error:  # the library cannot parse the answer, which was read completely
        where = f"{settings.host}:{settings.port}"
        raise ImapRefused(f"{where} answered what is not IMAP: {type(error).__name__}") from error
    except MemoryError as error:  # the rest of the answer is unread, so the connection is unusable
        raise TransientError(f"{settings.host}:{settings.port} sent more than there is memory for") from error


def _map_error(error: Exception, settings: ImapSettings, folder: str | None) -> SupportAgentError:
    where = f"{settings.host}:{settings.port}"
    text = " ".join(_AS_BYTES.sub(r"\2", str(error)).split())[:300]
    if isinstance(error, LoginError) and not isinstance(error.__context__, IMAPClientAbortError):
        return _map_refusal(where, text, settings)
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
    if isinstance(error, LoginError | IMAPClientAbortError | OSError):  # a login error here: the connection died
        return TransientError(f"{where} cannot be used now: {text or type(error).__name__}")
    if folder is not None and not _is_passing(text):
        return ConfigError(f"{where} cannot open the folder {folder!r} ({text}): check [imap]", code="imap_folder")
    if isinstance(error, ProtocolError):
        return ImapRefused(f"{where} answered what is not IMAP: {text}")
    return ImapRefused(f"{where} refused a command: {text}")


def _is_passing(text: str) -> bool:
    return any(code in text.upper() for code in PASSING_CODES)


def _map_refusal(where: str, text: str, settings: ImapSettings) -> SupportAgentError:
    if _is_passing(text):
        return TransientError(f"{where} cannot log in {settings.user!r} now: {text}")
    if settings.auth is SignIn.XOAUTH2:
        todo = "check imap.user and [oauth], and that the account may use IMAP"
    else:
        todo = "check imap.user and imap.password"
    return SignInRefused(f"{where} refuses imap.user {settings.user!r} ({text}): {todo}")
