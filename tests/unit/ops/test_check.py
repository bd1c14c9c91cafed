"""`check`: what `init` writes passes, and each kind of mistake is found where it stands."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from support_agent.config.loading import load
from support_agent.core.findings import Finding, Severity
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.errors import ConfigError
from support_agent.ops.check import check, check_file, require_sound_addresses, tool_codes
from support_agent.planner.calibration import write_calibration
from tests.unit.planner.test_calibration import made

TODAY = date(2026, 6, 1)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
LOCAL = '"support@harborfile.example"'
Edit = Callable[[str, str, str], None]


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("SUPPORT_AGENT__"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `init` writes, once."""
    folder = tmp_path_factory.mktemp("written") / "workspace"
    init(folder, TODAY)
    return folder


@pytest.fixture
def workspace(written: Path, tmp_path: Path) -> Path:
    """A workspace to break; without the template tests and other languages, which have a test of their own."""
    ignore = shutil.ignore_patterns("tests", "de", "fr")
    return Path(shutil.copytree(written, tmp_path / "workspace", ignore=ignore))


@pytest.fixture
def edit(workspace: Path) -> Edit:
    """`edit(file, old, new)`: change the one place where a file says `old`."""

    def change(name: str, old: str, new: str) -> None:
        path = workspace / name
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{name} says {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new), "utf-8")

    return change


def line_of(path: Path, text: str) -> int:
    """The 1-based line that begins with a text."""
    lines = path.read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(text))


def errors(workspace: Path) -> list[Finding]:
    findings = check_file(workspace / CONFIG_FILE, NOON)
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def the_error(workspace: Path) -> Finding:
    """The one error there is; it says what to do."""
    (finding,) = errors(workspace)
    assert finding.todo
    return finding


def test_what_init_writes_has_no_error(written: Path) -> None:
    """Rule: a newcomer starts from a workspace that passes; only the servers are theirs to fill in."""
    path = written / CONFIG_FILE
    findings = check_file(path, NOON)
    assert [(finding.severity, finding.path, finding.line) for finding in findings] == [
        (Severity.WARNING, path, line_of(path, "[imap]") + 1),
        (Severity.WARNING, path, line_of(path, "[smtp]") + 1),
    ]
    assert [finding.what.split()[0] for finding in findings] == ["imap.host", "smtp.host"]


def test_settings_without_a_file_are_checked_too(workspace: Path) -> None:
    """Findings then have no place, and are the same otherwise."""
    settings = load(workspace / CONFIG_FILE)
    with_file = check(settings, TODAY, workspace / CONFIG_FILE)
    assert [f.what for f in check(settings, TODAY)] == [f.what for f in with_file]
    assert {f.path for f in check(settings, TODAY)} == {None}


def test_a_number_that_two_documents_have_is_found(workspace: Path) -> None:
    """The first keeps it; the finding names the line of the number in the second."""
    policies = workspace / "policies"
    text = (policies / "002-cancellation-policy.md").read_text("utf-8")
    (policies / "002-second.md").write_text(text, "utf-8")
    finding = the_error(workspace)
    assert (finding.path, finding.line) == (policies / "002-second.md", 2)
    assert finding.what == "number 2 is also the number of 002-cancellation-policy.md"


def test_a_title_that_two_documents_have_is_found(workspace: Path, edit: Edit) -> None:
    """The model picks by title: the same one twice would stop every choice that offers both."""
    edit("policies/002-cancellation-policy.md", "title: Cancellation policy", "title: Refund  policy")
    assert errors(workspace) == []
    edit("policies/002-cancellation-policy.md", "title: Refund  policy", "title: refund policy")
    finding = the_error(workspace)
    path = workspace / "policies" / "002-cancellation-policy.md"
    assert (finding.path, finding.line) == (path, line_of(path, "title:"))
    assert "document 1" in finding.what


def test_a_label_that_two_fields_have_is_found(workspace: Path) -> None:
    """As for titles."""
    path = workspace / "accounts.toml"
    text = path.read_text("utf-8")
    start = text.index("[fields.plan]")
    table = text[start : text.index("\n[", start)].replace("[fields.plan]", "[fields.tariff]")
    path.write_text(f"{text}\n{table}\n", "utf-8")
    finding = the_error(workspace)
    assert (finding.path, finding.what.split(",")[0]) == (path, "the English label is also that of plan")
    assert finding.line is not None
    assert finding.line > line_of(path, "[fields.tariff]")


def test_an_expired_document_is_found(workspace: Path, edit: Edit) -> None:
    """Customers would silently stop getting it; before its day it is no error."""
    edit("policies/001-refund-policy.md", "valid_from:", "valid_until: 2026-05-31\nvalid_from:")
    path = workspace / "policies" / "001-refund-policy.md"
    finding = the_error(workspace)
    assert (finding.path, finding.line) == (path, line_of(path, "valid_until"))
    assert finding.what == "expired on 2026-05-31"
    assert not [f for f in check_file(workspace / CONFIG_FILE, NOON - timedelta(days=1)) if f.path == path]


def test_a_document_expires_with_the_companys_day(workspace: Path, edit: Edit) -> None:
    """In Auckland it is the next day already."""
    edit("policies/001-refund-policy.md", "valid_from:", "valid_until: 2026-06-01\nvalid_from:")
    assert not errors(workspace)
    edit(CONFIG_FILE, "[company]\n", '[company]\ntime_zone = "Pacific/Auckland"\n')
    assert the_error(workspace).what == "expired on 2026-06-01"


@pytest.mark.parametrize("section", ["company", "hours"])
def test_an_unknown_time_zone_is_refused(workspace: Path, section: str) -> None:
    """With what to write instead."""
    path = workspace / CONFIG_FILE
    text = path.read_text("utf-8")
    head = f"[{section}]\n"
    text = text if head in text else f"{text}\n{head}"
    path.write_text(text.replace(head, f'{head}time_zone = "Mars/Olympus"\n'), "utf-8")
    assert f"{section}.time_zone" in the_error(workspace).what
    assert "Europe/Berlin" in str(the_error(workspace))


def test_missing_front_matter_is_found(workspace: Path) -> None:
    """A document that nobody can choose."""
    path = workspace / "policies" / "001-refund-policy.md"
    path.write_text("# Refunds\n\nWithin 14 days.\n", "utf-8")
    finding = the_error(workspace)
    assert (finding.path, finding.line, finding.what) == (path, 1, "no front matter")


def test_a_query_of_another_type_is_found(workspace: Path) -> None:
    """The query runs, and what it returns is not what the field declares."""
    path = workspace / "accounts.toml"
    text = path.read_text("utf-8")
    start = text.index("[fields.plan]")
    broken = text[start:].replace('type = "text"', 'type = "date"', 1)
    path.write_text(text[:start] + broken, "utf-8")
    finding = the_error(workspace)
    assert finding.path == path
    assert finding.line is not None
    assert finding.line > line_of(path, "[fields.plan]")
    assert "[fields.plan]" in finding.what
    assert finding.todo == "correct the query"


def test_an_undefined_template_name_is_found(workspace: Path, edit: Edit) -> None:
    """With the name that was probably meant."""
    edit("templates/en/answer.txt.j2", "{{ greeting_name }}", "{{ greting_name }}")
    finding = the_error(workspace)
    path = workspace / "templates" / "en" / "answer.txt.j2"
    assert (finding.path, finding.line) == (path, 2)
    assert "greeting_name" in f"{finding.what} {finding.todo}"


def test_a_template_without_the_notice_is_found(workspace: Path, edit: Edit) -> None:
    """S51: every answer says that it is automatic and how to reach a person."""
    below = "{% if not notice.is_at_top %}\n\n"
    edit("templates/en/answer.txt.j2", below + '{% include "notice.txt.j2" %}', below + "{{ support_address }}")
    found = errors(workspace)
    assert {finding.path for finding in found} == {workspace / "templates" / "en" / "answer.txt.j2"}
    assert all("notice is missing" in finding.what and finding.todo for finding in found)


def test_a_step_of_a_tool_without_words_is_found(workspace: Path, edit: Edit) -> None:
    """An answer that used it could not be rendered."""
    edit("templates/en/words.yaml", "  newest_first: newest first\n", "")
    edit("templates/en/words.yaml", "  unsure: The choice was not sure enough.\n", "")
    assert {finding.what for finding in errors(workspace)} == {
        "no word for step.newest_first",
        "no word for reason.unsure",
    }


def test_the_codes_of_the_tools_are_those_that_they_make() -> None:
    """Steps of `filter` and `sort`, reasons of `escalate`."""
    codes = tool_codes()
    assert {"highest_3", "above_average", "newest_first", "lowest_first"} <= set(codes["step"])
    assert {"not_covered", "person_asked_for"} <= set(codes["reason"])


def test_a_failing_template_test_is_found(workspace: Path, written: Path, edit: Edit) -> None:
    """With the file and the line of the case."""
    name = "clarification.yaml"
    (workspace / "templates" / "tests").mkdir()
    shutil.copy(written / "templates" / "tests" / name, workspace / "templates" / "tests" / name)
    path = workspace / "templates" / "tests" / name
    for language in ("de", "fr"):
        shutil.copytree(written / "templates" / language, workspace / "templates" / language)
    assert errors(workspace) == []
    edit("templates/en/clarification.txt.j2", "{{ item.text }}", "{{ item.text }} Thanks.")
    found = errors(workspace)
    assert {finding.path for finding in found} == {path}
    assert all(finding.line and "differs" in finding.what and finding.todo for finding in found)


def test_a_clarification_between_unknown_documents_is_found(workspace: Path, edit: Edit) -> None:
    """It would never be asked."""
    edit("policies/questions.toml", "between = [3, 4, 5]", "between = [3, 98, 4, 99]")
    finding = the_error(workspace)
    path = workspace / "policies" / "questions.toml"
    assert (finding.path, finding.line) == (path, line_of(path, "between"))
    assert finding.what == "question 1 is about document 98, 99, which does not exist"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            'about_records = "invoices"',
            'about_records = "orders"',
            "question 4 is about the records 'orders', which do",
        ),
        ("between = [3, 4, 5]", 'about_records = "invoices"', "question 4 is about the records 'invoices', but"),
    ],
)
def test_a_clarification_about_unknown_records_or_the_same_as_another_is_found(
    workspace: Path, edit: Edit, old: str, new: str, what: str
) -> None:
    """It would never be asked."""
    edit("policies/questions.toml", old, new)
    finding = the_error(workspace)
    assert finding.what.startswith(what)
    assert finding.line is not None


def test_a_clarification_between_documents_that_are_not_reviewed_is_found(workspace: Path, edit: Edit) -> None:
    """Nobody is sent one, so there is nothing to tell apart."""
    edit("policies/004-installation-macos.md", "---\nnumber: 4", "---\nreviewed: false\nnumber: 4")
    assert the_error(workspace).what == "question 1 is about document 4, which does not exist"


def test_a_clarification_between_a_broken_document_is_no_second_finding(workspace: Path) -> None:
    """The document is there: what is wrong with it is told once, at the document."""
    path = workspace / "policies" / "003-installation-windows.md"
    path.write_text("no front matter", "utf-8")
    assert the_error(workspace).path == path


@pytest.mark.parametrize(
    ("old", "new", "start", "what"),
    [
        ("[smtp]\nhost", "[smtp]\nhots", "hots", "unknown key smtp.hots, did you mean host"),
        ("[log]", "[logs]\n[log]", "[logs]", "unknown section [logs], did you mean log"),
        ("[company]", "locale = 'de'\n[company]", "locale", "locale stands outside any section"),
        ("[smtp]\n", "[smtp]\nport = 70000\n", "port", "smtp.port: "),
        ("[smtp]\n", "[smtp]\nsecurity = 'plain'\n", "[smtp]", "smtp: security = 'plain' is for loopback"),
        ("sqlite:///support-agent.sqlite3", "my database", "url", "store.url: not a database URL"),
        ('"secret.key"', '"none.key"', "secret_file", "agent.secret_file ("),
        ("[log]\n", "[log]\n= 3\n", "= 3", "not valid TOML: "),
    ],
)
def test_a_setting_that_is_refused_is_found(
    workspace: Path, edit: Edit, old: str, new: str, start: str, what: str
) -> None:
    """Misspelt, of the wrong type, out of bounds, or no TOML at all: the line is named."""
    edit(CONFIG_FILE, old, new)
    path = workspace / CONFIG_FILE
    finding = the_error(workspace)
    assert (finding.path, finding.line) == (path, line_of(path, start))
    assert finding.what.startswith(what)


@pytest.mark.parametrize("key", ["NO_SUCH_KEY", "PORT"])
def test_a_refused_variable_is_found(workspace: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """It has no line in the file."""
    monkeypatch.setenv(f"SUPPORT_AGENT__IMAP__{key}", "x")
    finding = the_error(workspace)
    assert (finding.path, finding.line) == (None, None)
    assert f"SUPPORT_AGENT__IMAP__{key}" in finding.what


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ('[agent]\naddress = "help"', "agent.address: 'help' is no plain address"),
        ('[agent]\naddress = "help@häfen.example"', "write help@xn--hfen-loa.example"),
        ('[desk]\naddress = "Desk <desk@x.example>"', "desk.address: 'Desk <desk@x.example>' is no plain address"),
        ('[desk]\naddress = "a@x.example, b@x.example"', "desk.address: 'a@x.example, b@x.example' is no plain"),
        ('[[desk.routes]]\naddress = "desk"\nlevels = [2]', "desk.routes.address: 'desk' is no plain address"),
        ('[desk]\naddress = "help@x.example"', "desk.address is the agent's own address"),
        ('[desk]\naddress = "help+desk@x.example"', "desk.address is the agent's own address"),
        ('[reminders]\naddress = "help+lead@x.example"', "reminders.address is the agent's own address"),
    ],
)
def test_the_worker_starts_with_no_address_that_cannot_be_written_to(tmp_path: Path, section: str, what: str) -> None:
    """Failure: `run` started with a desk's address that `check` refused. Each mail for a person was quarantined, its
    sender and the desk heard nothing, and `run --once` exited with 0."""
    path = tmp_path / CONFIG_FILE
    whole = {"[agent]": '[agent]\naddress = "help@x.example"', "[desk]": '[desk]\naddress = "desk@x.example"'}
    whole[section.partition("\n")[0]] = section
    path.write_text("\n".join(whole.values()))
    with pytest.raises(ConfigError, match=re.escape(what)):
        require_sound_addresses(load(path))


@pytest.mark.parametrize(
    ("old", "new", "start", "what"),
    [
        (f"address = {LOCAL}", 'address = ""', "address", "agent.address is not set"),
        (f"address = {LOCAL}", 'address = "help"', "address", "agent.address: 'help' is no plain address"),
        (f"address = {LOCAL}", 'address = "ü@x.example"', "address", "agent.address: 'ü@x.example' is no"),
        ("[desk]\n", '[desk]\nstaff = ["Ada <ada@x.example>"]\n', "staff", "desk.staff: 'Ada <ada@x"),
        ('"desk@harborfile.example"', '""', "address", "desk.address is not set"),
        (
            '"desk@harborfile.example"',
            '"SUPPORT@harborfile.example"',
            "address",
            "desk.address is the agent's",
        ),
        ("\nsecret_file =", "\n# secret_file =", "[agent]", "agent.secret_file is not set"),
        ("[model]\n", '[model]\nplanner = "openai"\nname = "m"\n', "[model]", "model.base_url is not set"),
    ],
)
def test_a_setting_that_cannot_work_is_found(
    workspace: Path, edit: Edit, old: str, new: str, start: str, what: str
) -> None:
    """Addresses that cannot be mailed, people who would never be reached, a missing key or server."""
    edit(CONFIG_FILE, old, new)
    path = workspace / CONFIG_FILE
    finding = the_error(workspace)
    lines = path.read_text("utf-8").splitlines()
    assert finding.path == path
    assert finding.line is not None
    assert lines[finding.line - 1].startswith(start)
    assert finding.what.startswith(what)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("[imap]\nhost = ", '[imap]\nhost = "imap.example.com"\n# ', "imap.user is not set"),
        ("[smtp]\nhost = ", '[smtp]\nhost = "smtp.example.com"\nuser = "me"\n# ', "smtp.password is not set"),
        ('["mx.harborfile.example"]', "[]", "agent.authserv_ids is empty"),
    ],
)
def test_what_may_be_set_where_the_agent_runs_is_a_warning(
    workspace: Path, edit: Edit, old: str, new: str, what: str
) -> None:
    """Secrets are not in the file on the machine where it is written."""
    edit(CONFIG_FILE, old, new)
    found = check_file(workspace / CONFIG_FILE, NOON)
    assert {finding.severity for finding in found} == {Severity.WARNING}
    assert any(finding.what.startswith(what) and finding.todo for finding in found)


def test_s36_a_login_by_token_says_what_it_lacks_and_asks_for_no_password(workspace: Path, edit: Edit) -> None:
    edit(CONFIG_FILE, "[imap]\nhost = ", '[imap]\nhost = "imap.example.com"\nuser = "me"\nauth = "xoauth2"\n# ')
    for key, value in (("token_url", "https://example.com"), ("client_id", "a"), ("refresh_token_file", "b")):
        found = [finding.what for finding in check_file(workspace / CONFIG_FILE, NOON)]
        assert not [what for what in found if "password" in what]
        assert [what for what in found if what.startswith(f"oauth.{key} is not set")]
        edit(CONFIG_FILE, f'# {key} = ""', f'{key} = "{value}"')
    assert not [finding for finding in check_file(workspace / CONFIG_FILE, NOON) if "login" in finding.what]


@pytest.mark.parametrize("other", ["verify_dkim = true", "believes_results_without_id = true"])
def test_s21_another_way_to_know_senders_is_no_warning(workspace: Path, edit: Edit, other: str) -> None:
    edit(CONFIG_FILE, 'authserv_ids = ["mx.harborfile.example"]', f"authserv_ids = []\n{other}")
    assert not [finding for finding in check_file(workspace / CONFIG_FILE, NOON) if "authserv" in finding.what]


def test_one_broken_file_does_not_hide_another(workspace: Path, edit: Edit) -> None:
    """One run names every file to mend."""
    for name in ("policies/001-refund-policy.md", "policies/questions.toml", "accounts.toml"):
        (workspace / name).write_text("x", "utf-8")
    shutil.rmtree(workspace / "templates")
    edit(CONFIG_FILE, '"desk@harborfile.example"', '"desk"')
    assert [finding.path and finding.path.name for finding in errors(workspace)] == [
        CONFIG_FILE,
        "001-refund-policy.md",
        "questions.toml",
        "accounts.toml",
        "templates",
    ]


def test_a_calibration_from_other_words_is_a_warning(workspace: Path) -> None:
    """It lowers no threshold until it is made again."""
    settings = load(workspace / CONFIG_FILE)
    write_calibration(settings.planner.calibration, made(settings))
    (finding,) = [one for one in check(settings, TODAY) if one.path == workspace / "calibration.json"]
    assert (finding.severity, "have changed since" in finding.what) == (Severity.WARNING, True)
