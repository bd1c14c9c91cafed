"""A private PostgreSQL cluster for tests: its own data folder, a free port, gone at the end.

`postgres_url` gives each test an empty database. Without PostgreSQL on the machine its tests are skipped, and
fail where `CI` is set, so that a pipeline cannot lose them unseen.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

USER = "postgres"
START_ATTEMPTS = 3
"""Another process may take the free port before the server does."""
READY_TRIES, READY_POLL_S = 600, 0.1


class Cluster:
    """A running server; databases are made and dropped by their URL."""

    def __init__(self, port: int, password: str, programs: Path, folder: Path) -> None:
        self._server = f"{USER}:{password}@127.0.0.1:{port}"
        self._control = (programs / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "-t", "120")
        self._pid_file = folder / "data" / "postmaster.pid"
        self._numbers = count(1)

    def create_database(self, copied_from: str = "template1") -> str:
        """Make a database, empty or the copy of another (by its URL), and return its URL."""
        name = f"test_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {copied_from.rpartition('/')[2]}")
        return f"postgresql://{self._server}/{name}"

    def drop_database(self, url: str) -> None:
        """Drop it, whoever is still connected."""
        self._run(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def restart(self) -> None:
        """Crash the server and start it again: every connection is cut, whatever is under way."""
        _as_server_user(*self._control, "-m", "immediate", "restart")

    def fill_disk(self, for_s: float) -> None:
        """Let no process of the server write to a file for a while; it panics at the first commit, and recovers."""
        self._limit_files("0")
        time.sleep(for_s)
        for _ in range(READY_TRIES):
            self._limit_files("unlimited")  # each time: a process may have inherited the limit meanwhile
            try:
                return self._run("CHECKPOINT")
            except psycopg.Error:  # it recovers, or has given up
                time.sleep(READY_POLL_S)
                if not self._processes():
                    self.restart()
        raise RuntimeError("PostgreSQL did not recover")

    def _limit_files(self, largest_bytes: str) -> None:
        """The longest file that the server's processes may write; PostgreSQL ignores the signal that comes with it."""
        limits = [f"prlimit --fsize={largest_bytes}: --pid {process}" for process in self._processes()]
        _as_server_user("sh", "-c", "; ".join([*limits, "true"]))  # some may have ended meanwhile

    def _processes(self) -> list[int]:
        """The server, of which new processes inherit the limit, and its children; none if it has ended."""
        try:
            server = int(self._pid_file.read_text().split()[0])
            children = Path(f"/proc/{server}/task/{server}/children").read_text()
        except FileNotFoundError:
            return []
        return [server, *map(int, children.split())]

    def _run(self, statement: str) -> None:
        with psycopg.connect(f"postgresql://{self._server}/postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


def find_programs() -> Path | None:
    """The folder of initdb and pg_ctl of the newest PostgreSQL of the system."""
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if versions:
        return max(versions, key=lambda folder: float(folder.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def skip_or_fail(why: str) -> None:
    """Skip the test; in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def _as_server_user(*command: str | Path) -> None:
    """Run a program as a user that PostgreSQL accepts, which root is not."""
    prefix = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*prefix, *map(str, command)], cwd="/", capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(programs: Path, folder: Path, *, is_durable: bool = False) -> int:
    """Start the server on a free port and return the port."""
    for attempt in range(1, START_ATTEMPTS + 1):
        port = _free_port()
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories= -c max_connections=300"
        options += "" if is_durable else " -c fsync=off"
        log = folder / f"log-{attempt}"
        try:
            _as_server_user(programs / "pg_ctl", "-D", folder / "data", "-l", log, "-w", "-o", options, "start")
        except RuntimeError:
            if attempt == START_ATTEMPTS:
                raise RuntimeError(log.read_text() if log.exists() else "PostgreSQL did not start") from None
        else:
            return port
    raise AssertionError("unreachable")


@contextmanager
def running_cluster(*, is_durable: bool = False) -> Iterator[Cluster]:
    """A server of its own, in a temporary folder, that ends with the block.

    Args:
        is_durable: It waits for the disk at each commit, as a real one does.
    Raises:
        FileNotFoundError: PostgreSQL is not installed.
    """
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed: deploy/ has the script that installs it")
    folder = Path(tempfile.mkdtemp(prefix="support-agent-postgres-"))
    try:
        password = secrets.token_hex(16)
        password_file = folder / "password"
        password_file.write_text(password)
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
            shutil.chown(password_file, USER)
        _as_server_user(
            programs / "initdb", "-D", folder / "data", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync",
            "--auth=scram-sha-256", f"--pwfile={password_file}",
        )  # fmt: skip
        port = _start(programs, folder, is_durable=is_durable)
        try:
            yield Cluster(port, password, programs, folder)
        finally:
            _as_server_user(programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """One server for the whole run."""
    if find_programs() is None:
        skip_or_fail("PostgreSQL is not installed: deploy/ has the script that installs it")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: Cluster) -> Iterator[str]:
    """The URL of an empty database of this test alone."""
    url = postgres_cluster.create_database()
    yield url
    postgres_cluster.drop_database(url)
