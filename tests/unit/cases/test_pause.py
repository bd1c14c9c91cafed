"""The kill switch: a file or a setting; in doubt it is paused. And the commands that set it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support_agent.cases.pause import MAX_REASON_CHARACTERS, end_pause, read_pause, write_pause
from support_agent.cli import main as cli
from support_agent.cli.options import USAGE
from support_agent.config.agent import AgentSettings
from support_agent.config.loading import load
from support_agent.demo.workspace import CONFIG_FILE
from support_agent.errors import ConfigError


@pytest.fixture
def agent(tmp_path: Path) -> AgentSettings:
    return AgentSettings(pause_file=tmp_path / "paused")


# The file


def test_agent_is_paused_while_the_file_is_there(agent: AgentSettings) -> None:
    assert read_pause(agent) is None
    write_pause(agent, "wrong refund policy")
    assert str(read_pause(agent)) == f"paused: wrong refund policy (the file {agent.pause_file} exists)"
    assert (end_pause(agent), read_pause(agent), end_pause(agent)) == (True, None, False)


def test_file_made_by_hand_is_enough(agent: AgentSettings) -> None:
    """`touch paused`."""
    agent.pause_file.touch()
    assert str(read_pause(agent)) == f"paused (the file {agent.pause_file} exists)"


def test_setting_pauses_without_a_file(agent: AgentSettings) -> None:
    assert (
        str(read_pause(agent.model_copy(update={"paused": True})))
        == "paused (agent.paused is set in the configuration)"
    )


def test_file_stands_beside_the_configuration(tmp_path: Path) -> None:
    """Wherever the program is started from."""
    config = tmp_path / "support-agent.toml"
    config.write_text("")
    assert load(config).agent.pause_file == tmp_path / "paused"


@pytest.mark.parametrize("name", ["", "."])
def test_the_workspace_itself_is_no_pause_file(tmp_path: Path, name: str) -> None:
    """Failure: it always exists, so the agent was paused for ever, and `resume` said to delete it by hand."""
    config = tmp_path / "support-agent.toml"
    config.write_text(f'[agent]\npause_file = "{name}"\n')
    with pytest.raises(ConfigError, match=r"agent\.pause_file: write the name of a file"):
        load(config)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"x" * 100_000, b"\x1b[31mred\x07\nsecond line"],
    ids=["empty", "bytes", "long", "escapes"],
)
def test_whatever_is_in_the_file_it_pauses(agent: AgentSettings, content: bytes) -> None:
    """And nothing in it reaches the operator's screen but one printable line."""
    agent.pause_file.write_bytes(content)
    paused = read_pause(agent)
    assert paused is not None
    assert paused.reason.isprintable()
    assert len(paused.reason) <= MAX_REASON_CHARACTERS


def test_in_doubt_it_is_paused(agent: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a dangling link, a pipe that nobody writes to, or a folder that nobody may look into."""
    agent.pause_file.mkdir()
    assert read_pause(agent) is not None
    agent.pause_file.rmdir()
    agent.pause_file.symlink_to(tmp_path / "nowhere")
    assert read_pause(agent) is not None
    agent.pause_file.unlink()
    os.mkfifo(agent.pause_file)
    assert read_pause(agent) is not None

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("support_agent.cases.pause.os.lstat", refused)
    assert "cannot be checked: Permission denied" in str(read_pause(agent))


def test_file_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    agent = AgentSettings(pause_file=tmp_path / "missing" / "paused")
    with pytest.raises(ConfigError, match="make that file by hand"):
        write_pause(agent, "")
    assert end_pause(agent) is False


def test_agent_is_paused_while_the_folder_of_its_pause_file_is_away(tmp_path: Path) -> None:
    """Failure: the share with the file in it was unmounted, and the machine went on."""
    agent = AgentSettings(pause_file=tmp_path / "share" / "paused")
    agent.pause_file.parent.mkdir()
    assert read_pause(agent) is None
    agent.pause_file.parent.rmdir()
    assert "does not exist" in str(read_pause(agent))
    agent.pause_file.parent.write_text("a file where the folder was")
    assert "Not a directory" in str(read_pause(agent))


def test_pausing_again_without_a_reason_keeps_the_reason(agent: AgentSettings) -> None:
    write_pause(agent, "wrong refund policy")
    write_pause(agent, "")
    assert str(read_pause(agent)).startswith("paused: wrong refund policy")
    write_pause(agent, "worse")
    assert str(read_pause(agent)).startswith("paused: worse")


@pytest.mark.parametrize("reason", ["", "wrong refund policy"])
def test_pausing_leaves_the_file_also_where_the_setting_pauses(agent: AgentSettings, reason: str) -> None:
    """Failure: `pause` said "paused", wrote nothing, and the agent went on when the setting was taken away."""
    write_pause(agent.model_copy(update={"paused": True}), reason)
    assert str(read_pause(agent)).endswith(f"(the file {agent.pause_file} exists)")


def test_pausing_leaves_the_file_also_where_nobody_can_look_for_it(agent: AgentSettings) -> None:
    """Failure: in doubt it is paused, so nothing was written, and the agent went on when the doubt was over."""

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("support_agent.cases.pause.os.lstat", refused)
        write_pause(agent, "")
    assert str(read_pause(agent)) == f"paused (the file {agent.pause_file} exists)"


# The commands


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "support-agent.toml"
    path.write_text("[store]\nurl = 'postgresql://nobody@127.0.0.1:1/away'\n")
    return path


def run(*arguments: str | Path) -> int:
    """Run the program; its exit code."""
    with pytest.raises(SystemExit) as exit_:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_commands_pause_and_resume_without_a_database(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And each may be given twice."""
    file = config.parent / "paused"
    assert run("pause", "--reason", "wrong policy", "--config", config) == 0
    assert run("pause", "--reason", "still wrong", "--config", config) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"paused: still wrong (the file {file} exists)"
    assert (run("resume", "--config", config), run("resume", "--config", config)) == (0, 0)
    assert capsys.readouterr().out.splitlines() == ["resumed", "was not paused"]
    assert not file.exists()


def test_resume_fails_where_the_setting_still_pauses(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1: whoever typed it believes that it goes on."""
    config.write_text("[agent]\npaused = true\n")
    assert run("resume", "--config", config) == 1
    assert "still paused (agent.paused is set in the configuration)" in capsys.readouterr().err


def test_pause_that_cannot_be_written_is_a_usage_error(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("[agent]\npause_file = 'missing/paused'\n")
    assert run("pause", "--config", config) == 2
    assert "make that file by hand" in capsys.readouterr().err


def test_list_of_cases_says_that_the_agent_is_paused(
    empty_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr: stdout is data."""
    config, store = tmp_path / "support-agent.toml", shutil.copy(empty_store, tmp_path / "store.sqlite3")
    config.write_text(f'[store]\nurl = "sqlite:///{store}"\n')
    run("pause", "--reason", "wrong policy", "--config", config)
    capsys.readouterr()
    assert run("cases", "--json", "--config", config) == 0
    out, err = capsys.readouterr()
    assert (out.strip(), "paused: wrong policy" in err) == ("[]", True)


def test_a_broken_configuration_does_not_keep_anybody_from_pausing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who has just broken it may be the one who must stop the machine; the exit code says that it is broken."""
    config = tmp_path / CONFIG_FILE
    config.write_text("[agent]\nnonsense = 1\n")
    with pytest.raises(SystemExit) as exit_:
        cli.main(["pause", "--reason", "stop", "--config", str(config)])
    assert exit_.value.code == USAGE
    assert str(tmp_path / "paused") in capsys.readouterr().err
    assert str(read_pause(AgentSettings(pause_file=tmp_path / "paused"))).startswith("paused: stop")
