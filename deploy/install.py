"""Install what a lock names into the virtual environment that runs this file, and fetch the models meanwhile.

    .venv/bin/python deploy/install.py requirements.lock --models --wheels URL

Fetching the models waits for the network and compiling llama.cpp for the processor, so with `--models` both run beside
each other: the few packages that `support-agent model pull` needs come first. With `--wheels`, llama-cpp-python is
taken from that index if it answers at once, has the locked version and this processor can run it; else it is compiled.
Exit 1 if anything failed, after saying what; a second run goes on where this one stopped.

Only the standard library is imported. Checked by tests/unit/deploy/test_install.py.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install")
LLAMA = "llama-cpp-python"
PULL = (sys.executable, "-c", "from support_agent.cli.main import main; main()", "model", "pull")
PULL_NEEDS = (
    "babel",
    "filelock",
    "httpx",
    "idna",
    "numpy",
    "pydantic",
    "pydantic-settings",
    "rich",
    "sqlalchemy",
    "structlog",
    "typer",
)
"""What `support-agent model pull` imports; all of them are light, and none is compiled."""
NEEDED_FLAGS = {"avx2", "bmi2", "f16c", "fma"}
"""What the wheels of an x86-64 processor use without asking it."""
INDEX_WAIT_S = 5.0
"""Longest wait for the index of wheels."""
DOWNLOAD_OPTIONS = ("--timeout", "15", "--retries", "1")
STEP_PERCENT = 10
COMPILED = re.compile(r"\[(\d+)/(\d+)\] ")
"""How ninja begins a line about a file that it compiles."""
HANDLED = re.compile(r"\s*(Collecting|Processing|Requirement already satisfied:) ")
LINES_SHOWN = 40
"""Of the output of a command that failed."""

Done = Callable[[str], tuple[int, int] | None]
"""Reads from a line of output how much is done, of how much."""


class Failed(Exception):
    """A part of the installation failed; the text says which, and what to do."""


def main() -> None:
    """Read the arguments and install; say what failed, and exit with 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lock", type=Path)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--wheels", default="")
    parser.add_argument("--index-wait-s", type=float, default=INDEX_WAIT_S)
    given = parser.parse_args()
    try:
        with fetching_models(given.lock) if given.models else no_models():
            install_llama(given.lock, given.wheels, given.index_wait_s)
            install_rest(given.lock)
    except Failed as error:
        sys.exit(f"install: {error}")
    except KeyboardInterrupt:
        sys.exit("install: interrupted; the next run goes on from here")


@contextmanager
def no_models() -> Iterator[None]:
    """Fetch none."""
    yield


@contextmanager
def fetching_models(lock: Path) -> Iterator[None]:
    """Fetch the models beside what the caller does, then wait for them; if the caller fails, stop fetching.

    Raises:
        Failed: the models cannot be fetched.
    """
    say("models: first the packages that fetch them")
    run("installing what fetches the models", (*PIP, "-q", "-c", str(lock), *PULL_NEEDS))
    with subprocess.Popen(PULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as pull:
        telling = Thread(target=tell, args=(pull,), daemon=True)
        telling.start()
        try:
            yield
            pull.wait()
        finally:
            with suppress(ProcessLookupError):
                pull.terminate()
            telling.join()
    if pull.returncode:
        raise Failed("the models could not be fetched, see above; everything else is installed: run the same again")


def tell(pull: subprocess.Popen[str]) -> None:
    """Pass on what the download says, a line at a time: a bar would be torn by the lines of the installation."""
    assert pull.stderr is not None
    for line in pull.stderr:
        say(f"models: {line.rstrip()}")


def install_llama(lock: Path, wheels: str, wait_s: float) -> None:
    """Install llama-cpp-python: a wheel of the index, else compiled, unless pip has compiled it before.

    Raises:
        Failed: it does not compile.
    """
    locked = re.search(rf"^{LLAMA}==(\S+)", lock.read_text("utf-8"), re.MULTILINE)
    if locked is None or is_installed(locked[1]):
        return
    wanted = f"{LLAMA}=={locked[1]}"
    if wheels and is_processor_able() and has_version(wheels, locked[1], wait_s):
        command = (*PIP, "-q", "--no-deps", "--only-binary", ":all:", *DOWNLOAD_OPTIONS, "--index-url", wheels, wanted)
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            say(f"llama.cpp: took the wheel from {wheels}")
            return
        say("llama.cpp: the index has no wheel for this machine")
    say("llama.cpp: to be compiled, about 7 minutes on two cores, unless pip has kept an earlier result")
    run("compiling llama.cpp", (*PIP, "-v", "--no-deps", wanted), compiled)


def is_installed(version: str) -> bool:
    """Whether the environment has this version of llama-cpp-python already."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(LLAMA) == version
    return False


def is_processor_able() -> bool:
    """Whether this processor runs the index's wheels; only x86-64 ones differ in what they have."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    info = Path("/proc/cpuinfo")
    return not info.exists() or set(info.read_text("utf-8", "replace").split()) >= NEEDED_FLAGS


def has_version(index: str, version: str, wait_s: float) -> bool:
    """Whether the index answers within `wait_s` seconds, however many addresses it has, and lists the version."""
    found = Event()

    def look() -> None:
        with suppress(OSError, ValueError), urlopen(f"{index.rstrip('/')}/{LLAMA}/", timeout=wait_s) as page:
            if f"-{version}-".encode() in page.read():
                found.set()

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(wait_s)
    return found.is_set()


def install_rest(lock: Path) -> None:
    """Install everything that the lock names.

    Raises:
        Failed: pip failed.
    """
    count = sum("==" in line for line in lock.read_text("utf-8").splitlines())
    handled = 0

    def of_all(line: str) -> tuple[int, int] | None:
        nonlocal handled
        handled += bool(HANDLED.match(line))
        return handled, count

    run("packages", (*PIP, "-r", str(lock)), of_all)


def compiled(line: str) -> tuple[int, int] | None:
    """Ninja's count of the files that it has compiled."""
    found = COMPILED.search(line)
    return (int(found[1]), int(found[2])) if found else None


def run(label: str, command: tuple[str, ...], done: Done = lambda _: None) -> None:
    """Run a command; say how far it is, and show the end of its output only if it fails.

    Raises:
        Failed: it failed.
    """
    lines: deque[str] = deque(maxlen=LINES_SHOWN)
    said = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            part, whole = done(line) or (0, 1)
            percent = 100 * part // whole // STEP_PERCENT * STEP_PERCENT
            if percent > said:
                said = min(percent, 100)
                say(f"{label}: {said} %")
    if process.returncode:
        sys.stderr.writelines(lines)
        raise Failed(f"{label} failed, see above; correct it and run the same again")


def say(text: str) -> None:
    """One line of news, whole even while another thread says something."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
