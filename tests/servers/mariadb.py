"""A private MariaDB server for tests: its own data folder, a free port, gone at the end.

`mariadb_url` gives each test an empty database. Without MariaDB on the machine its tests are skipped, and fail where
`CI` is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pymysql
import pytest

from tests.servers.dovecot import free_port
from tests.servers.postgres import skip_or_fail

USER = "mysql"
START_S = 60.0
NUMBERS = count(1)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[int]:
    """The port of the server, on which `root` needs no password."""
    program = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        skip_or_fail("MariaDB is not installed: deploy/install-servers.sh installs it")
    with _running(str(program)) as port:
        yield port


@pytest.fixture
def mariadb_url(mariadb_server: int) -> Iterator[str]:
    """The URL of an empty database of this test alone."""
    name = f"test_{next(NUMBERS)}"
    run_in_mariadb(mariadb_server, f"CREATE DATABASE {name}")
    yield f"mysql://root@127.0.0.1:{mariadb_server}/{name}"
    run_in_mariadb(mariadb_server, f"DROP DATABASE {name}")


def run_in_mariadb(port: int, *statements: str, database: str | None = None) -> tuple[tuple[object, ...], ...]:
    """Run statements, and return the rows of the last."""
    with closing(pymysql.connect(host="127.0.0.1", port=port, user="root", database=database)) as connection:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = tuple(cursor.fetchall())
        connection.commit()
    return rows


@contextmanager
def _running(program: str) -> Iterator[int]:
    """The server, as a user that is not root."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="mariadb-") as name:
        folder = Path(name)
        if is_root:
            shutil.chown(folder, USER)
        as_user = ["--user=mysql"] if is_root else []
        made = ["mariadb-install-db", "--no-defaults", *as_user, f"--datadir={folder / 'data'}", "--skip-test-db"]
        rights = ["--auth-root-authentication-method=normal", "--skip-name-resolve"]
        subprocess.run([*made, *rights], check=True, capture_output=True, timeout=120)
        port = free_port()
        where = [f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", f"--port={port}"]
        # Another time zone than UTC: instants must be read in it all the same.
        limits = [
            "--default-time-zone=+02:00",
            "--bind-address=127.0.0.1",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen([program, "--no-defaults", *as_user, *where, *limits], stdout=log, stderr=log)
        try:
            _wait(server, port, folder / "log")
            yield port
        finally:
            server.kill()  # its data goes with it
            server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            run_in_mariadb(port, "SELECT 1")
        except pymysql.err.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"MariaDB did not start: {log.read_text(errors='replace')}")
