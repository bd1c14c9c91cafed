"""What `check` says of the settings about people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.core.findings import Finding
from support_agent.demo import workspace
from support_agent.ops.check import check_agent, check_file
from support_agent.ops.check_desk import check_named, check_reminders, check_routes, check_senders
from support_agent.ops.config_file import ConfigFile

TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BILLING = 'address = "billing@harborfile.example"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace as `init` writes it."""
    folder = tmp_path_factory.mktemp("workspace") / "desk"
    workspace.init(folder, TODAY)
    return folder


def found(made: Path, *routes: str) -> list[Finding]:
    """The findings about these rules, each of the form of a table without its head."""
    original, path = made / "support-agent.toml", made / "with-routes.toml"
    tables = "".join(f"[[desk.routes]]\n{route}" for route in routes)
    path.write_text(original.read_text("utf-8").replace("[autonomy]", f"{tables}[autonomy]", 1), "utf-8")
    settings, config = load(path), ConfigFile.read(path)
    return [*check_routes(settings, config), *check_named(settings, config)]


def found_by(check: Callable[[Settings, ConfigFile], Iterable[Finding]], made: Path, sections: str) -> list[Finding]:
    """The findings of one check, with these sections at the end of the configuration."""
    original, path = made / "support-agent.toml", made / "with-sections.toml"
    path.write_text(f"{original.read_text('utf-8')}{sections}", "utf-8")
    return list(check(load(path), ConfigFile.read(path)))


def line_of(made: Path, text: str) -> int:
    lines = (made / "with-routes.toml").read_text("utf-8").splitlines()
    return max(number for number, line in enumerate(lines, start=1) if line.startswith(text))


def test_rules_that_can_decide_have_no_findings(made: Path) -> None:
    routes = (
        'topics = ["document:3", "field:*"]\nlevels = [3]\n',
        'topics = ["document:3"]\n',
        'languages = ["de", "no"]\nreasons = ["person_asked_for", "any_news", "gate_refused"]\n',
        "",
    )
    assert found(made, *(BILLING + route for route in routes)) == []


@pytest.mark.parametrize(
    ("route", "line", "what"),
    [
        (BILLING + 'topics = ["document:999"]\n', "topics", "names document:999, and the company has no such topic"),
        (BILLING + 'topics = ["record:x*"]\n', "topics", "names record:x*, and the company has no such topic"),
        (BILLING + 'languages = ["xx"]\n', "languages", "names 'xx' in its languages, and no mail is recognised"),
        (
            BILLING + 'reasons = ["persn_asked_for"]\n', "reasons",
            "names 'persn_asked_for' in its reasons, and no packet has it, did you mean person_asked_for?",
        ),
        ('address = "support@harborfile.example"\n', "address = \"sup", "is the agent's own address"),
        ('address = "support+x@harborfile.example"\n', "address = \"sup", "is the agent's own address"),
        ('address = "Billing <b@x.example>"\n', "address = \"Bil", "is no plain address such as help@example.com"),
        ('address = ""\n', 'address = ""', "desk.routes.address is not set"),
        (
            BILLING + 'topics = ["document:1"]\nlevels = [0]\n', "address = \"bil",
            "can never decide: nothing is chosen for a sender below agent.answers_from_level",
        ),
    ],
)  # fmt: skip
def test_what_a_rule_names_wrongly_is_found_with_its_line(made: Path, route: str, line: str, what: str) -> None:
    (finding,) = found(made, BILLING + 'reasons = ["unsure"]\n', route)
    assert (what in finding.what, finding.line) == (True, line_of(made, line))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("", 'topics = ["document:1"]\n'),
        ('topics = ["document:1*"]\n', 'topics = ["document:10", "document:11"]\nlevels = [3]\n'),
        ("levels = [2, 3]\n", "levels = [3]\n"),
        ('languages = ["de"]\n', 'languages = ["de"]\nreasons = ["unsure"]\n'),
    ],
)
def test_a_rule_behind_one_that_takes_all_of_its_cases_never_decides(made: Path, earlier: str, later: str) -> None:
    (finding,) = found(made, BILLING + earlier, BILLING + later)
    assert "rule 2 of desk.routes can never decide: rule 1 fits first, whatever it fits" in finding.what


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ('topics = ["document:1"]\n', 'topics = ["document:1*"]\n'),
        ('topics = ["document:1"]\n', "levels = [3]\n"),
        ("levels = [3]\n", ""),
        ('languages = ["de"]\nlevels = [3]\n', 'languages = ["de"]\n'),
    ],
)
def test_a_rule_that_some_cases_still_reach_is_none(made: Path, earlier: str, later: str) -> None:
    assert found(made, BILLING + earlier, BILLING + later) == []


def test_check_and_doctor_say_it(made: Path) -> None:
    found(made, BILLING, BILLING)
    path = made / "with-routes.toml"
    assert any("can never decide" in finding.what for finding in check_file(path, NOON))
    assert any("can never decide" in finding.what for finding in check_agent(load(path)))


@pytest.mark.parametrize(
    ("lists", "what"),
    [
        ('block = ["harborfile.example"]\n', "stands for desk@harborfile.example, an address of your people"),
        ('block = ["x.example"]\nallow = ["ada@x.example"]\n', "has 'x.example', which counts first"),
        ('block = ["x.example"]\nallow = ["mail.x.example"]\n', "has 'x.example', which counts first"),
        ('block = ["ada@x.example"]\nallow = ["x.example"]\n', ""),
    ],
)
def test_lists_that_block_ones_own_people_or_each_other_are_found(made: Path, lists: str, what: str) -> None:
    findings = found_by(check_senders, made, f"[senders]\n{lists}")
    assert [what in finding.what for finding in findings] == [True] * bool(what)
    assert all(finding.line for finding in findings)


@pytest.mark.parametrize(
    ("sections", "what"),
    [
        ('[reminders]\naddress = "support@harborfile.example"\nafter_h = 1\n', "is the agent's own address"),
        ('[reminders]\naddress = "support+x@harborfile.example"\nafter_h = 1\n', "is the agent's own address"),
        ('[digest]\naddress = "support@harborfile.example"\n', "is the agent's own address"),
        ('[digest]\naddress = "SUPPORT+x@harborfile.example"\n', "is the agent's own address"),
        ('[reminders]\naddress = "Lead <l@x.example>"\nafter_h = 1\n', "is no plain address"),
        ('[reminders]\naddress = "lead@x.example"\n', "reminders.after_h is 0, so nobody is reminded"),
        ('[reminders]\naddress = "l@x.example"\nafter_h = 1\naddress_from = 4\n', "is above reminders.most = 3"),
        ("[hours]\nholidays = [2026-12-25]\n", "no day of the week has hours"),
        ("[hours]\nreply_within_h = 4\n", "no day of the week has hours"),
        ('[reminders]\nafter_h = 1\n[hours]\nmonday = ["09:00-17:00"]\nholidays = [2026-12-25]\n', ""),
    ],
)
def test_reminders_that_nobody_gets_and_holidays_without_hours_are_found(made: Path, sections: str, what: str) -> None:
    findings = found_by(check_reminders, made, sections)
    assert [what in finding.what for finding in findings] == [True] * bool(what)
    assert all(finding.line for finding in findings)
