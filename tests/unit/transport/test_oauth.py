"""Access tokens for XOAUTH2 from an endpoint that speaks the protocol, and from one that does not; row S36."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from support_agent.config.mail_servers import OAuthSettings
from support_agent.core.observing import Unobserved
from support_agent.errors import ConfigError, TransientError
from support_agent.transport.oauth import TokenSource, write_secret, xoauth2
from tests.servers.token_endpoint import CLIENT_ID, CLIENT_SECRET, TokenEndpoint, token_endpoint

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with token_endpoint() as running:
        yield running


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A folder with a client secret and a refresh token."""
    write_secret(tmp_path / "client", CLIENT_SECRET)
    write_secret(tmp_path / "refresh", "refresh-1")
    return tmp_path


def settings(endpoint: TokenEndpoint, secrets: Path, **changes: object) -> OAuthSettings:
    base = {
        "token_url": endpoint.url,
        "client_id": CLIENT_ID,
        "client_secret_file": secrets / "client",
        "refresh_token_file": secrets / "refresh",
        "scope": "https://mail.example/imap offline_access",
    }
    return OAuthSettings.model_validate(base | changes)


def test_s36_token_is_kept_until_shortly_before_it_ends(endpoint: TokenEndpoint, secrets: Path) -> None:
    """One request for many mails; `oauth.renew_before_s` before the end there is another."""
    source = TokenSource(settings(endpoint, secrets, renew_before_s=120))
    assert [source.token(NOON), source.token(NOON + HOUR - timedelta(seconds=121))] == ["access-1", "access-1"]
    assert source.token(NOON + HOUR - timedelta(seconds=120)) == "access-2"
    assert endpoint.asked[0] == {
        "grant_type": "refresh_token",
        "refresh_token": "refresh-1",
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "scope": "https://mail.example/imap offline_access",
    }


def test_s36_program_of_its_own_signs_in_by_its_secret(endpoint: TokenEndpoint, secrets: Path) -> None:
    """Microsoft 365: client_credentials, where there is no refresh token."""
    source = TokenSource(settings(endpoint, secrets, refresh_token_file=None, scope="https://mail.example/.default"))
    assert source.token(NOON) == "access-1"
    assert endpoint.asked[0]["grant_type"] == "client_credentials"
    assert "refresh_token" not in endpoint.asked[0]


def test_client_without_a_secret_sends_none(endpoint: TokenEndpoint, secrets: Path) -> None:
    assert TokenSource(settings(endpoint, secrets, client_secret_file=None)).token(NOON) == "access-1"
    assert "client_secret" not in endpoint.asked[0]


@pytest.mark.parametrize("expires_in", ["3600", 3600.0])
def test_end_of_a_token_may_come_as_text(endpoint: TokenEndpoint, secrets: Path, expires_in: object) -> None:
    """As Microsoft's first version has it."""
    endpoint.expires_in = expires_in
    source = TokenSource(settings(endpoint, secrets))
    assert source.token(NOON) == source.token(NOON + HOUR / 2) == "access-1"


def test_refused_token_is_replaced_and_a_newer_one_stays(endpoint: TokenEndpoint, secrets: Path) -> None:
    """Two connections may be refused with the same old token."""
    source = TokenSource(settings(endpoint, secrets))
    first = source.token(NOON)
    source.refused(first)
    second = source.token(NOON)
    source.refused(first)
    assert source.token(NOON) == second == "access-2"


def test_refresh_token_that_is_replaced_is_stored_for_our_eyes_only(endpoint: TokenEndpoint, secrets: Path) -> None:
    """The old one may be void; the next process must have the new one. Nothing else is left in the folder."""
    endpoint.rotates = True
    TokenSource(settings(endpoint, secrets)).token(NOON)
    file = secrets / "refresh"
    assert file.read_text() == "refresh-2\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in secrets.iterdir()) == ["client", "refresh"]
    assert TokenSource(settings(endpoint, secrets)).token(NOON) == "access-2"


def test_processes_that_renew_at_once_use_a_refresh_token_once(endpoint: TokenEndpoint, secrets: Path) -> None:
    """Failure: the worker and the desk's page renewed at once; the second one was refused, which alarmed the desk, and
    an endpoint may void every token of a refresh token that is used twice (RFC 9700, section 4.14.2).
    """
    endpoint.rotates, endpoint.delay_s = True, 0.2
    sources = [TokenSource(settings(endpoint, secrets)) for _ in range(3)]
    with ThreadPoolExecutor(len(sources)) as pool:
        got = list(pool.map(lambda source: source.token(NOON), sources))
    assert sorted(got) == ["access-1", "access-2", "access-3"]
    used = [form["refresh_token"] for form in endpoint.asked]
    assert used == ["refresh-1", "refresh-2", "refresh-3"]


def test_renewal_does_not_wait_for_a_stopped_process_for_ever(endpoint: TokenEndpoint, secrets: Path) -> None:
    with (secrets / "refresh").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(TransientError, match="another process"):
            TokenSource(settings(endpoint, secrets, timeout_s=0.2)).token(NOON)
    assert endpoint.asked == []


def test_file_of_a_secret_keeps_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: `doctor` as root renewed the token, and the worker, another user, could not read its file any more."""
    file, owners = tmp_path / "refresh", list[tuple[int, int]]()
    file.write_text("refresh-1")
    monkeypatch.setattr(os, "fchown", lambda _number, user, group: owners.append((user, group)))
    write_secret(file, "refresh-2")
    assert owners == [(file.stat().st_uid, file.stat().st_gid)]


class Told(Unobserved):
    """Keeps when the refresh token ends."""

    def __init__(self) -> None:
        self.ends: list[datetime | None] = []

    def expires(self, what: str, ends_at: datetime | None) -> None:
        assert what == "refresh_token"
        self.ends.append(ends_at)


def test_the_end_of_the_refresh_token_is_told_where_the_endpoint_says_it(
    endpoint: TokenEndpoint, secrets: Path
) -> None:
    """Rule: that of an access token is no news, as it is renewed; a refused refresh token has ended."""
    answer = b'{"access_token": "a", "expires_in": 3600, "refresh_token_expires_in": 86400}'
    endpoint.answers = [(200, answer), (503, b""), (400, b'{"error": "invalid_grant"}')]
    told = Told()
    source = TokenSource(settings(endpoint, secrets), told)
    source.token(NOON)
    for refused in (TransientError, ConfigError):
        with pytest.raises(refused):
            source.token(NOON + HOUR)
    source.token(NOON + 2 * HOUR)
    assert told.ends == [NOON + 24 * HOUR, NOON + HOUR, None]


def test_link_to_a_secret_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_secret(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"


def test_refresh_token_that_cannot_be_stored_is_an_alarm_and_used_all_the_same(
    endpoint: TokenEndpoint, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a person puts another one into the file."""
    endpoint.rotates = True

    def read_only(file: Path, secret: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("support_agent.transport.oauth.write_secret", read_only)
    source = TokenSource(settings(endpoint, secrets))
    with capture_logs() as logs:
        source.token(NOON)
        source.token(NOON + HOUR)
    assert [entry["event"] for entry in logs] == ["refresh_token_not_stored"] * 2
    assert "refresh-" not in str(logs)
    assert [form["refresh_token"] for form in endpoint.asked] == ["refresh-1", "refresh-2"]
    (secrets / "refresh").write_text("refresh-9")
    endpoint.refresh_token = "refresh-9"
    source.token(NOON + 2 * HOUR)
    assert endpoint.asked[-1]["refresh_token"] == "refresh-9"


@pytest.mark.parametrize(
    ("body", "todo"),
    [
        (
            b'{"error": "invalid_grant", "error_description": "expired"}',
            "sign in again, .*refresh_token_",
        ),
        (b'{"error": "invalid_client"}', r"oauth\.client_id and oauth\.client_secret_file"),
        (b'{"error": "unauthorized_client"}', "where it is registered"),
        (b'{"error": "invalid_scope"}', r"check oauth\.scope"),
        (b'{"error": "something_new"}', r"check \[oauth\]"),
        (b"<html>no such page</html>", r"no token endpoint \(HTTP 400\): check oauth\.token_url"),
    ],
)
def test_s36_refusal_says_what_to_do(endpoint: TokenEndpoint, secrets: Path, body: bytes, todo: str) -> None:
    """RFC 6749, section 5.2."""
    endpoint.answers = [(400, body)]
    with pytest.raises(ConfigError, match=todo):
        TokenSource(settings(endpoint, secrets)).token(NOON)


def test_nothing_that_was_sent_is_repeated_in_an_error(endpoint: TokenEndpoint, secrets: Path) -> None:
    """An endpoint may quote the secrets."""
    said = b'{"error": "invalid_grant", "error_description": "refresh-1 of client-secret-1 \\u001b[31m is void"}'
    endpoint.answers = [(400, said)]
    with pytest.raises(ConfigError) as caught:
        TokenSource(settings(endpoint, secrets)).token(NOON)
    assert "*** of ***" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "answer",
    [
        (503, b"busy"),
        (429, b'{"error": "slow_down"}'),
        (400, b'{"error": "temporarily_unavailable"}'),
        (200, b"<html>sign in</html>"),
        (200, b"{}"),
        (200, b'{"access_token": "line\\nbreak", "token_type": "Bearer"}'),
        (200, b'{"access_token": "a", "token_type": "mac"}'),
        (200, b"\xff\xfe"),
        (200, b'{"access_token": "' + b"a" * 200_000 + b'"}'),
    ],
)
def test_endpoint_in_trouble_may_recover(endpoint: TokenEndpoint, secrets: Path, answer: tuple[int, bytes]) -> None:
    """Busy, or garbage where a token should be: the next try asks again."""
    endpoint.answers = [answer]
    source = TokenSource(settings(endpoint, secrets))
    with pytest.raises(TransientError, match=endpoint.url):
        source.token(NOON)
    assert source.token(NOON) == "access-2"


def test_slow_endpoint_is_given_up_after_the_timeout(endpoint: TokenEndpoint, secrets: Path) -> None:
    endpoint.delay_s = 0.5
    with pytest.raises(TransientError, match=r"did not answer within 0\.05 s"):
        TokenSource(settings(endpoint, secrets, timeout_s=0.05)).token(NOON)


def test_the_timeout_is_that_of_the_whole_answer(endpoint: TokenEndpoint, secrets: Path) -> None:
    """Failure: a byte now and then began it anew, and everything that signs in waited."""
    endpoint.pause_s = 0.01
    with pytest.raises(TransientError, match=r"did not answer within 0\.05 s"):
        TokenSource(settings(endpoint, secrets, timeout_s=0.05)).token(NOON)


def test_endpoint_that_is_not_there_may_come_back(secrets: Path) -> None:
    with token_endpoint() as gone:
        where = settings(gone, secrets)
    with pytest.raises(TransientError, match="cannot be used now"):
        TokenSource(where).token(NOON)


def test_secrets_do_not_follow_a_redirect(endpoint: TokenEndpoint, secrets: Path) -> None:
    endpoint.answers = [(307, b"")]
    with pytest.raises(ConfigError, match=r"no token endpoint \(HTTP 307\)"):
        TokenSource(settings(endpoint, secrets)).token(NOON)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("content", [None, b"", b"  \n", b"two\nlines", b"\xff\xfe", b"x" * 20_001])
def test_file_without_a_secret_is_named(endpoint: TokenEndpoint, secrets: Path, content: bytes | None) -> None:
    """And its content is not."""
    file = secrets / "refresh"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"oauth\.refresh_token_file .*/refresh"):
        TokenSource(settings(endpoint, secrets)).token(NOON)


@pytest.mark.parametrize("changes", [{"token_url": ""}, {"client_id": ""}])
def test_address_and_client_are_needed(endpoint: TokenEndpoint, secrets: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"set oauth\.token_url and oauth\.client_id"):
        TokenSource(settings(endpoint, secrets, **changes)).token(NOON)


def test_something_to_sign_in_with_is_needed(endpoint: TokenEndpoint, secrets: Path) -> None:
    nothing = settings(endpoint, secrets, client_secret_file=None, refresh_token_file=None)
    with pytest.raises(ConfigError, match=r"set oauth\.refresh_token_file"):
        TokenSource(nothing).token(NOON)


@pytest.mark.parametrize("url", ["http://example.com/token", "ftp://example.com", "example.com", "http://[::"])
def test_s36_secrets_are_not_sent_in_the_clear(url: str) -> None:
    """Loopback alone needs no TLS."""
    with pytest.raises(ValueError, match=r"https://|not a URL"):
        OAuthSettings(token_url=url)


def test_s36_initial_response_is_the_documented_one() -> None:
    """Google, "OAuth 2.0 mechanism"; a name cannot smuggle a field in."""
    assert xoauth2("a@example.net", "abc") == b"user=a@example.net\x01auth=Bearer abc\x01\x01"
    with pytest.raises(ConfigError, match="control character"):
        xoauth2("a@example.net\x01auth=Bearer other", "abc")
