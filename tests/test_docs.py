"""README and docs are true: their commands exist, their snippets work, their words and paths stand in the code."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import shutil
import tomllib
from datetime import date
from enum import Enum
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from support_agent.answer.final_answer import TableItem
from support_agent.answer.render import render
from support_agent.answer.templates import Templates
from support_agent.cli.main import app
from support_agent.company.account_specs import read_specs
from support_agent.company.documents import load_documents, parse_document
from support_agent.company.values import Period
from support_agent.config.loading import load
from support_agent.config.mail_servers import Security, SignIn
from support_agent.config.settings import Settings
from support_agent.config.toml_file import read_toml
from support_agent.core.findings import Severity
from support_agent.demo import workspace
from support_agent.models.downloads import Wheels
from support_agent.models.language_model import Model
from support_agent.models.pinned import MODELS
from support_agent.ops.check import check, check_agent, tool_codes
from support_agent.ops.check_desk import check_named
from support_agent.ops.config_file import ConfigFile
from support_agent.ops.template_checks import check_templates
from support_agent.ops.template_tests import around
from support_agent.store.watch_records import AlarmKind

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "support_agent"
README = (ROOT / "README.md").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
ALL = {"README.md": README, "CONTRIBUTING.md": (ROOT / "CONTRIBUTING.md").read_text("utf-8"), **PAGES}
GENERATED = {"docs/commands.md", "docs/mail-rules.md", "docs/settings.md", "docs/watching.md"}
MAX_README_BYTES = 8_000
MAX_WIDTH = 110
COMMANDS = typer.main.get_command(app)
PATH = re.compile(r"^[\w./-]+(\.(py|md|toml|yaml|j2|sh)|/)$")
PLACEHOLDER = re.compile(r"NNN|KIND")
COUNTS = {"sh": 8, "python": 2, "toml": 2, "markdown": 1}
MADE_BY_THE_READER = {"templates/es/"}


def blocks(language: str, *pages: str) -> list[str]:
    """The fenced blocks of a language in some pages (default: all), without the indentation of a list they stand in."""
    text = "\n".join(ALL[page] for page in pages or ALL)
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def table(page: str) -> list[list[str]]:
    """The cells of the first table of a page, without its head."""
    lines = ALL[page].partition("\n|")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def prose_codes() -> list[str]:
    """What stands between backticks outside of fenced blocks."""
    text = "\n".join(ALL.values())
    return re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL))


SHELL_LINES = [line for block in blocks("sh") for line in block.splitlines() if line.strip()]
PATHS = sorted({code for code in prose_codes() if PATH.match(code) and not PLACEHOLDER.search(code)})
LINKS = sorted(
    (page, link)
    for page, text in {**ALL, "CHANGELOG.md": CHANGELOG}.items()
    for link in set(re.findall(r"\]\((?!https?:)([^)#]+)", text))
)
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
pages, LEAVES = GENERATOR["pages"], GENERATOR["leaves"](COMMANDS)


def test_there_are_snippets_of_every_kind_that_is_checked_here() -> None:
    """A renamed fence would leave its snippets unchecked."""
    assert all(len(blocks(language)) >= least for language, least in COUNTS.items())
    assert len(PATHS) > 20
    assert len(LINKS) > 20


@pytest.mark.parametrize("line", SHELL_LINES)
def test_every_shell_command_is_a_target_or_a_command_that_takes_its_arguments(line: str) -> None:
    """What a reader copies from the README is understood by the program of the same version."""
    program, *arguments = shlex.split(line, comments=True)
    if program == ".":
        assert arguments == [".venv/bin/activate"]
        return
    if program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets)
        return
    assert program == "support-agent"
    words = next(words for words in LEAVES if tuple(arguments[: len(words)]) == words)
    assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0
    LEAVES[words].make_context(" ".join(words), arguments[len(words) :])


def test_what_users_run_from_the_virtual_environment_is_there_after_make_demo() -> None:
    """Rule: who installs as the pages say has no tools of developers; `uv` is one of them."""
    users = " ".join(text for page, text in ALL.items() if page != "CONTRIBUTING.md")
    assert set(re.findall(r"\.venv/bin/([a-z-]+)", users)) <= {"activate", "pip", "python", "support-agent"}


def test_the_two_commands_are_the_first_ones() -> None:
    """Nothing stands between a newcomer and the demo."""
    assert SHELL_LINES[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_what_the_program_says_of_itself_stands_in_the_docs(name: str) -> None:
    """A command, option or rule that is added, renamed or dropped is so there too: `python docs/generate.py`."""
    assert pages()[Path(name).name] == PAGES[name]


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_every_relative_link_leads_somewhere(page: str, link: str) -> None:
    """Links count from the page that they stand in."""
    assert ((ROOT / page).parent / link).exists()


def test_every_page_is_in_the_index() -> None:
    """Whoever reads the site finds it."""
    named = set(re.findall(r"^([a-z0-9-]+)$", PAGES["docs/index.md"], re.MULTILINE))
    assert named == {Path(page).stem for page in PAGES} - {"index"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace as `init` writes it."""
    directory = tmp_path_factory.mktemp("readme") / "my-desk"
    workspace.init(directory, date(2026, 1, 1))
    return directory


def test_the_settings_about_people_are_settings_without_findings(made: Path) -> None:
    """The snippets of docs/desk.md can be put at the end of the configuration that `init` writes."""
    path = made / "with-people.toml"
    own = (made / "support-agent.toml").read_text("utf-8")
    path.write_text("\n".join([own, *blocks("toml", "docs/desk.md")]), "utf-8")
    assert [str(one) for one in check_agent(load(path), path)] == []
    assert [str(one) for one in check_named(load(path), ConfigFile.read(path))] == []
    assert load(path).hours.has_hours


@pytest.mark.parametrize("name", PATHS)
def test_every_path_named_exists(name: str, made: Path) -> None:
    """In the repository, in the package, beside the English templates, or in what `init` writes."""
    if name in MADE_BY_THE_READER:
        assert not (ROOT / name).exists()
    else:
        assert any((base / name).exists() for base in (ROOT, PACKAGE, ROOT / "templates" / "en", made))


def test_the_document_of_the_readme_is_a_document_beside_the_demo_companys() -> None:
    """The snippet parses as the company's files do, and its number is free."""
    (text,) = blocks("markdown", "docs/documents.md")
    document = parse_document(Path("021-gift-cards.md"), text.encode())
    assert document.head.questions
    assert document.sentences
    taken = {other.number for other in load_documents(ROOT / "policies")}
    assert document.number not in taken


def test_the_account_field_of_the_readme_is_one(made: Path, tmp_path: Path) -> None:
    """The snippet can be put at the end of the `accounts.toml` that `init` writes."""
    (text,) = blocks("toml", "docs/accounts.md")
    (name,) = tomllib.loads(text)["fields"]
    path = tmp_path / "accounts.toml"
    path.write_text((made / "accounts.toml").read_text("utf-8") + "\n" + text, "utf-8")
    specs, findings = read_specs(read_toml(path))
    assert findings == []
    assert specs is not None
    assert specs.fields[name].label_for("de-DE") == "Verbleibende Supportstunden"


def test_the_settings_for_gmail_and_microsoft_365_are_ones(tmp_path: Path) -> None:
    """The snippet is a configuration, and so is each key that a comment of it names."""
    (text,) = blocks("toml", "docs/gmail-and-microsoft-365.md")
    path = tmp_path / "support-agent.toml"
    path.write_text(text, "utf-8")
    assert load(path).imap.auth is load(path).smtp.auth is SignIn.XOAUTH2
    other = text.replace('authserv_ids = ["mx.google.com"]       # instead: ', "")
    other = other.replace('"smtp.gmail.com"                # smtp.office365.com, ', '"smtp.office365.com"\n').replace(
        ", sec", "\nsec"
    )
    path.write_text(other, "utf-8")
    smtp = load(path).smtp
    assert (load(path).agent.believes_results_without_id, smtp.port, smtp.security) == (True, 587, Security.STARTTLS)


def test_the_settings_of_the_page_about_watching_are_ones(tmp_path: Path) -> None:
    """The snippets are a configuration; the port and the collector of the first are off without it."""
    path = tmp_path / "support-agent.toml"
    path.write_text("\n".join(blocks("toml", "docs/watching.md")), "utf-8")
    (tmp_path / "canary.password").write_text("secret\n")
    settings = load(path)
    assert (settings.watch.port, settings.probe.document) == (9464, 1)
    assert settings.probe.password.get_secret_value() == "secret"


def test_every_alarm_is_on_the_page_about_watching() -> None:
    """In the table of causes."""
    named = re.findall(r"^\| `([a-z_]+)` \|", PAGES["docs/watching.md"].partition("## Alarms")[2], re.MULTILINE)
    assert set(named) == set(AlarmKind)


def test_the_workspace_of_step_one_passes_check(made: Path) -> None:
    """The README says so: the first minute has no error."""
    findings = check(load(made / workspace.CONFIG_FILE), date(2026, 1, 1))
    assert [str(finding) for finding in findings if finding.severity is Severity.ERROR] == []


def test_a_copied_language_is_used_for_its_customers(made: Path, tmp_path: Path) -> None:
    """What the README says of `templates/es/`: it passes `check`, and dates and numbers become Spanish."""
    copied = tmp_path / "templates"
    shutil.copytree(made / "templates", copied)
    shutil.copytree(copied / "en", copied / "es")
    findings = check_templates(copied, tool_codes())
    assert [str(finding) for finding in findings if finding.severity is Severity.ERROR] == []
    period = Period(name="2025", first=date(2025, 1, 1), last=date(2025, 12, 31))
    item = TableItem(series="payments", label="Payments", period=period, steps=(), rows=())
    final = around(item, locale="es-ES", asked=1)
    assert "1 de enero de 2025" in render(final, Templates.load(copied)).text.text
    assert "1 January 2025" in render(final, Templates.load(made / "templates")).text.text


@pytest.mark.parametrize("row", table("docs/glossary.md"), ids=lambda row: row[0])
def test_every_word_of_the_glossary_is_in_the_code(row: list[str]) -> None:
    """The last column is a module below the package, a name in it, and perhaps a field of that."""
    _, meaning, place = row
    names = place.strip("`").split(".")
    is_field = names[-2][0].isupper()
    module, name = names[: -2 if is_field else -1], names[-2 if is_field else -1]
    found = getattr(importlib.import_module(".".join(("support_agent", *module))), name)
    fields = names[-1:] if is_field else []
    for field in (*fields, *re.findall(r"`([a-z_]+)`", meaning)):
        assert field in (found.__members__ if issubclass(found, Enum) else found.model_fields)


def test_the_settings_of_the_readme_have_the_defaults_it_says(made: Path) -> None:
    """Also in a new workspace: what `init` writes changes none of them."""
    rows = table("docs/choices.md")
    assert rows
    for settings in (Settings(), load(made / workspace.CONFIG_FILE)):
        for name, default, _ in rows:
            part, _, key = name.strip("`").partition(".")
            assert str(getattr(getattr(settings, part), key)) == default


def test_the_margins_of_the_readme_are_those_of_the_choice() -> None:
    """When the model is asked, and about how many topics, stands in choice.py, or the README is out of date."""
    from support_agent.planner import choice

    text = " ".join(PAGES["docs/choices.md"].split())
    assert f"`{choice.NONE_TITLE}`" in text
    assert f"{choice.MARGIN} above its threshold" in text
    assert f"at least {choice.PLAUSIBLE:.0%}, {choice.MOST_JUDGED} of them at most" in text


def test_the_models_port_has_one_method_and_it_returns_numbers() -> None:
    """The promise's first point: there is no method that returns text."""
    methods = {name for name, value in vars(Model).items() if callable(value) and not name.startswith("_")}
    assert methods == {"score"}
    assert "no method that returns text" in " ".join(README.split())


def test_the_readme_has_the_same_figures_as_the_measurements() -> None:
    """Rule: a figure that is measured again changes in both."""
    said = r"(\d+) have an answer.*?(\d+) were answered: (\d+) rightly, (\d+) with the right document.*?(\d+) wrongly"
    figures = [re.findall(said, " ".join(text.split())) for text in (README, PAGES["docs/measurements.md"])]
    assert figures[0] == figures[1] != []


def test_the_sizes_of_the_models_are_those_of_the_pinned_ones() -> None:
    """Rule: the docs say how much is downloaded, which is more than what stays on the disk."""
    files = [file for model in MODELS for file in model.files]
    wheels = [source for file in files for source in file.sources if isinstance(source, Wheels)]
    download_bytes = sum(member.download_bytes for source in wheels for member in source.members)
    text = " ".join(" ".join(ALL.values()).split())
    downloads = re.findall(r"downloads the models,?(?: meanwhile)? \(?([\d.]+) GB", text)
    assert downloads == [f"{download_bytes / 1e9:.1f}"] * 3
    assert re.findall(r"the models take ([\d.]+) GB", text) == [f"{sum(file.size_bytes for file in files) / 1e9:.1f}"]


def test_the_number_of_demo_mails_is_the_one_of_the_readme() -> None:
    """Twenty, until there are more."""
    words = {18: "Eighteen", 19: "Nineteen", 20: "Twenty", 21: "Twenty-one"}
    mails = list((PACKAGE / "demo" / "mails").glob("*.eml"))
    assert f"{words[len(mails)]} mails:" in README
    for name in re.findall(r"^(\d\d-[a-z-]+\.eml)", README, re.MULTILINE):
        assert (PACKAGE / "demo" / "mails" / name).is_file()


@pytest.mark.parametrize("page", [*ALL, "CHANGELOG.md"])
def test_the_text_is_plain_and_narrow(page: str) -> None:
    """It renders anywhere, a terminal included; only the lines of tables, and what is generated, are long."""
    text = {**ALL, "CHANGELOG.md": CHANGELOG}[page]
    limit = MAX_WIDTH if page != "CONTRIBUTING.md" else 120
    lines = [] if page in {"docs/commands.md", "docs/settings.md"} else text.splitlines()
    assert [line for line in lines if len(line) > limit and not line.startswith("|")] == []
    assert text.isascii()


def test_the_readme_is_read_in_five_minutes() -> None:
    """Everything else is in the docs."""
    assert len(README.encode()) <= MAX_README_BYTES


def test_the_changelog_has_the_version_of_the_package_and_so_has_the_wheel_in_the_docs() -> None:
    """With the day of its release; who copies a command installs the wheel that was just made."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert set(re.findall(r"support_agent-([^-]+)-py3", " ".join(ALL.values()))) == {version}
    assert re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", CHANGELOG, re.MULTILINE)
