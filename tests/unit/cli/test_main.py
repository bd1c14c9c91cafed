"""The command line in this process: what each command takes, prints and exits with; the model and search are fakes.

As a subprocess, on the real model and servers, it is run by tests/acceptance.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog
from sqlalchemy import text

from support_agent.cli import main as cli
from support_agent.config.settings import Settings
from support_agent.errors import PermanentError
from support_agent.models.language_model import Model
from support_agent.models.progress import Progress
from tests.fakes import PLAIN
from tests.fakes_journey import DESK, JAMES, Office, SureModel, WordSearch, write
from tests.unit.models.packages import CONTENT, model

SEATS = "How many seats have we paid for?"
UNSURE = "unsure"
"""A model of that name (or in a file of that name) is not sure of anything."""


class Done(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that an error is; nothing was printed beside it."""
        (line,) = self.err.splitlines()
        assert self.out == ""
        return line


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run the program with these arguments."""

    def run_program(*arguments: str | Path) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return Done(exit_.value.code, out, err)

    yield run_program
    structlog.reset_defaults()


@dataclass
class Desk:
    """A workspace, and the agent whose mails are in its store."""

    folder: Path
    office: Office

    @property
    def case_id(self) -> str:
        return self.office.store.cases.recent(1)[0].case.id

    def write_config(self, folder: Path, *, planner: str = "", model: str = "", store: str | None = None) -> Path:
        """A configuration of the office's company; `planner` and `model` are lines of those sections."""
        folder.mkdir(exist_ok=True)
        company = self.office.settings.company
        agent = self.office.settings.agent
        path = folder / "support-agent.toml"
        path.write_text(
            f"""
[company]
name = "Harborfile"
policies = "{company.policies}"
templates = "{company.templates}"
accounts = "{company.accounts}"
[agent]
address = "{agent.address}"
name = "{agent.name}"
authserv_ids = {list(agent.authserv_ids)}
secret = "another-key-than-that-of-the-mails-in-the-store"
[desk]
address = "{DESK}"
[store]
url = "{store or self.office.store.database.url}"
[planner]
{planner}
[model]
cache_dir = "{folder / "models"}"
{model}
""",
            "utf-8",
        )
        return path


@pytest.fixture
def desk(office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A workspace with one answered mail, in the working folder; model and search are fakes, the fact room is off."""

    def open_model(settings: Settings, progress: Progress) -> Model:
        model = settings.model
        named = model.name if model.planner == "openai" else model.path and model.path.stem
        return SureModel(1e-9 if named == UNSURE else 0.999)

    def open_search(*_: object, **__: object) -> WordSearch:
        return WordSearch()

    monkeypatch.setattr("support_agent.app.wiring.open_model", open_model)
    monkeypatch.setattr("support_agent.app.wiring.open_search", open_search)
    monkeypatch.setattr("support_agent.planner.combiner.committed", lambda *_: PLAIN)
    monkeypatch.setenv("SUPPORT_AGENT__PLANNER__MODEL_VOTES", "always")
    monkeypatch.setattr("support_agent.app.wiring.open_rooms", lambda *_, **__: None)
    office.handle(write(SEATS, sender=JAMES))
    desk = Desk(tmp_path / "desk", office)
    desk.write_config(desk.folder)
    monkeypatch.chdir(desk.folder)
    return desk


# -- errors --------------------------------------------------------------------------------------------------------


def test_failure_that_nobody_foresaw_is_one_line_and_with_debug_a_traceback(
    run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator reads what failed, never a page of Python that they did not ask for."""

    def fail(*_: object) -> None:
        raise RuntimeError("the disk is\non fire")

    monkeypatch.setattr("support_agent.app.wiring.existing_store", fail)
    done = run("cases")
    assert (done.code, done.error) == (
        1,
        "support-agent: unexpected RuntimeError: the disk is: `support-agent --debug ...` shows where",
    )
    told = run("--debug", "cases")
    assert (told.code, told.err.splitlines()[0]) == (1, "Traceback (most recent call last):")
    assert told.err.splitlines()[-1] == done.error


def test_work_that_failed_is_exit_1(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 2: the configuration can be used."""

    def fail(*_: object) -> None:
        raise PermanentError("the record cannot be read: read it with the version that wrote it")

    monkeypatch.setattr("support_agent.app.wiring.existing_store", fail)
    done = run("cases")
    assert (done.code, done.error) == (
        1,
        "support-agent: the record cannot be read: read it with the version that wrote it",
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "nosuchcase"], "no case nosuchcase"),
        (["why", "nosuchcase"], "no case nosuchcase"),
        (["replay", "nosuchcase"], "no case nosuchcase"),
        (["replay"], "say what to replay"),
        (["replay", "nosuchcase", "--all"], "say what to replay"),
        (["replay", "--all", "--model", "x"], "need --plan"),
        (["replay", "--all", "--plan-config", "x.toml"], "need --plan"),
        (["replay", "--all", "--plan", "--plan-config", "x.toml"], "no configuration at x.toml"),
        (["replay", "--all", "--plan", "--policies", "x"], "x"),
        (["try", "missing.eml"], "missing.eml: No such file or directory: name a readable .eml file"),
        (["cases", "--config", "x.toml"], "no configuration at x.toml"),
        (["model", "list", "--config", "x.toml"], "no configuration at x.toml"),
        (["model", "pull", "--config", "x.toml"], "no configuration at x.toml"),
        (["model", "verify", "--config", "x.toml"], "no configuration at x.toml"),
        (["doctor", "--config", "x.toml"], "no configuration at x.toml"),
        (["check", "--config", "x.toml"], "no configuration at x.toml"),
        (["run", "--once"], "not set: imap.host, smtp.host"),
        (["init", "."], "support-agent.toml already: choose an empty folder"),
    ],
)
def test_what_cannot_be_done_as_asked_is_exit_2_and_one_line(
    run: Run, desk: Desk, arguments: list[str], told: str
) -> None:
    """stdout stays empty, so that no script takes it for a result."""
    done = run(*arguments)
    assert done.code == 2
    assert done.error.startswith("support-agent: ")
    assert told in done.error


# -- reading -------------------------------------------------------------------------------------------------------


def test_a_case_is_listed_shown_and_explained_for_scripts(run: Run, desk: Desk) -> None:
    """One JSON value each."""
    ((listed,), shown, (explained,)) = (
        json.loads(run(*arguments, "--json").out)
        for arguments in (["cases"], ["show", desk.case_id], ["why", desk.case_id])
    )
    assert listed["case"]["id"] == shown["case"]["id"] == explained["case_id"] == desk.case_id
    assert "send_account_field(seats_paid)" in [call["call"] for call in shown["mails"][0]["plan"]["calls"]]
    assert explained["lines"][0]["text"] == "Hello James Okafor,"


def test_files_are_tried_only_if_all_of_them_can_be_read(run: Run, desk: Desk) -> None:
    """A script gets a line for each file, or exit 2 and none: never half of them."""
    (desk.folder / "a.eml").write_bytes(write(SEATS, sender=JAMES))
    (desk.folder / "b.eml").write_bytes(b"Precedence: bulk\r\n" + write(SEATS, sender=JAMES))
    done = run("try", "a.eml", "b.eml", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["file"], line["outcome"]) for line in lines] == [("a.eml", "answer"), ("b.eml", "filed")]
    assert done.code == 0
    failed = run("try", "a.eml", "missing.eml", "--json")
    assert (failed.code, "missing.eml" in failed.error) == (2, True)


def test_doctor_tells_scripts_what_is_missing(run: Run, desk: Desk) -> None:
    """Exit 1 while no mail could be answered, with every part's state."""
    done = run("doctor", "--json")
    assert done.code == 1
    found = {entry["subject"]: entry["severity"] for entry in json.loads(done.out)}
    assert found["database"] == "ok"
    assert found["mailbox"] == "error"


# -- replay --------------------------------------------------------------------------------------------------------


def replayed(run: Run, *arguments: str | Path) -> tuple[int, Any]:
    """Exit code, and the one document that is printed."""
    done = run("replay", "--all", "--json", *arguments)
    return done.code, json.loads(done.out)


def test_replay_needs_neither_the_key_nor_todays_words(run: Run, desk: Desk, tmp_path: Path) -> None:
    """The workspace has another key than the mails were made with, and here other names and no company at all."""
    code, report = replayed(run)
    assert (code, report["is_different"], report["replanned"]) == (0, False, None)
    assert [entry["is_identical"] for entry in report["replayed"]] == [True]
    other = tmp_path / "other.toml"
    other.write_text(f'[store]\nurl = "{desk.office.store.database.url}"\n')
    assert replayed(run, "--config", other) == (code, report)


def test_changed_byte_is_exit_1(run: Run, desk: Desk) -> None:
    """And the difference is in the document."""
    with desk.office.store.database.write() as connection:
        connection.execute(text("UPDATE outbox SET raw = CAST(replace(raw, 'James', 'Jamie') AS BLOB)"))
    code, report = replayed(run)
    assert (code, report["is_different"]) == (1, True)
    assert "+Hello James Okafor," in report["replayed"][0]["diff"]


def test_planning_again_is_one_document_with_counts(run: Run, desk: Desk) -> None:
    """`json.loads` reads it whole; both parts and the counts are in it."""
    code, report = replayed(run, "--plan")
    assert (code, report["is_different"]) == (0, False)
    assert len(report["replayed"]) == len(report["replanned"]) == 1
    assert {status: count for status, count in report["counts"].items() if count} == {"same": 1}
    as_text = run("replay", "--all", "--plan")
    assert "1 mail replayed: identical\n1 mail planned again: 1 same" in as_text.out


def newly_escalated(report: Any) -> bool:
    return [status for status, count in report["counts"].items() if count] == ["newly_escalated"]


def test_mails_of_one_store_are_planned_with_another_configuration(run: Run, desk: Desk, tmp_path: Path) -> None:
    """Whatever store that one has is not looked at, nor made; its other settings are those that are tried."""
    store = tmp_path / "other" / "own.sqlite3"
    other = desk.write_config(tmp_path / "other", planner="threshold_answer = 1.0", store=f"sqlite:///{store}")
    code, report = replayed(run, "--plan", "--plan-config", other)
    assert (code, newly_escalated(report)) == (1, True)
    assert not store.exists()
    assert replayed(run, "--plan", "--config", desk.folder / "support-agent.toml", "--plan-config", other)[0] == 1


def test_configuration_beside_the_workspaces_own_plans_the_same_mails(run: Run, desk: Desk) -> None:
    """`--config` with a copy in the workspace's folder, where a setting was changed: the store is the same one."""
    config = (desk.folder / "support-agent.toml").read_text("utf-8")
    (desk.folder / "strict.toml").write_text(config.replace("[planner]", "[planner]\nthreshold_answer = 1.0"), "utf-8")
    code, report = replayed(run, "--plan", "--config", "strict.toml")
    assert (code, newly_escalated(report)) == (1, True)


@pytest.mark.parametrize(
    ("line", "flag"),
    [("", f"{UNSURE}.gguf"), ('planner = "openai"\nname = "sure"\nbase_url = "http://127.0.0.1:1/v1"', UNSURE)],
)
def test_another_model_is_a_file_or_the_servers_name_of_it(run: Run, desk: Desk, line: str, flag: str) -> None:
    """As the configured planner has it."""
    desk.write_config(desk.folder, planner="threshold_answer = 0.999", model=line)
    code, report = replayed(run, "--plan")
    assert (code, report["replanned"][0]["after"]["reason"]) == (0, None), report["replanned"][0]["after"]
    code, report = replayed(run, "--plan", "--model", flag)
    assert (code, newly_escalated(report)) == (1, True)


def test_another_folder_of_templates_is_tried(run: Run, desk: Desk, tmp_path: Path) -> None:
    """The diff of what the customer reads, and exit 1."""
    templates = desk.office.decider.templates.as_files()
    for name, source in templates.items():
        path = tmp_path / "templates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.replace("Kind regards", "Best wishes"), "utf-8")
    code, report = replayed(run, "--plan", "--templates", tmp_path / "templates")
    assert (code, report["counts"]["changed"]) == (1, 1)
    assert "-Kind regards\n+Best wishes" in report["replanned"][0]["diff"]


# -- models --------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in which the only model is a tiny one that no source delivers."""
    tiny = model()
    for name in ("models.pinned.MODELS", "models.pulling.MODELS"):
        monkeypatch.setattr(f"support_agent.{name}", (tiny,))
    monkeypatch.setattr("support_agent.models.pulling.LANGUAGE_MODEL", tiny)
    monkeypatch.setattr("support_agent.models.embedders.needed_models", lambda settings: (tiny,))
    cache = tmp_path / "cache"
    monkeypatch.setenv("SUPPORT_AGENT__MODEL__CACHE_DIR", str(cache))
    monkeypatch.chdir(tmp_path)
    return cache


def test_model_that_is_missing_is_listed_and_found_by_verify(run: Run, cache: Path) -> None:
    """Without any workspace; `verify` says what to do, exit 1."""
    (listed,) = json.loads(run("model", "list", "--json").out)
    assert (listed["name"], listed["state"], listed["path"]) == ("tiny", "absent", str(cache / "tiny" / "tiny.gguf"))
    assert "absent" in run("model", "list").out
    done = run("model", "verify")
    assert done.code == 1
    assert "tiny.gguf: Tiny is not there: run `support-agent model pull`" in done.out
    (finding,) = json.loads(run("model", "verify", "--json").out)
    assert finding["severity"] == "error"


def test_model_that_nobody_delivers_is_exit_2_with_the_way_to_bring_it_by_hand(run: Run, cache: Path) -> None:
    """What was tried, and where the file would have to be."""
    done = run("model", "pull")
    assert (done.code, done.out) == (2, "")
    assert f"put the file with sha256 {model().files[0].sha256} at {cache / 'tiny' / 'tiny.gguf'}" in done.err


def test_model_that_was_brought_by_hand_is_pulled_and_verified(run: Run, cache: Path) -> None:
    """The right bytes are enough; nothing is downloaded."""
    path = cache / "tiny" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert json.loads(run("model", "list", "--json").out)[0]["state"] == "unverified"
    assert run("model", "pull") == (0, f"{path}\n{path}\n", "")
    assert json.loads(run("model", "list", "--json").out)[0]["state"] == "verified"
    assert run("model", "verify") == (0, "0 errors, 0 warnings\n", "")


def test_model_whose_bytes_changed_is_found_by_verify(run: Run, cache: Path) -> None:
    """Whatever was stamped before."""
    path = cache / "tiny" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    run("model", "pull")
    path.write_bytes(CONTENT[::-1])
    done = run("model", "verify")
    assert (done.code, "not the pinned file" in done.out) == (1, True)


# -- the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["aiosmtpd.smtp", "pymap.backend.dict"])
def test_demo_without_its_servers_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Rule: the demo's mail servers are an extra; nobody else installs them."""
    for module in ("support_agent.demo.run", "support_agent.demo.servers"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    done = run("demo", "--workspace", tmp_path / "demo")
    assert done.code == 2
    assert missing in done.error
    assert "support-agent[demo]" in done.error


def test_a_new_workspace_is_written_and_passes_the_check(run: Run, tmp_path: Path) -> None:
    """`init` prints what it wrote, and on stderr the next command."""
    done = run("init", tmp_path / "new")
    assert done.code == 0
    assert all(Path(line).exists() for line in done.out.splitlines())
    assert "support-agent check --config" in done.err
    checked = run("check", "--json", "--config", tmp_path / "new" / "support-agent.toml")
    assert (checked.code, {entry["severity"] for entry in json.loads(checked.out)}) == (0, {"warning"})


def test_the_version_is_told_without_a_configuration(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reports a fault is asked for it first."""
    monkeypatch.chdir(tmp_path)
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert run("--version") == Done(0, f"support-agent {project['version']}\n", "")
