"""Access tokens for servers that take no password (XOAUTH2): fetched, kept until shortly before they end, renewed.

Invariant: a secret goes to the token endpoint alone and stands in no error and no log, and a refresh token that the
endpoint replaces is on disk, whole and for our eyes only, before the access token that came with it is used. Checked
against a local token endpoint by tests/unit/transport/test_oauth.py, and against a real Dovecot by
tests/integration/transport/test_sign_in.py.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

import structlog
from pydantic import BaseModel, Field, ValidationError

from support_agent.config.mail_servers import OAuthSettings
from support_agent.core.file_lock import takes_lock
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.transport.bounded_request import RequestLimits, ask

log = structlog.get_logger(__name__)
T = TypeVar("T")

MAX_ANSWER_BYTES = 100_000
MAX_SECRET_BYTES = 20_000
LOCK_PAUSE_S = 0.05
DEFAULT_LIFE_S = 300
"""Of a token whose endpoint does not say how long it lives (RFC 6749, section 5.1: it should)."""
TODO = {
    "invalid_grant": "sign in again, and put the new refresh token into oauth.refresh_token_file",
    "invalid_client": "check oauth.client_id and oauth.client_secret_file; the secret may have expired",
    "unauthorized_client": "let this client use this way of signing in where it is registered; check oauth.client_id",
    "unsupported_grant_type": "check oauth.token_url; without oauth.refresh_token_file the client signs in by itself",
    "invalid_scope": "check oauth.scope",
    "invalid_request": "check oauth.token_url, oauth.client_id and oauth.scope",
    "interaction_required": "sign in again, and put the new refresh token into oauth.refresh_token_file",
    "consent_required": "sign in again, and put the new refresh token into oauth.refresh_token_file",
}
"""What to do about an error code of the endpoint (RFC 6749, section 5.2, and Microsoft's own)."""
PASSING = {"temporarily_unavailable", "server_error", "slow_down"}


class _Answer(BaseModel):
    """What the endpoint gives (RFC 6749, section 5.1); numbers come as text from some."""

    access_token: str = Field(min_length=1, max_length=MAX_SECRET_BYTES, pattern=r"^[\x21-\x7e]+$")
    token_type: str = "Bearer"
    expires_in: float = Field(default=DEFAULT_LIFE_S, ge=0, le=10**9, allow_inf_nan=False)
    refresh_token: str | None = Field(default=None, max_length=MAX_SECRET_BYTES)
    refresh_token_expires_in: float | None = Field(default=None, ge=0, le=10**9, allow_inf_nan=False)
    """Not in the RFC; some endpoints give it."""


class _Refusal(BaseModel):
    """What it says instead (section 5.2)."""

    error: str = Field(max_length=200)
    error_description: str = ""


class _Token(NamedTuple):
    text: str
    ends_at: datetime


class TokenSource:
    """The one place that holds the access token of the mail account; any thread may ask."""

    def __init__(self, settings: OAuthSettings, observer: Observer = UNOBSERVED) -> None:
        """Args: `observer` is notified when the refresh token ends, as far as the endpoint says it."""
        self._settings = settings
        self._observer = observer
        self._lock = Lock()
        self._token: _Token | None = None
        self._rotated: tuple[str, str] | None = None
        """A refresh token that could not be stored, behind the one of the file that it replaces."""

    def token(self, now: datetime) -> str:
        """An access token that lives for `oauth.renew_before_s` yet.

        Raises:
            ConfigError: a person must act: sign in again, or correct `[oauth]`.
            TransientError: the endpoint cannot be reached, or says that it will do later.
        """
        with self._lock:
            margin = timedelta(seconds=self._settings.renew_before_s)
            if self._token is None or self._token.ends_at - margin <= now:
                self._token = self._fetch(now)
            return self._token.text

    def sign_in(self, attempt: Callable[[str], T], refusal: type[Exception], now: datetime, *, host: str) -> T:
        """Sign in with a token; replace one that the server refuses once, because it may have been revoked early.

        Args:
            attempt: Signs in with a token, and raises `refusal` where the server does not take it.
            host: The server, for the log.
        Raises:
            ConfigError, TransientError: as `token`, or what the attempt raises.
        """
        token = self.token(now)
        try:
            return attempt(token)
        except refusal as error:
            log.warning("access_token_refused", host=host, error=type(error).__name__)
            self.refused(token)
            return attempt(self.token(now))

    def refused(self, token: str) -> None:
        """A server did not take this token: the next call fetches another. A newer one is kept."""
        with self._lock:
            if self._token is not None and self._token.text == token:
                self._token = None

    def _fetch(self, now: datetime) -> _Token:
        settings = self._settings
        if not settings.token_url or not settings.client_id:
            raise ConfigError(
                "auth = 'xoauth2' needs an address to get access tokens from: set oauth.token_url and oauth.client_id"
            )
        form = {"client_id": settings.client_id}
        if settings.client_secret_file is not None:
            form["client_secret"] = _read_secret(settings.client_secret_file, "oauth.client_secret_file")
        if settings.scope:
            form["scope"] = settings.scope
        if settings.refresh_token_file is None:
            if settings.client_secret_file is None:
                raise ConfigError("[oauth] has nothing to sign in with: set oauth.refresh_token_file")
            answer = self._ask({"grant_type": "client_credentials", **form})
        else:
            with _alone_with(settings.refresh_token_file, settings.timeout_s):
                refresh_token = self._refresh_token(settings.refresh_token_file)
                answer = self._refreshed({"grant_type": "refresh_token", "refresh_token": refresh_token, **form}, now)
                if answer.refresh_token and answer.refresh_token != refresh_token:
                    self._keep(settings.refresh_token_file, answer.refresh_token)
        return _Token(answer.access_token, now + timedelta(seconds=answer.expires_in))

    def _refreshed(self, form: dict[str, str], now: datetime) -> _Answer:
        """Use the refresh token; one that the endpoint refuses has ended."""
        try:
            answer = self._ask(form)
        except ConfigError:
            self._observer.expires("refresh_token", now)
            raise
        lives_s = answer.refresh_token_expires_in
        self._observer.expires("refresh_token", None if lives_s is None else now + timedelta(seconds=lives_s))
        return answer

    def _refresh_token(self, file: Path) -> str:
        """That of the file, which a person may replace at any time; or the one that should be in it."""
        stored = _read_secret(file, "oauth.refresh_token_file")
        return self._rotated[1] if self._rotated is not None and self._rotated[0] == stored else stored

    def _keep(self, file: Path, refresh_token: str) -> None:
        """The old one may be void by now: where the new one cannot be stored, this process goes on with it."""
        stored = _read_secret(file, "oauth.refresh_token_file")
        try:
            write_secret(file, refresh_token)
            self._rotated = None
        except OSError as error:
            self._rotated = (stored, refresh_token)
            log.critical("refresh_token_not_stored", file=str(file), why=error.strerror)

    def _ask(self, form: dict[str, str]) -> _Answer:
        limits = RequestLimits(self._settings.timeout_s, MAX_ANSWER_BYTES, "oauth.token_url")
        status, body = ask("POST", self._settings.token_url, limits, form)
        if status != 200:
            raise _map_refusal(self._settings, status, body)
        try:
            answer = _Answer.model_validate_json(body)
        except ValidationError:
            answer = None
        if answer is None or answer.token_type.lower() != "bearer":
            raise TransientError(
                f"{self._settings.token_url} answered what is no access token: check oauth.token_url if this stays so"
            )
        return answer


def xoauth2(user: str, access_token: str) -> bytes:
    """The initial response of SASL XOAUTH2, before base64.

    Source: Google, "OAuth 2.0 mechanism"; the same for Microsoft 365.
    Raises:
        ConfigError: a control character in the user's name.
    """
    if re.search(r"[\x00-\x1f\x7f]", user + access_token):
        raise ConfigError("a control character in the user's name or access token: check the setting `user`")
    return f"user={user}\x01auth=Bearer {access_token}\x01\x01".encode()


@contextmanager
def _alone_with(file: Path, longest_s: float) -> Iterator[None]:
    """Keep other processes of this machine from using the refresh token at the same time.

    An endpoint that replaces it may void all tokens if the old one comes twice (RFC 9700, section 4.14.2). The lock is
    on the file itself, which needs no right to write; where the file system has no locks, there is none.

    Raises:
        TransientError: another process has it for too long.
    """
    with ExitStack() as stack:
        for _ in range(1 + round(longest_s / LOCK_PAUSE_S)):
            may_go_on = True
            with suppress(OSError):  # to read the file says what is wrong with it
                held = stack.enter_context(file.open("rb"))
                may_go_on = takes_lock(held, without_locks=True)
                may_go_on = may_go_on and os.path.samestat(os.fstat(held.fileno()), file.stat())  # else it was replaced
            if may_go_on:
                yield
                return
            stack.close()
            time.sleep(LOCK_PAUSE_S)
    raise TransientError(f"another process has used {file} for {longest_s:g} s: the next try comes by itself")


def write_secret(file: Path, secret: str) -> None:
    """Replace a file's content in one step; only its owner may read it (0600, also while it is written).

    The owner stays: another user's process may have to read it.
    """
    target = file.resolve()  # a link stays one
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            with suppress(OSError):  # it is a new file, or this user may not give files away
                earlier = target.stat()
                os.fchown(number, earlier.st_uid, earlier.st_gid)
            stream.write(secret + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read_secret(file: Path, key: str) -> str:
    try:
        with file.open("rb") as stream:
            secret = stream.read(MAX_SECRET_BYTES + 1).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ConfigError(f"{key} {file} cannot be read ({reason}): put the secret alone into that file") from None
    if not secret or len(secret) > MAX_SECRET_BYTES or any(not character.isprintable() for character in secret):
        raise ConfigError(f"{key} {file} holds no secret: put the secret alone into that file")
    return secret


def _map_refusal(settings: OAuthSettings, status: int, body: bytes) -> SupportAgentError:
    where = settings.token_url
    try:
        refusal = _Refusal.model_validate_json(body)
    except ValidationError:
        refusal = _Refusal(error="")
    code = refusal.error
    if status == 429 or status >= 500 or code in PASSING:
        return TransientError(f"{where} gives no access token now (HTTP {status})")
    if not code:
        return ConfigError(f"{where} is no token endpoint (HTTP {status}): check oauth.token_url", code="oauth_refused")
    said = " ".join(_without_secrets(refusal.error_description, settings).split())[:200].rstrip(".:")
    text = f"{code} ({said})" if said else code
    todo = TODO.get(code, "check [oauth]")
    if code == "invalid_grant" and settings.refresh_token_file is None:
        todo = TODO["invalid_client"]
    return ConfigError(f"{where} gives no access token, {text}: {todo}", code="oauth_refused")


def _without_secrets(text: str, settings: OAuthSettings) -> str:
    """An endpoint may repeat what it was sent."""
    for file, key in (
        (settings.client_secret_file, "oauth.client_secret_file"),
        (settings.refresh_token_file, "oauth.refresh_token_file"),
    ):
        if file is not None:
            text = text.replace(_read_secret(file, key), "***")
    return "".join(character if character.isprintable() else " " for character in text)
