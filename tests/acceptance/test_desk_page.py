"""`support-agent desk` as its users start it: beside the worker's store, with a one-time link, until it is stopped."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import httpx2

from tests.acceptance.program import PROGRAM, environment, run

LAST_LINE_S = 60


def test_the_page_is_served_to_whoever_has_the_link_and_stops_when_asked(workspace: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    settings = {"DESK_PAGE__PORT": port, "DESK__ADDRESS": "desk@harborfile.example"}
    command = [str(PROGRAM), "desk", "--config", "support-agent.toml"]
    with subprocess.Popen(
        command, cwd=workspace, env=environment(settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        link = program.stdout.readline().strip()
        try:
            with httpx2.Client(follow_redirects=True, transport=httpx2.HTTPTransport(retries=20)) as browser:
                assert browser.get(f"http://127.0.0.1:{port}/").status_code == 401
                page = browser.get(link)
                assert (page.status_code, "0 cases wait for a person" in page.text) == (200, True)
                assert browser.get(link).status_code == 403
        finally:
            program.send_signal(signal.SIGTERM)
        _, errors = program.communicate(timeout=LAST_LINE_S)
    assert program.returncode == 0, errors
    assert "Traceback" not in errors


def test_a_page_for_other_machines_needs_a_way_to_sign_in(workspace: Path) -> None:
    done = run("desk", folder=workspace, settings={"DESK_PAGE__HOST": "0.0.0.0"})
    assert done.code == 2
    assert "can be reached by other machines" in done.err


def test_no_link_is_printed_where_the_port_is_in_use(workspace: Path) -> None:
    """Failure: the link came first, and led to whatever else listened there."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = run("desk", folder=workspace, settings={"DESK_PAGE__PORT": port, "DESK__ADDRESS": "desk@x.example"})
    assert (done.code, done.out) == (2, "")
    assert f"desk_page: cannot listen on 127.0.0.1:{port}" in done.err
