"""The program for tests that run it often: each run is a fork of a process that has its modules already.

It has its own process, folder, environment, stdout, stderr and exit code, as one that is started by its name has; only
the second in which Python imports the modules is gone. `tests/acceptance/program.py` starts the installed program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support_agent.ops import check
from tests import shared_folder
from tests.acceptance.program import Done, environment
from tests.checked_once import CheckedOnce

ROOT = Path(__file__).parents[2]
LOADED = (
    "support_agent.app.dry_runs",
    "support_agent.app.workers",
    "support_agent.cli.main",
    "support_agent.engine.engine",
    "support_agent.ops.check",
    "support_agent.ops.replay",
    "support_agent.workflow.stages",
    "support_agent.workflow.worker",
    "tests.journey.lives",
)
"""What most commands import. No module of these starts a thread, which a fork would lose."""


class ForkedProgram:
    """Runs the program in forks of one process."""

    def __init__(self, folder: Path) -> None:
        """Start the process that is forked; what a run prints lies in `folder` for a moment."""
        self._out, self._err = folder / "out", folder / "err"
        command = [sys.executable, "-m", "tests.servers.program"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(
        self, *arguments: str | Path, folder: Path, settings: Mapping[str, str] | None = None, scripted: bool = False
    ) -> Done:
        """Run the program in a folder and wait for its end.

        Args:
            scripted: With the model and the search of `tests/journey/program.py`.
        """
        asked = {
            "arguments": list(map(str, arguments)),
            "folder": str(folder),
            "environment": environment(settings),
            "out": str(self._out),
            "err": str(self._err),
            "is_scripted": scripted,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline()
        assert code, "the process that is forked ended by itself: see its stderr"
        return Done(int(code), self._out.read_text("utf-8"), self._err.read_text("utf-8"))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedProgram]:
    """The program, loaded once."""
    forked = ForkedProgram(tmp_path_factory.mktemp("program"))
    yield forked
    forked.close()


def main() -> None:
    """Reads what to run, a JSON object a line, and writes the exit code of each run."""
    for name in LOADED:
        import_module(name)
    patch = pytest.MonkeyPatch()
    shared_folder.keep_vectors(patch)
    patch.setattr(check, "check_templates", CheckedOnce())
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(asked)
            return
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _become(asked: Mapping[str, Any]) -> None:
    """The program itself: it ends as a program does, with its threads and its exit code."""
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, asked["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["support-agent", *asked["arguments"]]
    from support_agent.cli import main as cli
    from tests.journey.program import use_script

    if asked["is_scripted"]:
        use_script()
    cli.main()


if __name__ == "__main__":
    main()
