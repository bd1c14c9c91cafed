"""`init`, `check`, and what the program says about a configuration it cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.demo.workspace import CONFIG_FILE
from tests.acceptance.program import files_in, run
from tests.servers.program import ForkedProgram


def test_a_new_workspace_passes_the_check(workspace: Path) -> None:
    """From whatever folder it is checked: nothing is missing but the servers, which only its owner knows."""
    done = run("check", "--json", "--config", workspace / CONFIG_FILE, folder=workspace.parent)
    assert (done.code, done.err) == (0, ""), done
    (findings,) = done.lines
    assert [(finding["severity"], finding["what"].split()[0]) for finding in findings] == [
        ("warning", "imap.host"),
        ("warning", "smtp.host"),
    ]


def test_a_document_with_a_fault_fails_the_check_and_is_named(program: ForkedProgram, workspace: Path) -> None:
    """Exit 1, and the finding says which file and line."""
    document = next((workspace / "policies").glob("001-*.md"))
    document.write_text(document.read_text().replace("summary:", "sumary:", 1))
    done = program.run("check", folder=workspace)
    assert done.code == 1
    assert document.name in done.out


def test_init_leaves_a_folder_alone_that_is_a_workspace_already(program: ForkedProgram, workspace: Path) -> None:
    """Nothing that exists is overwritten: exit 2, one line that says what to do, not a byte changed."""
    before = files_in(workspace)
    done = program.run("init", workspace, folder=workspace.parent)
    assert done.code == 2
    assert one_line(done.err).endswith("choose an empty folder")
    assert files_in(workspace) == before


@pytest.mark.parametrize("command", [["run", "--once"], ["replay", "--all"]])
def test_without_a_configuration_the_program_says_what_to_do(command: list[str], tmp_path: Path) -> None:
    """Exit 2 and one line, and nothing is made."""
    done = run(*command, folder=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "support-agent init" in one_line(done.err)
    assert not files_in(tmp_path)


def test_an_unknown_key_is_refused_by_name(program: ForkedProgram, workspace: Path) -> None:
    """A misspelt setting never counts as the default: exit 2 with file, line and key; `check` finds it, exit 1."""
    config = workspace / CONFIG_FILE
    text = config.read_text().replace("[planner]", "[planner]\nmax_second = 3", 1)
    config.write_text(text)
    line = text.splitlines().index("max_second = 3") + 1
    done = program.run("cases", folder=workspace)
    assert (done.code, done.out) == (2, "")
    assert "max_second" in one_line(done.err)
    assert CONFIG_FILE in done.err
    checked = program.run("check", folder=workspace)
    assert checked.code == 1
    assert f"{CONFIG_FILE}:{line}: unknown key planner.max_second" in checked.out


def test_an_unknown_key_in_the_environment_is_refused_too(program: ForkedProgram, workspace: Path) -> None:
    """The environment is no way around the rule; values, which may be secrets, are never repeated."""
    done = program.run("cases", folder=workspace, settings={"IMAP__PASWORD": "correct-horse"})
    assert (done.code, done.out) == (2, "")
    assert "IMAP__PASWORD" in one_line(done.err)
    assert "correct-horse" not in done.err


@pytest.mark.parametrize("arguments", [["no-such-command"], ["check", "--no-such-flag"], ["try"]])
def test_wrong_usage_is_exit_2(arguments: list[str], tmp_path: Path) -> None:
    """Not 1, which means that work failed."""
    done = run(*arguments, folder=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize("command", ["", "run", "policies import"])
def test_the_program_and_its_commands_explain_themselves(command: str, tmp_path: Path) -> None:
    """`--help` works anywhere; `tests/test_docs.py` compares what each command says with docs/commands.md."""
    done = run(*command.split(), "--help", folder=tmp_path)
    assert (done.code, done.err) == (0, ""), done
    assert "Usage: support-agent" in done.out


def one_line(text: str) -> str:
    """The one line that an error is."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]
