"""The kill switch: while the pause file exists, or `agent.paused` is set, no automatic mail goes to a customer.

A file works while the database is down, and by hand: `touch paused` in the workspace is enough.

Invariant: in doubt the agent is paused: an unreadable file or folder stops automatic mail.
Checked by tests/unit/cases/test_pause.py, tests/unit/workflow/test_paused_worker.py and, in the running program, by
tests/journey/test_pause.py.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from support_agent.config.agent import AgentSettings
from support_agent.errors import ConfigError

MAX_REASON_CHARACTERS = 200
MAX_FILE_BYTES = 4_000
"""More of the file is not read."""
BY_SETTING = "agent.paused is set in the configuration"


class Pause(NamedTuple):
    """The agent is paused: `by` names the file or setting, `reason` is the operator's, or ""."""

    by: str
    reason: str

    def __str__(self) -> str:
        """One line for the operator."""
        return f"paused: {self.reason} ({self.by})" if self.reason else f"paused ({self.by})"


def read_pause(agent: AgentSettings) -> Pause | None:
    """The pause, or None if the agent is not paused; looks at the file on each call, so that a pause takes effect at
    once.
    """
    if agent.paused:
        return Pause(BY_SETTING, "")
    try:
        os.lstat(agent.pause_file)
    except FileNotFoundError:
        if agent.pause_file.parent.is_dir():
            return None
        return Pause(f"the folder {agent.pause_file.parent} of the pause file does not exist", "")
    except OSError as error:
        return Pause(f"the file {agent.pause_file} cannot be checked: {error.strerror}", "")
    return Pause(f"the file {agent.pause_file} exists", _reason(agent.pause_file))


def pause_without_settings(config_file: Path, reason: str) -> Path:
    """Pause the agent although its configuration is invalid: write the pause file of the default name beside it.

    An operator who has just broken the configuration may need to stop the agent at once.
    """
    file = config_file.parent.absolute() / AgentSettings().pause_file
    write_pause(AgentSettings(pause_file=file), reason)
    return file


def write_pause(agent: AgentSettings, reason: str) -> None:
    """Write the pause file; if it exists, a non-empty reason replaces the old one.

    Raises:
        ConfigError: the file cannot be written.
    """
    if not reason and os.path.lexists(agent.pause_file):
        return
    new = agent.pause_file.with_name(f".{agent.pause_file.name}.{os.getpid()}")
    try:
        new.write_text(f"{_one_line(reason)}\n", encoding="utf-8", errors="replace")
        new.replace(agent.pause_file)  # atomic: no reader sees the file without its reason
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise ConfigError(
            f"{agent.pause_file}: {error.strerror}: make that file by hand, or set agent.paused and start again"
        ) from error


def end_pause(agent: AgentSettings) -> bool:
    """Delete the pause file and return whether there was one.

    Raises:
        ConfigError: the file cannot be deleted.
    """
    try:
        agent.pause_file.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(
            f"{agent.pause_file}: {error.strerror}: delete it by hand, or correct agent.pause_file"
        ) from error
    return True


def _reason(path: Path) -> str:
    """The file's first line, or "" if it is empty or cannot be read."""
    try:
        if not path.is_file():  # reading a pipe would block
            return ""
        with path.open("rb") as file:
            return _one_line(file.read(MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""


def _one_line(text: str) -> str:
    first = next(iter(text.strip().splitlines()), "")
    return "".join(char for char in first if char.isprintable())[:MAX_REASON_CHARACTERS].strip()
