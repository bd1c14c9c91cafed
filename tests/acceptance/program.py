"""The program as its users run it: a process with arguments, exit code, stdout and stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from support_agent.demo import read_mails
from support_agent.demo.workspace import CONFIG_FILE

PROGRAM = Path(sys.executable).with_name("support-agent")
TIMEOUT_S = 500.0
"""No promise about speed: only so that a program that hangs is seen."""


class Done(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """stdout, as one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with these settings, {"IMAP__HOST": ...}, and with none of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SUPPORT_AGENT_")}
    return kept | {f"SUPPORT_AGENT__{key}": value for key, value in (settings or {}).items()}


def run(*arguments: str | Path, folder: Path, settings: Mapping[str, str] | None = None) -> Done:
    """Run the program in a folder and wait for its end."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def workspace_in(folder: Path, run: Callable[..., Done] = run) -> Path:
    """A new workspace, made by the program itself."""
    workspace = folder / "workspace"
    made = run("init", workspace, folder=folder)
    assert made.code == 0, made.err
    assert (workspace / CONFIG_FILE).is_file()
    return workspace


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def demo_mail(start: str) -> bytes:
    """The demo's mail whose file name begins so."""
    (raw,) = [raw for name, raw in read_mails() if name.startswith(start)]
    return raw
