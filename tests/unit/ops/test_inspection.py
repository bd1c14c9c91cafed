"""`support-agent inspect`: what is seen in a file, for any file there is."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from support_agent.cli import main as cli
from support_agent.cli import printing
from support_agent.config.agent import AgentSettings
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.settings import Settings
from support_agent.mail.machines.screening import Verdict
from support_agent.ops import inspection
from support_agent.ops.inspection import Inspection, inspect_file
from tests.unit.mail.mails import AGENT, EMAILS

NOW = datetime(2026, 3, 10, tzinfo=UTC)
KEYS = [
    "file",
    "message_id",
    "from",
    "to",
    "subject",
    "date",
    "text",
    "visible_text",
    "quoted_text",
    "signature",
    "attachments",
    "references",
    "bounce",
    "automatic",
    "screening",
    "sender",
    "error",
]
BOUNCE = """Return-Path: <>
From: MAILER-DAEMON@mx.example.org
To: support@harborfile.example
Subject: failure notice

<tom.berg@example.org>:
Sorry, no mailbox here by that name. (#5.1.1)
"""


def no_records(name: str, timeout_s: float) -> tuple[bytes, ...]:
    """A DNS that has nothing."""
    return ()


def inspect(path: Path, agent: AgentSettings = AGENT) -> Inspection:
    return inspect_file(path, Settings(agent=agent), lambda address: False, NOW, no_records)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as exit_:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_a_customers_mail_is_told_with_all_that_was_seen() -> None:
    found = inspect(EMAILS / "attachments.eml")
    assert (found.from_, found.to) == ("anna.keller@example.net", ("support@harborfile.example",))
    assert found.attachments
    assert (found.automatic, found.bounce, found.error) == (False, None, None)
    assert (found.screening.verdict, found.screening.rule) == (Verdict.ANSWER, None)


def test_s64_a_bounce_names_its_recipients(tmp_path: Path) -> None:
    found = inspect(written(tmp_path / "a.eml", BOUNCE))
    assert found.bounce is not None
    assert (found.bounce.recipients, found.bounce.status, found.bounce.permanent) == (
        ("tom.berg@example.org",),
        "5.1.1",
        True,
    )
    assert found.automatic
    assert (found.screening.verdict, found.screening.rule) == (Verdict.FILE, "S1")


def test_s37_a_file_that_cannot_be_read_has_an_error_and_is_a_persons(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.eml", tmp_path):
        found = inspect(path)
        assert found.error
        assert (found.screening.verdict, found.screening.rule) == (Verdict.DESK, "S37")


def test_s37_a_mail_that_breaks_the_program_has_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(raw: bytes) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(inspection, "parse", break_down)
    assert inspect(written(tmp_path / "a.eml", BOUNCE)).error == "RecursionError: too deep"


def test_s15_a_mail_above_the_size_limit_is_read_in_part_and_a_persons(tmp_path: Path) -> None:
    head = "From: anna.keller@example.net\nTo: support@harborfile.example\nSubject: Refund\n\n"
    settings = Settings(agent=AGENT, imap=ImapSettings(max_message_bytes=10_000))
    found = inspect_file(
        written(tmp_path / "a.eml", head + "x" * 20_000),
        settings,
        lambda address: False,
        NOW,
        no_records,
    )
    assert (found.error, found.from_) == (None, "anna.keller@example.net")
    assert (found.screening.verdict, found.screening.rule) == (Verdict.DESK, "S15")


def test_the_command_prints_one_line_of_json_a_file_and_exits_1_if_one_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a configuration too: then our own addresses are not known, and S10 cannot hold."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noise.eml").write_bytes(bytes(range(256)) * 20)
    files = [EMAILS / "not_addressed_to_us.eml", tmp_path / "noise.eml", tmp_path / "missing.eml"]
    assert run("inspect", "--json", *files) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [list(line) for line in lines] == [KEYS] * 3
    assert [line["file"] for line in lines] == [str(file) for file in files]
    assert lines[0]["screening"] == {"verdict": "answer", "rule": None}
    assert lines[0]["date"].endswith("Z")
    assert [line["error"] is None for line in lines] == [True, True, False]
    assert run("inspect", *files[:2]) == 0, "whatever a file holds"


def test_a_file_name_that_is_no_text_is_printed_as_far_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mail stores name files by bytes; the line of JSON must be UTF-8."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.eml"))
    path.write_text("From: mara.lindt@example.net\n\nHello\n")
    assert run("inspect", "--json", path) == 0
    assert json.loads(capsys.readouterr().out)["file"].endswith("/\ufffd.eml")


def test_the_command_takes_the_workspaces_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", tmp_path / "ws") == 0
    capsys.readouterr()
    config = tmp_path / "ws" / "support-agent.toml"
    assert run("inspect", "--json", "--config", config, EMAILS / "not_addressed_to_us.eml") == 0
    assert json.loads(capsys.readouterr().out)["screening"] == {"verdict": "desk", "rule": "S10"}


def test_for_people_a_mail_is_a_short_block(tmp_path: Path) -> None:
    block = printing.inspection(inspect(written(tmp_path / "a.eml", BOUNCE)))
    assert "failed 5.1.1: tom.berg@example.org" in block
    assert "file  S1" in block
    assert "a machine" in block
    assert "error" in printing.inspection(inspect(tmp_path / "missing.eml"))


@run_with(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=400) | st.text(alphabet='From: a@b.c<>\n;=?-"', max_size=300).map(str.encode))
def test_any_bytes_have_an_inspection_without_error(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.eml").write_bytes(raw)
    found = inspect(tmp_path / "a.eml")
    assert found.error is None
    assert json.loads(found.model_dump_json(by_alias=True))["error"] is None
