"""A worker that is watched, and a canary that goes through the whole loop: over Postfix into Dovecot, and back."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.acceptance.program import Done, environment, workspace_in
from tests.acceptance.test_run_once import DESK, START_S, STOP_S, SUPPORT, empty, inbox, servers_as_settings
from tests.fakes_watch import Series, series_in, value
from tests.journey.program import COMMAND
from tests.servers.dovecot import PASSWORD, Dovecot, free_port
from tests.servers.postfix import PROVEN, Postfix
from tests.servers.program import ForkedProgram

pytestmark = pytest.mark.servers

CANARY = f"canary@{PROVEN}"
PROBE = {
    "PROBE__ADDRESS": CANARY,
    "PROBE__PASSWORD": PASSWORD,
    "PROBE__QUESTION": "Hello, can I get a refund?",
    "PROBE__DOCUMENT": "1",
    "PROBE__POLL_INTERVAL_S": "0.1",
    "PROBE__TIMEOUT_S": "60",
}


class Watched(NamedTuple):
    """What a worker said of itself and of a canary, while it ran."""

    alive: httpx.Response
    ready: httpx.Response
    before: Series
    after: Series
    probed: Done
    printed: Done
    answers: int
    desk: list[EmailMessage]


@pytest.fixture(scope="module")
def watched(
    program: ForkedProgram, dovecot: Dovecot, postfix: Postfix, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """The worker runs, with a port; the canary is sent twice."""
    for user in (SUPPORT, DESK, CANARY):
        empty(dovecot, user)
    folder = tmp_path_factory.mktemp("watched")
    workspace, port = workspace_in(folder, program.run), free_port()
    settings = servers_as_settings(dovecot, postfix) | PROBE | {"WATCH__PORT": str(port), "WATCH__EXPIRES_DAYS": "90"}
    with (folder / "log").open("wb") as out:
        worker = subprocess.Popen([*COMMAND, "run"], cwd=workspace, env=environment(settings), stdout=out, stderr=out)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            ready = until_ready(client, worker, folder / "log")
            alive, before = client.get("/healthz"), series_in(client.get("/metrics").text)
            probed = program.run("probe", "--json", folder=workspace, settings=settings)
            printed = program.run("probe", folder=workspace, settings=settings)
            after = series_in(client.get("/metrics").text)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(STOP_S) == 0, (folder / "log").read_text()
    finally:
        worker.kill()
        worker.wait()
    answers, desk = len(inbox(dovecot, CANARY)), inbox(dovecot, DESK)
    yield Watched(alive, ready, before, after, probed, printed, answers, desk)
    for user in (SUPPORT, DESK, CANARY):
        empty(dovecot, user)


def until_ready(client: httpx.Client, worker: subprocess.Popen[bytes], log: Path) -> httpx.Response:
    """Ask until the worker says that it is ready."""
    end, said = time.monotonic() + START_S, None
    while said is None or said.status_code != 200:
        assert worker.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
        try:
            said = client.get("/readyz")
        except httpx.TransportError:
            said = None
    return said


def test_the_canary_comes_back_and_each_hop_is_timed(watched: Watched) -> None:
    assert watched.probed.code == 0, watched.probed.out + watched.probed.err
    found = json.loads(watched.probed.out)
    assert (found["is_ok"], found["outcome"], found["document"]) == (True, "answered", 1)
    assert [hop["name"] for hop in found["hops"]] == ["submitted", "recorded", "planned", "sent", "back"]
    assert found["from_address"].startswith("canary+")


def test_the_next_canary_is_answered_as_well_and_the_desk_hears_of_neither(watched: Watched) -> None:
    assert watched.printed.code == 0, watched.printed.out + watched.printed.err
    assert "answered by document 1" in watched.printed.out
    assert watched.answers == 2


def test_the_desk_is_told_once_of_the_certificates_that_end_soon(watched: Watched) -> None:
    """Nothing else is wrong."""
    (alarm,) = watched.desk
    assert alarm["Subject"].startswith("Alarm: certificate (")
    body = alarm.get_body(("plain",))
    assert body is not None
    assert body.get_content().startswith("the certificate of localhost ends on 20")


def test_the_worker_says_that_it_lives_and_is_ready(watched: Watched) -> None:
    assert (watched.alive.status_code, watched.ready.status_code) == (200, 200)
    assert set(watched.ready.json()["parts"].values()) == {"ok"}


def test_its_metrics_have_counted_the_canaries(watched: Watched) -> None:
    """Mails, steps, sends and connections, from the places where they happen."""
    for name, labels in (
        ("journeys_total", {"outcome": "answered"}),
        ("step_seconds_count", {"step": "plan"}),
        ("sends_total", {"kind": "answer", "result": "sent"}),
    ):
        before, after = (value(series, f"support_agent_{name}", **labels) for series in (watched.before, watched.after))
        assert after - before == 2, name
    assert value(watched.after, "support_agent_connects_total", server="imap", result="ok") >= 1
    assert value(watched.after, "support_agent_connects_total", server="smtp", result="ok") >= 1
    assert value(watched.after, "support_agent_queue_mails") == 0
    assert value(watched.after, "support_agent_expires_timestamp_seconds", what="imap_certificate") > time.time()
    assert value(watched.after, "support_agent_expires_timestamp_seconds", what="smtp_certificate") > time.time()
    alarms = [key for key, number in watched.after.items() if key[0] == "support_agent_alarm" and number]
    assert [dict(labels)["alarm"] for _, labels in alarms] == ["certificate"]
