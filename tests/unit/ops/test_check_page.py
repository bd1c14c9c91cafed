"""What `check` and `doctor` say of the section about the desk's page, and what its settings refuse."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.loading import load
from support_agent.core.diagnosis import Health
from support_agent.core.findings import Severity
from support_agent.demo import workspace
from support_agent.errors import ConfigError, TransientError
from support_agent.ops.check import check_agent, check_file
from support_agent.ops.check_page import check_page
from support_agent.ops.config_file import ConfigFile
from tests.fakes_doctor import Outside, changed, settings_in, the

TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ISSUER = "https://login.example.com"


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("SUPPORT_AGENT__"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace as `init` writes it."""
    folder = tmp_path_factory.mktemp("workspace") / "desk"
    workspace.init(folder, TODAY)
    return folder


def file_with(made: Path, section: str) -> Path:
    path = made / "with-page.toml"
    own = (made / "support-agent.toml").read_text("utf-8")
    path.write_text(f"{own}\n[desk_page]\n{section}", "utf-8")
    return path


def found(made: Path, section: str) -> list[str]:
    """The findings of a section, each as severity, line of the section, and text."""
    path = file_with(made, section)
    config = ConfigFile.read(path)
    head = path.read_text("utf-8").splitlines().index("[desk_page]") + 1
    return [
        f"{one.severity} {one.line - head if one.line else None} {one.what}: {one.todo}"
        for one in check_page(load(path), config)
    ]


@pytest.mark.parametrize(
    "section",
    [
        "",
        'host = "::1"\nport = 9000\n',
        'sign_in = "proxy"\nhost = "0.0.0.0"\npublic_url = "https://desk.example.com"\n',
        f'sign_in = "oidc"\noidc_issuer = "{ISSUER}"\noidc_client_id = "desk"\n',
    ],
)
def test_a_page_that_can_be_used_has_no_findings(made: Path, section: str) -> None:
    assert found(made, section) == []


@pytest.mark.parametrize(
    ("section", "finding"),
    [
        ('admins = ["nobody@example.com"]\n', "error 1 desk_page.admins are not of the staff: nobody@example.com: add"),
        ('\nreaders = ["Anna"]\n', "error 2 desk_page.readers: 'Anna' is no plain address"),
        ('readers = [""]\n', "error 1 desk_page.readers is not set: write the address of a person"),
        ('port = 80\nhost = "192.0.2.1"\n', "error 2 desk_page.host = '192.0.2.1' can be reached by other machines"),
        ('host = "desk"\n', "error 1 desk_page.host = 'desk' can be reached by other machines"),
        ('sign_in = "proxy"\nhost = "::"\n', "error 0 desk_page.public_url is not set, and no browser asks for ::"),
        (
            'sign_in = "proxy"\nhost = "192.0.2.1"\n',
            "warning 0 browsers reach the page at http://192.0.2.1:8035 without TLS",
        ),
        ('sign_in = "proxy"\nproxy_addresses = []\n', "error 2 desk_page.proxy_addresses is empty"),
        ('sign_in = "oidc"\noidc_client_id = "x"\n', "error 0 desk_page.oidc_issuer is not set"),
        (f'sign_in = "oidc"\noidc_issuer = "{ISSUER}"\n', "error 0 desk_page.oidc_client_id is not set"),
    ],
)
def test_a_page_that_cannot_be_used_has_a_finding_in_its_line(made: Path, section: str, finding: str) -> None:
    assert [one[: len(finding)] for one in found(made, section)] == [finding]


def test_check_and_doctor_have_these_findings(made: Path, tmp_path: Path) -> None:
    path = file_with(made, 'admins = ["nobody@example.com"]\n')
    assert any("desk_page.admins are not" in one.what for one in check_file(path, NOON))
    settings = changed(settings_in(tmp_path), "desk_page", host="192.0.2.1")
    assert the("configuration", settings).what.startswith("desk_page.host = '192.0.2.1'")
    assert [one.severity for one in check_agent(settings)][:1] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("public_url", '"desk.example.com"', "write scheme and host"),
        ("public_url", '"https://desk.example.com/page"', "write scheme and host"),
        ("public_url", '"https://user@desk.example.com"', "write scheme and host"),
        ("public_url", '"https://desk.example.com?x"', "write scheme and host"),
        ("public_url", '"https://desk.example.com:99999"', "write scheme and host"),
        ("public_url", '"ftp://desk.example.com"', "write scheme and host"),
        ("host", '"a b"', "desk_page.host"),
        ("port", "0", "desk_page.port"),
        ("sign_in", '"password"', "desk_page.sign_in"),
        ("proxy_header", '"X Email"', "desk_page.proxy_header"),
        ("proxy_addresses", '["10.0.0.1/8"]', "has host bits set"),
        ("proxy_addresses", '["proxy.example.com"]', "does not appear to be an IPv4 or IPv6 network"),
        ("oidc_issuer", '"login.example.com"', "issuer URL"),
        ("oidc_issuer", '"http://login.example.com"', "must begin with https://"),
        ("oidc_issuer", '"https://login.example.com?x=y"', "issuer URL"),
        ("oidc_issuer", '"https://["', "issuer URL"),
        ("oidc_timeout_s", "0", "desk_page.oidc_timeout_s"),
        ("idle_min", "0", "desk_page.idle_min"),
        ("session_h", "1000", "desk_page.session_h"),
        ("admin", "[]", "desk_page.admin"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(made: Path, key: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(file_with(made, f"{key} = {value}\n"))
    assert why in str(caught.value)
    assert f"desk_page.{key}" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://Desk.Example.com:443", "https://desk.example.com"),
        ("https://desk.example.com/", "https://desk.example.com"),
        ("http://desk.example.com:80", "http://desk.example.com"),
        ("https://desk.example.com:8443", "https://desk.example.com:8443"),
        ("http://[::1]:8035", "http://[::1]:8035"),
        ("", "http://127.0.0.1:8035"),
    ],
)
def test_the_origin_is_written_as_browsers_write_it(given: str, origin: str) -> None:
    assert DeskPageSettings(public_url=given).origin == origin


@pytest.mark.parametrize(
    ("host", "is_loopback"), [("127.0.0.5", True), ("localhost", True), ("::1", True), ("10.0.0.1", False)]
)
def test_what_is_this_machine_alone(host: str, is_loopback: bool) -> None:
    assert DeskPageSettings(host=host).is_loopback is is_loopback


def test_the_port_of_http_is_not_part_of_an_origin() -> None:
    assert DeskPageSettings(port=80).origin == "http://127.0.0.1"


def test_variables_of_the_environment_count(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPPORT_AGENT__DESK_PAGE__SIGN_IN", "oidc")
    monkeypatch.setenv("SUPPORT_AGENT__DESK_PAGE__OIDC_ISSUER", ISSUER)
    monkeypatch.setenv("SUPPORT_AGENT__DESK_PAGE__OIDC_CLIENT_SECRET", "hidden")
    monkeypatch.setenv("SUPPORT_AGENT__DESK_PAGE__READERS", '["audit@example.com"]')
    page = load(file_with(made, 'sign_in = "link"\n')).desk_page
    assert (page.sign_in, page.oidc_issuer, page.readers) == ("oidc", ISSUER, ("audit@example.com",))
    assert page.oidc_client_secret.get_secret_value() == "hidden"
    assert "hidden" not in repr(page)


def test_the_clients_secret_may_stand_in_a_file(made: Path) -> None:
    """Relative to the configuration; one that is given directly wins."""
    (made / "client.secret").write_text("from-file\n", "utf-8")
    path = file_with(made, 'oidc_client_secret_file = "client.secret"\n')
    assert load(path).desk_page.oidc_client_secret.get_secret_value() == "from-file"
    path = file_with(made, 'oidc_client_secret_file = "client.secret"\noidc_client_secret = "direct"\n')
    assert load(path).desk_page.oidc_client_secret.get_secret_value() == "direct"
    assert load(file_with(made, 'oidc_client_secret_file = ""\n')).desk_page.oidc_client_secret_file is None


@pytest.mark.parametrize(("content", "what"), [(None, "cannot be read"), ("\n", "empty")])
def test_a_secret_file_without_a_secret_is_refused(made: Path, content: str | None, what: str) -> None:
    (made / "none.secret").unlink(missing_ok=True)
    if content is not None:
        (made / "none.secret").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=rf"desk_page\.oidc_client_secret_file .*{what}"):
        load(file_with(made, 'oidc_client_secret_file = "none.secret"\n'))


def test_doctor_says_how_people_sign_in(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert the("desk page", settings).what == "http://127.0.0.1:8035, people sign in by link"
    by_oidc = changed(settings, "desk_page", sign_in="oidc", oidc_issuer=ISSUER, oidc_client_id="desk")
    assert the("desk page", by_oidc).what.endswith(f"people sign in at {ISSUER}, which answers")


@pytest.mark.parametrize(
    ("error", "todo"),
    [
        (TransientError(f"{ISSUER} did not answer within 10 s"), "see that it runs and can be reached from here"),
        (
            ConfigError(f"{ISSUER} is no provider's document: check desk_page.oidc_issuer"),
            "check desk_page.oidc_issuer",
        ),
    ],
)
def test_doctor_asks_the_provider(tmp_path: Path, error: Exception, todo: str) -> None:
    settings = settings_in(tmp_path)
    by_oidc = changed(settings, "desk_page", sign_in="oidc", oidc_issuer=ISSUER, oidc_client_id="desk")
    said = the("desk page", by_oidc, Outside(issuer=error))
    assert said.severity is Health.ERROR
    assert said.todo.startswith(todo)


def test_doctor_does_not_ask_a_provider_that_is_not_used(tmp_path: Path) -> None:
    settings = changed(settings_in(tmp_path), "desk_page", oidc_issuer=ISSUER)
    assert the("desk page", settings, Outside(issuer=TransientError("x"))).severity is Health.OK
