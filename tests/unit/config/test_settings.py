"""Configuration: precedence, paths, secrets, and what is said about mistakes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from support_agent.config.database_url import sqlite_url_in
from support_agent.config.loading import SECRETS, load
from support_agent.config.settings import Settings
from support_agent.config.sources import GONE, RENAMED
from support_agent.errors import ConfigError

KEY = "k" * 32


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("SUPPORT_AGENT__"):
            monkeypatch.delenv(name)


def write(folder: Path, text: str) -> Path:
    path = folder / "support-agent.toml"
    path.write_text(text, "utf-8")
    return path


def test_an_override_beats_the_environment_beats_the_file_beats_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key for itself: a section may come from four places."""
    path = write(tmp_path, '[imap]\nhost = "file"\nuser = "file"\nfolder = "file"\n')
    monkeypatch.setenv("SUPPORT_AGENT__IMAP__USER", "environment")
    monkeypatch.setenv("SUPPORT_AGENT__IMAP__FOLDER", "environment")
    imap = load(path, {"imap.folder": "flag"}).imap
    assert (imap.port, imap.host, imap.user, imap.folder) == (993, "file", "environment", "flag")


def test_an_override_of_none_is_not_given(tmp_path: Path) -> None:
    """A flag that was not typed changes nothing."""
    assert load(write(tmp_path, '[imap]\nhost = "x"\n'), {"imap.host": None}).imap.host == "x"


@pytest.mark.parametrize(
    ("text", "company", "hours"),
    [
        ("", "UTC", "UTC"),
        ('[hours]\ntime_zone = "Asia/Tokyo"\n', "Asia/Tokyo", "Asia/Tokyo"),
        ('[company]\ntime_zone = "Asia/Tokyo"\n', "Asia/Tokyo", "Asia/Tokyo"),
        ('[hours]\ntime_zone = "Etc/UTC"\n', "UTC", "UTC"),
        ('[company]\ntime_zone = "UTC"\n[hours]\ntime_zone = "Asia/Manila"\n', "UTC", "Asia/Manila"),
    ],
)
def test_one_time_zone_is_enough(tmp_path: Path, text: str, company: str, hours: str) -> None:
    """Failure: `hours.time_zone` was set, and "today" was the day in UTC."""
    settings = load(write(tmp_path, text))
    assert (settings.company.time_zone, settings.hours.time_zone) == (company, hours)


def test_settings_made_in_code_do_not_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `load` does; a test's settings are the same on every machine."""
    monkeypatch.setenv("SUPPORT_AGENT__IMAP__HOST", "elsewhere")
    assert Settings().imap.host == ""
    assert load(None).imap.host == "elsewhere"


def test_settings_are_frozen(tmp_path: Path) -> None:
    """Nothing changes while the program runs."""
    settings = load(write(tmp_path, ""))
    with pytest.raises(ValueError, match="frozen"):
        settings.imap = settings.imap  # type: ignore[misc]


def test_relative_paths_count_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the program is started; defaults too. What a person types counts from where they are."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    (home / "secret.key").write_text(KEY)
    path = write(
        home,
        '[company]\npolicies = "words"\n[model]\npath = "m.gguf"\ncache_dir = ""\n'
        '[agent]\nsecret_file = "secret.key"\n[store]\nurl = "sqlite:///cases.sqlite3"\n',
    )
    monkeypatch.chdir(here)
    monkeypatch.setenv("SUPPORT_AGENT__CHROMA__PATH", "vectors")
    settings = load(Path("../home") / path.name, {"company.templates": Path("mine")})
    assert settings.company.policies.resolve() == home / "words"
    assert settings.company.accounts.resolve() == home / "accounts.toml"
    assert settings.company.templates.resolve() == here / "mine"
    assert settings.chroma.path.resolve() == home / "vectors"
    assert settings.model.path is not None
    assert settings.model.path.resolve() == home / "m.gguf"
    assert settings.model.cache_dir is None
    assert all(p.is_absolute() for p in (settings.company.policies, settings.chroma.path, settings.model.path))
    assert settings.store.url.startswith("sqlite:////")
    assert Path(settings.store.url.removeprefix("sqlite:///")).resolve() == home / "cases.sqlite3"
    monkeypatch.chdir(tmp_path)
    assert load(path).chroma.path == home / "vectors"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/cases.sqlite3",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://user:pa%40ss@host/name",
        "postgresql+psycopg://host/name",
    ],
)
def test_a_url_without_a_relative_path_stays_as_it_is(tmp_path: Path, url: str) -> None:
    """Byte for byte, the password too."""
    assert sqlite_url_in(tmp_path, url, name="store.url") == url


def test_a_wrong_url_is_an_error_that_does_not_repeat_it(tmp_path: Path) -> None:
    """It may hold a password."""
    with pytest.raises(ConfigError, match=r"store\.url: not a database URL: write sqlite") as error:
        load(write(tmp_path, '[store]\nurl = "hunter2"\n'))
    assert "hunter2" not in str(error.value)


def test_every_mistake_of_the_file_is_told_at_once(tmp_path: Path) -> None:
    """Each with the file, the key, the nearest known key, and what would be right."""
    path = write(
        tmp_path,
        '[imap]\nhosst = "x"\nport = 0\n[smpt]\nhost = "x"\n[smtp]\npoll_interval_s = 3\n[log]\nlevel = "loud"\n',
    )
    with pytest.raises(ConfigError) as error:
        load(path)
    lines = str(error.value).splitlines()
    assert len(lines) == 5
    assert all(line.startswith(f"{path}: ") for line in lines)
    for part in (
        "imap.port: Input should be greater than or equal to 1",
        "unknown key imap.hosst, did you mean host?",
        "unknown section [smpt], did you mean smtp?",
        "unknown key smtp.poll_interval_s, did you mean imap.poll_interval_s?",
        "log.level: Input should be 'debug', 'info', 'warning' or 'error'",
    ):
        assert part in str(error.value)


def test_a_mistake_names_where_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File, environment variable or flag: the reader knows where to look."""
    monkeypatch.setenv("SUPPORT_AGENT__IMAP__PORT", "many")
    with pytest.raises(ConfigError) as error:
        load(write(tmp_path, "[imap]\nport = 1\n"), {"smtp.port": 0, "smtp.hots": "x"})
    assert "environment variable SUPPORT_AGENT__IMAP__PORT: imap.port" in str(error.value)
    assert "flag: smtp.port" in str(error.value)
    assert "flag: unknown key smtp.hots, did you mean host?" in str(error.value)


def test_a_key_outside_any_section_is_refused(tmp_path: Path) -> None:
    """Every setting lives in a section."""
    with pytest.raises(
        ConfigError, match=re.escape("host stands outside any section: put it below a section such as [imap]")
    ):
        load(write(tmp_path, 'host = "x"\n'))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("SUPPORT_AGENT__IMPA__HOST", "SUPPORT_AGENT__IMAP__HOST"),
        ("SUPPORT_AGENT__IMAP__HOOST", "SUPPORT_AGENT__IMAP__HOST"),
        ("support_agent__imap__hoost", "SUPPORT_AGENT__IMAP__HOST"),
        ("SUPPORT_AGENT__IMAP", ""),
        ("SUPPORT_AGENT__IMAP__HOST__X", "SUPPORT_AGENT__IMAP__HOST"),
    ],
)
def test_an_unknown_environment_variable_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, hint: str) -> None:
    """A misspelt variable must not silently leave the default in force."""
    monkeypatch.setenv(name, "x")
    with pytest.raises(ConfigError, match=f"environment variable {name}: no such setting.*{hint}"):
        load(None)


@pytest.mark.parametrize("name", ["SUPPORT_AGENT_IMAP_HOST", "SUPPORT_AGENT_IMAP__HOST", "support_agent_imap_host"])
def test_single_underscores_before_a_setting_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """They would be ignored, and the default would silently stay in force."""
    monkeypatch.setenv(name, "x")
    with pytest.raises(ConfigError, match=f"{name}: two underscores .*: write SUPPORT_AGENT__IMAP__HOST"):
        load(None)


@pytest.mark.parametrize(
    "name",
    ["SUPPORT_AGENT_PORT", "SUPPORT_AGENT_SERVICE_HOST", "SUPPORT_AGENT_CONFIG", "SUPPORT_AGENT_WATCH_PORT"],
)
def test_variables_that_kubernetes_sets_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """For a service that is called support-agent, or support-agent-watch, which looks like a setting."""
    monkeypatch.setenv(name, "tcp://10.96.3.7:9464")
    assert load(None).imap.host == Settings().imap.host


def test_a_list_in_the_environment_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the error says so."""
    monkeypatch.setenv("SUPPORT_AGENT__AGENT__ALIASES", '["a@b.example"]')
    assert load(None).agent.aliases == ("a@b.example",)
    monkeypatch.setenv("SUPPORT_AGENT__AGENT__ALIASES", "a@b.example")
    with pytest.raises(ConfigError, match="write lists as JSON"):
        load(None)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    """`init` writes a commented one."""
    with pytest.raises(ConfigError, match=r"no such file.*support-agent init"):
        load(tmp_path / "support-agent.toml")


def test_the_secret_is_read_from_its_file(tmp_path: Path) -> None:
    """Without the line's end; given directly, it wins."""
    (tmp_path / "secret.key").write_text(f"{KEY}\n")
    path = write(tmp_path, '[agent]\nsecret_file = "secret.key"\n')
    assert load(path).agent.secret.get_secret_value() == KEY
    assert load(path, {"agent.secret": "d" * 40}).agent.secret.get_secret_value() == "d" * 40


def test_every_secret_may_be_in_a_file() -> None:
    """Rule: none needs to be in `support-agent.toml` or in the environment."""
    sections = {name: type(section).model_fields for name, section in Settings()}
    secrets = {
        (section, key) for section, keys in sections.items() for key in keys if keys[key].annotation is SecretStr
    }
    assert {(section, key) for section, key in secrets if f"{key}_file" not in sections[section]} == set()
    assert secrets - {*SECRETS} == {("agent", "secret"), ("store", "master_key")}  # whose files are read otherwise


def test_a_byte_order_mark_is_no_part_of_a_secret(tmp_path: Path) -> None:
    """Failure: the mailbox refused the password of a file that Notepad had saved."""
    (tmp_path / "imap.password").write_text("hunter2\n", "utf-8-sig")
    path = write(tmp_path, '[imap]\npassword_file = "imap.password"\n')
    assert load(path).imap.password.get_secret_value() == "hunter2"


def test_a_name_that_no_header_can_have_is_refused(tmp_path: Path) -> None:
    """Failure: with a line break in it every mail was refused as it was made, the desk's packets, too."""
    with pytest.raises(ConfigError, match=r"agent\.name"):
        load(write(tmp_path, '[agent]\nname = "Harborfile\\nSupport"\n'))
    assert load(write(tmp_path, '[agent]\nname = "Häfen & \\"Co\\""\n')).agent.name == 'Häfen & "Co"'


def test_a_path_below_a_home_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Failure: `~name` of nobody ended as "unexpected RuntimeError", with no word on the path."""
    with pytest.raises(ConfigError, match=r"~nobody-here/policies.*write the whole path"):
        load(write(tmp_path, '[company]\npolicies = "~nobody-here/policies"\n'))


@pytest.mark.parametrize(
    ("content", "what"), [(None, "cannot be read"), ("\n", "empty"), ("hunter2", "shorter than 32")]
)
def test_a_secret_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str | None, what: str) -> None:
    """The error names the setting, never the secret."""
    if content is not None:
        (tmp_path / "secret.key").write_text(content)
    with pytest.raises(ConfigError, match=f"agent.secret_file.*{what}.*: ") as error:
        load(write(tmp_path, '[agent]\nsecret_file = "secret.key"\n'))
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "dotted", ["imap.password", "smtp.password", "model.api_key", "desk_page.oidc_client_secret", "store.password"]
)
def test_each_secret_may_be_in_a_file_and_one_that_is_given_directly_wins(tmp_path: Path, dotted: str) -> None:
    """Containers and systemd hand secrets over as files; a person who tries something out has none."""
    section, _, key = dotted.partition(".")
    (tmp_path / "the.secret").write_text("of the file\n")
    url = 'url = "postgresql://agent@db/support"\n' if section == "store" else ""
    path = write(tmp_path, f'[{section}]\n{key}_file = "the.secret"\n{url}')
    for overrides, expected in ((None, "of the file"), ({dotted: "given"}, "given")):
        assert getattr(getattr(load(path, overrides), section), key).get_secret_value() == expected


def test_the_databases_password_becomes_part_of_its_url(tmp_path: Path) -> None:
    """Also one with characters that mean something in a URL; SQLite has no password."""
    settings = load(None, {"store.url": "postgresql://agent@db/support", "store.password": "p@ss/word"})
    assert make_url(settings.store.url).password == "p@ss/word"
    with pytest.raises(ConfigError, match=r"store\.password: SQLite has no passwords"):
        load(None, {"store.password": "hunter2"})


def test_no_secret_is_ever_printed(tmp_path: Path) -> None:
    """Neither by the settings nor by an error about them."""
    secrets = {"imap.password": "hunter2-imap", "model.api_key": "hunter2-key", "agent.secret": "hunter2" * 6}
    assert "hunter2" not in repr(load(write(tmp_path, ""), secrets)) + str(load(None, secrets))
    for key in secrets:
        with pytest.raises(ConfigError) as error:
            load(None, {key: ["hunter2"]})
        assert "hunter2" not in str(error.value)


def test_plain_connections_are_for_loopback_hosts(tmp_path: Path) -> None:
    """A password never crosses a network in the clear."""
    assert load(None, {"imap.host": "127.0.0.1", "imap.security": "plain"}).imap.security == "plain"
    with pytest.raises(ConfigError, match="flag: imap: security = 'plain' is for loopback hosts only"):
        load(None, {"imap.host": "mail.example", "imap.security": "plain"})


@pytest.mark.parametrize(
    "line",
    [
        'authserv_ids = [""]',
        'authserv_ids = ["mx.example.org; dmarc=pass"]',
        'arc_sealers = ["example"]',
        'arc_sealers = ["anna@example.org"]',
        'alignment = "loose"',
        "dkim_timeout_s = 0",
        "dkim_max_signatures = 0",
    ],
)
def test_s20_whom_to_believe_is_refused_where_it_cannot_be_meant(tmp_path: Path, line: str) -> None:
    """An empty authserv-id would be that of every field that has none."""
    with pytest.raises(ConfigError, match=f"agent.{line.partition(' ')[0]}"):
        load(write(tmp_path, f"[agent]\n{line}\n"))


def test_s21_a_sender_can_be_known_in_three_ways(tmp_path: Path) -> None:
    for line in ('authserv_ids = ["mx.example.org"]', "verify_dkim = true", "believes_results_without_id = true"):
        assert load(write(tmp_path, f"[agent]\n{line}\n")).agent.can_identify
    assert not load(None).agent.can_identify


def test_a_store_that_forgets_an_answer_before_it_may_be_repeated_is_refused(tmp_path: Path) -> None:
    """Else the same answer goes out again within `agent.identical_answer_days`."""
    with pytest.raises(ConfigError) as refused:
        load(write(tmp_path, "[store]\nretention_days = 6\n"))
    assert str(refused.value) == "store.retention_days = 6 must not be below agent.identical_answer_days = 7"
    kept = load(write(tmp_path, "[store]\nretention_days = 6\n[agent]\nidentical_answer_days = 6\n"))
    assert kept.store.retention_days == 6


def test_a_chunk_that_repeats_all_of_the_one_before_is_refused(tmp_path: Path) -> None:
    """Else the cutting of a document would not move on."""
    with pytest.raises(ConfigError) as refused:
        load(write(tmp_path, "[facts]\nchunk_size = 100\n"))
    assert str(refused.value).endswith("facts: chunk_overlap = 100 must be below chunk_size = 100")
    assert load(write(tmp_path, "[facts]\nchunk_size = 101\n")).facts.chunk_overlap == 100


def test_a_trained_policy_needs_its_file(tmp_path: Path) -> None:
    """The program stops at its start; the file counts from the configuration, as every path does."""
    with pytest.raises(ConfigError) as refused:
        load(write(tmp_path, '[facts]\npolicy = "trained"\n'))
    assert "needs policy_file: `support-agent facts train` writes one" in str(refused.value)
    settings = load(write(tmp_path, '[facts]\npolicy = "trained"\npolicy_file = "policy-1.json"\n'))
    assert settings.facts.policy_file == tmp_path / "policy-1.json"


@pytest.mark.parametrize("name", RENAMED)
def test_a_renamed_setting_is_refused_with_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Rule: a setting of an earlier version neither counts nor is ignored; the new name is one."""
    section, _, key = name.partition(".")
    new = RENAMED[name]
    assert new.partition(".")[2] in type(getattr(Settings(), section)).model_fields
    with pytest.raises(ConfigError, match=f"{re.escape(name)} is now {re.escape(new)}: rename it"):
        load(write(tmp_path, f"[{section}]\n{key} = 3\n"))
    variable = f"SUPPORT_AGENT__{section}__{key}".upper()
    monkeypatch.setenv(variable, "3")
    now = f"SUPPORT_AGENT__{new.replace('.', '__').upper()}"
    with pytest.raises(ConfigError, match=f"environment variable {variable} is now {now}: rename it"):
        load(None)


@pytest.mark.parametrize("name", GONE)
def test_a_setting_that_is_gone_is_refused_with_what_there_is_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    section, _, key = name.partition(".")
    with pytest.raises(ConfigError, match=f"{re.escape(name)} is gone: {GONE[name]}: delete it"):
        load(write(tmp_path, f"[{section}]\n{key} = 3\n"))
    variable = f"SUPPORT_AGENT__{section}__{key}".upper()
    monkeypatch.setenv(variable, "3")
    with pytest.raises(ConfigError, match=f"environment variable {variable} is gone: {GONE[name]}: delete it"):
        load(None)


def test_a_misspelt_key_in_a_list_of_tables_names_its_neighbours(tmp_path: Path) -> None:
    """`[[desk.routes]]` is the file's only list of tables."""
    path = write(tmp_path, '[desk]\n[[desk.routes]]\naddress = "a@x.example"\ntopic = ["document:1"]\n')
    with pytest.raises(ConfigError) as error:
        load(path)
    assert "unknown key desk.routes.0.topic, did you mean topics?; keys of [[desk.routes]]: address" in str(error.value)


def test_a_list_of_tables_comes_from_the_environment_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPPORT_AGENT__DESK__ROUTES", '[{"address": "a@x.example", "levels": [0]}]')
    (route,) = load(None).desk.routes
    assert (route.address, route.levels) == ("a@x.example", (0,))
