"""One process works on a store: a second one is told who has it, and a dead one has it no more."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Timer

import pytest
from sqlalchemy import NullPool, create_engine, text

from support_agent.config.database_url import normalise_url
from support_agent.core.clock import utc_now
from support_agent.errors import ConfigError, TransientError
from support_agent.store.lock import only_process
from support_agent.store.store import Store
from tests.acceptance.program import run, workspace_in
from tests.servers.postgres import Cluster

HOLD = """
import os, sys
from support_agent.store.lock import only_process
with only_process(sys.argv[1], f"pid {os.getpid()} on here"):
    print("held", flush=True)
    sys.stdin.read()
"""
WAIT_S = 30.0


@contextmanager
def another_process(url: str) -> Iterator[subprocess.Popen[str]]:
    """A real process that has the store until its stdin is closed or it is killed."""
    command = [sys.executable, "-c", HOLD, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()
            process.wait(WAIT_S)


def is_free(url: str) -> bool:
    try:
        with only_process(url, "pid 1 on here"):
            return True
    except ConfigError:
        return False


def test_second_process_is_refused_and_told_who_has_the_store(database_url: str) -> None:
    with another_process(database_url) as process:
        who = rf"another support-agent runs on this store \(pid {process.pid} on here\): stop it first"
        for _ in range(2):  # a look does not take away what the next one is told
            with pytest.raises(ConfigError, match=who) as refused, only_process(database_url, "pid 1 on here"):
                pass
            assert refused.value.code == "store_taken"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(WAIT_S) == 0
        assert is_free(database_url)


def test_killed_process_has_the_store_no_more(database_url: str) -> None:
    """`kill -9` leaves the file behind, or a connection that the server closes, and no lock."""
    with another_process(database_url) as process:
        assert not is_free(database_url)
        process.kill()
        process.wait(WAIT_S)
        assert any(is_free(database_url) for _ in range(200))


@pytest.mark.servers
def test_a_store_is_free_as_soon_as_its_holder_has_left_it(postgres_url: str) -> None:
    """Failure: the server ends a closed connection, and its lock with it, a moment later, and of two commands one after
    the other the second was told that the first still ran. Here the server's process is stopped for that moment."""
    with create_engine(normalise_url(postgres_url), poolclass=NullPool).connect() as watching:
        with only_process(postgres_url, "pid 1 on here"):
            holder = watching.scalar(text("SELECT pid FROM pg_locks WHERE locktype = 'advisory'"))
            assert isinstance(holder, int)
            os.kill(holder, signal.SIGSTOP)
            Timer(0.5, os.kill, (holder, signal.SIGCONT)).start()
        assert is_free(postgres_url)


def test_one_file_under_two_names_is_one_store(tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path)
    with another_process(f"sqlite:///{tmp_path}/store.sqlite3"):
        assert not is_free(f"sqlite:///{tmp_path}/other/store.sqlite3")


def test_two_stores_are_two(tmp_path: Path) -> None:
    with another_process(f"sqlite:///{tmp_path}/one.sqlite3"):
        assert is_free(f"sqlite:///{tmp_path}/two.sqlite3")


def test_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no/store.sqlite3"
    with pytest.raises(ConfigError, match="does not exist: create it"), only_process(url, "pid 1 on here"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_told_and_tried_again(tmp_path: Path) -> None:
    """Failure: `run` on a full disk ended as "unexpected OSError", with no word on the file."""
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(TransientError, match=r"cannot be written.*free space"), only_process(url, "pid 1 on here"):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_program_does_not_run_beside_another(tmp_path: Path) -> None:
    """Exit code 2 and one line, before a model is fetched or the mailbox is looked at."""
    workspace = workspace_in(tmp_path)
    servers = {"IMAP__HOST": "127.0.0.1", "SMTP__HOST": "127.0.0.1"}
    with another_process(f"sqlite:///{workspace}/support-agent.sqlite3") as process:
        done = run("run", "--once", folder=workspace, settings=servers)
    assert (done.code, done.out) == (2, "")
    assert f"another support-agent runs on this store (pid {process.pid} on here): stop it first" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.servers
def test_a_worker_that_lost_its_lock_in_a_restart_of_the_server_is_known_by_its_lease(postgres_store_url: str) -> None:
    """Else a restore would exchange the store below it. The message says for how long, and why."""
    with Store.open(postgres_store_url) as store:
        store.leases.take("worker:w1", "w1", timedelta(minutes=10), utc_now())
        store.leases.take("worker:w2", "w2", timedelta(minutes=5), utc_now())
        who = r"may run on this store \(w1\): its lease ends in (599|600) s: stop it, or, if it has died, run"
        with pytest.raises(ConfigError, match=who), only_process(postgres_store_url, "pid 1 on here"):
            pass
        store.leases.release("worker:w2", "w2")
        store.leases.release("worker:w1", "w1")
    assert is_free(postgres_store_url)


@pytest.mark.servers
def test_a_worker_that_could_not_renew_its_lease_before_a_restart_is_waited_for(
    postgres_cluster: Cluster, postgres_store_url: str
) -> None:
    """Failure: the server was away for longer than a lease; it comes back, and so does the worker, a moment later."""
    with Store.open(postgres_store_url) as store:
        store.leases.take("worker:w1", "w1", timedelta(0), utc_now())
        store.close()
        postgres_cluster.restart()
        who = r"\(w1\): the server was just started, and within (1\d\d|200) s a living worker renews its lease: stop it"
        with pytest.raises(ConfigError, match=who), only_process(postgres_store_url, "pid 1 on here"):
            pass
        store.leases.release("worker:w1", "w1")
    assert is_free(postgres_store_url)
