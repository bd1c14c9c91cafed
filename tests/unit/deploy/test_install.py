"""`deploy/install.py`, run as a program beside a pip and a download that only say what they were asked."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.models.tiny_index import tiny_index

ROOT = Path(__file__).parents[3]
INSTALL = ROOT / "deploy" / "install.py"
NAMES = runpy.run_path(str(INSTALL))
VERSION = "0.0.1"
LOCK = f"babel==2\nllama-cpp-python=={VERSION}\n    # via nothing\nnumpy==2 ; python_version > '3'\ntyper==1\n"
PIP = """
import os, sys
words = " ".join(word for word in sys.argv[1:] if word[:1] != "-" or word in ("-r", "-c", "-v"))
with open("asked", "a") as asked:
    asked.write(words + "\\n")
compiling = "".join(f"[{n}/40] Building C object\\n" for n in range(1, 41))
print(compiling if "-v" in words else "Collecting numpy", flush=True)
if os.environ.get("FAILS", "nothing") in words:
    sys.exit("the compiler says no")
"""
MAIN = """
import os, sys, time
def main():
    with open("asked", "a") as asked:
        asked.write(f"support-agent {' '.join(sys.argv[1:])}\\n")
    print("qwen.gguf: 10 % of 1117.3 MB", file=sys.stderr, flush=True)
    if "HANGS" in os.environ:
        time.sleep(60)
    sys.exit(int(os.environ.get("PULL_FAILS", "0")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with a lock, whose pip and program are the ones above."""
    program = {"support_agent/__init__.py": "", "support_agent/cli/__init__.py": "", "support_agent/cli/main.py": MAIN}
    for name, text in {"requirements.lock": LOCK, "pip.py": PIP, **program}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def start(folder: Path, *options: str, **variables: str) -> subprocess.Popen[str]:
    """The installation, running; it hears ^C also where the tests were started in the background."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    command = [sys.executable, str(INSTALL), "requirements.lock", *options]
    hears = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=hears)


def run(folder: Path, *options: str, **variables: str) -> tuple[int, str, list[str]]:
    """Exit code, what was said, and what pip and the program were asked to do."""
    process = start(folder, *options, **variables)
    _, said = process.communicate(timeout=60)
    asked = (folder / "asked").read_text().replace("install ", "").splitlines()
    return process.returncode, said, asked


COMPILES = f"-v llama-cpp-python=={VERSION}"
REST = "-r requirements.lock"


def test_without_models_it_compiles_and_installs_the_rest_and_says_how_far_it_is(folder: Path) -> None:
    """`make check` needs no model; seven silent minutes look like a program that hangs."""
    code, said, asked = run(folder)
    assert (code, asked) == (0, [COMPILES, REST])
    assert [f"compiling llama.cpp: {percent} %" for percent in range(10, 101, 10)] == [
        line for line in said.splitlines() if line.startswith("compiling llama.cpp: ")
    ]
    assert "packages: 20 %" in said  # one of four


def test_the_models_are_fetched_beside_the_rest(folder: Path) -> None:
    """First the few packages that fetching needs, in the locked versions."""
    code, said, asked = run(folder, "--models")
    light = f"-c requirements.lock {' '.join(NAMES['PULL_NEEDS'])}"
    assert code == 0
    assert asked[0] == light
    assert sorted(asked[1:]) == sorted(["support-agent model pull", COMPILES, REST])
    assert "models: qwen.gguf: 10 % of 1117.3 MB" in said


def test_models_that_cannot_be_fetched_fail_the_installation_after_the_rest_is_done(folder: Path) -> None:
    """The next run finds everything else there."""
    code, said, asked = run(folder, "--models", PULL_FAILS="2")
    assert code == 1
    assert asked[-1] == REST
    assert "install: the models could not be fetched" in said


def test_a_compiler_that_fails_stops_the_download_and_shows_what_it_said(folder: Path) -> None:
    """Nobody waits for a gigabyte to be told that a compiler is missing."""
    code, said, asked = run(folder, "--models", FAILS="-v", HANGS="1")
    assert code == 1
    assert REST not in asked
    assert "the compiler says no" in said
    assert "install: compiling llama.cpp failed" in said


def test_an_interrupted_installation_ends_with_its_download(folder: Path) -> None:
    """A terminal sends ^C to all of them; here only the installation gets it."""
    process = start(folder, "--models", HANGS="1")
    assert process.stderr is not None
    said = list(until(process.stderr, {"packages: 20 %", "models: qwen.gguf: 10 % of 1117.3 MB"}))
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0] or ""
    assert process.returncode == 1, (said, rest)


def until(lines: Iterable[str], wanted: set[str]) -> Iterator[str]:
    """The lines up to the last of the wanted ones."""
    missing = set(wanted)
    for line in lines:
        yield line
        missing.discard(line.strip())
        if not missing:
            return


def test_a_wheel_of_the_index_is_taken_where_there_is_one(folder: Path, tmp_path: Path) -> None:
    """Nothing is compiled then; where pip finds none for this machine, it is compiled after all."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / f"llama_cpp_python-{VERSION}-py3-none-any.whl").touch()
    with tiny_index(tmp_path / "wheels") as index:
        code, said, asked = run(folder, "--wheels", index)
        (folder / "asked").unlink()
        _, without, compiled = run(folder, "--wheels", index, FAILS=":all:")
    from_index = f":all: 15 1 {index} llama-cpp-python=={VERSION}"
    if NAMES["is_processor_able"]():
        assert (code, asked) == (0, [from_index, REST])
        assert f"took the wheel from {index}" in said
        assert compiled == [from_index, COMPILES, REST]
        assert "the index has no wheel for this machine" in without
    else:
        assert asked == compiled == [COMPILES, REST]


def test_an_index_without_the_locked_version_is_passed_by(folder: Path, tmp_path: Path) -> None:
    """The lock decides which version it is."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "llama_cpp_python-0.0.2-py3-none-any.whl").touch()
    with tiny_index(tmp_path / "wheels") as index:
        assert run(folder, "--wheels", index)[2] == [COMPILES, REST]


def test_an_index_that_is_silent_or_cannot_be_reached_costs_only_the_wait(folder: Path) -> None:
    """Behind a firewall connections are swallowed or refused; both end in compiling."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"http://127.0.0.1:{port}/whl"
        assert run(folder, "--wheels", url, "--index-wait-s", "0.2")[2] == [COMPILES, REST]
    (folder / "asked").unlink()
    assert run(folder, "--wheels", url)[2] == [COMPILES, REST]


def needed_by(names: Iterable[str]) -> set[str]:
    """The packages and all that they need here, in lower case with hyphens."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name not in found:
            found.add(name)
            needs = map(Requirement, metadata.requires(name) or ())
            waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def test_fetching_models_imports_only_what_is_installed_before_it() -> None:
    """A module that imports more would break the first installation on a new machine, and only there."""
    light = needed_by(NAMES["PULL_NEEDS"])
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {sorted(modules_of_others(light))!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from support_agent.cli.main import main
from support_agent.models import embedders, progress, pulling
main(["model", "list"])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "qwen" in done.stdout


def modules_of_others(light: set[str]) -> set[str]:
    """The modules of installed packages that are not among these, or the program."""
    known = light | {"support-agent"}
    owners = metadata.packages_distributions()
    return {module for module, names in owners.items() if not {n.lower().replace("_", "-") for n in names} & known}
