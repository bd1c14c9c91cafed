"""`/healthz`, `/readyz` and `/metrics` over HTTP: what they answer, and what they do not tell."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from support_agent.config.settings import Settings
from support_agent.core.cursor import Cursor
from support_agent.errors import ConfigError
from support_agent.store.store import Store
from support_agent.watch.health import WatchedWorker
from support_agent.watch.observer import WorkerObserver
from support_agent.watch.opening import open_watch
from support_agent.watch.recorder import Recorder
from support_agent.watch.server import serving
from tests.fakes_journey import NOON, Office
from tests.fakes_watch import Watched, series_in, value, with_watch
from tests.fakes_worker import At


class Hand:
    """Monotonic seconds that stand until they are set."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def watched(office: Office, hand: Hand) -> Watched:
    office.clock = At(NOON)
    office.store.cursors.move(Cursor(folder="INBOX", uid_validity=1, last_uid=1))
    office.store.cursors.mark_fetched("INBOX", NOON)
    return Watched(office, hand)


@pytest.fixture
def client(watched: Watched) -> Iterator[httpx.Client]:
    """A client of the server of two mailboxes, of which the second is not open yet."""
    shop = WatchedWorker(watched.office.settings, WorkerObserver("shop", watched.clock), watched.office.clock)
    workers = {"": watched.worker, "shop": shop}
    with (
        serving("127.0.0.1", 0, workers, watched.recorder) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as opened,
    ):
        yield opened


def test_a_worker_lives_while_its_loop_turns(client: httpx.Client, watched: Watched, hand: Hand) -> None:
    """Rule: a loop that has not begun is no failure, as a model may load for long; one that stopped is."""
    assert client.get("/healthz").json() == {"alive": True, "parts": {"loop": "ok", "shop: loop": "ok"}}
    watched.observer.turned()
    settings = watched.office.settings
    hand.seconds = settings.planner.max_s + settings.imap.poll_interval_s + settings.watch.loop_margin_s
    assert client.get("/healthz").status_code == 200
    hand.seconds += 1
    stopped = client.get("/healthz")
    assert stopped.status_code == 503
    assert stopped.json()["parts"] == {"loop": "the loop has not turned for 451 s", "shop: loop": "ok"}
    watched.observer.turned()
    assert client.get("/healthz").status_code == 200


def test_a_worker_is_ready_when_each_part_is(client: httpx.Client, watched: Watched) -> None:
    parts = client.get("/readyz").json()["parts"]
    assert {parts[name] for name in ("database", "company_files", "mailbox", "model")} == {"ok"}
    assert {text for name, text in parts.items() if name.startswith("shop: ")} == {"not open yet"}
    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize("part", ["database", "company_files", "mailbox"])
def test_a_part_that_is_not_as_it_should_be_is_named(client: httpx.Client, watched: Watched, part: str) -> None:
    office, worker = watched.office, watched.worker
    match part:
        case "database":
            office.store.database.downgrade("0015")
        case "company_files":
            worker.company_files = lambda: "policies/001-refunds.md: it has no number"
        case "mailbox":
            worker.now = At(NOON + timedelta(seconds=office.settings.imap.alarm_after_s + 1))
    found = client.get("/readyz").json()["parts"]
    assert {name for name, text in found.items() if text != "ok" and not name.startswith("shop")} == {part}


def test_a_database_that_is_away_is_said_and_scraped(client: httpx.Client, watched: Watched, office: Office) -> None:
    """Failure: a scrape ends with an error, and nobody sees the counters of the process."""
    gone = Store.open("postgresql://nobody@127.0.0.1:1/none", timeout_s=1)
    watched.worker.store = gone
    assert client.get("/readyz").json()["parts"]["database"] != "ok"
    found = series_in(client.get("/metrics").text)
    assert value(found, "support_agent_ready", part="database") == 0
    assert value(found, "support_agent_journeys_total", outcome="answered") == 0
    assert not [name for name, _ in found if name == "support_agent_queue_mails"]
    gone.close()


def test_metrics_are_served(client: httpx.Client, watched: Watched) -> None:
    watched.observer.connected("imap", None)
    watched.observer.turned()
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    found = series_in(answer.text)
    assert value(found, "support_agent_connects_total", server="imap", result="ok") == 1
    assert value(found, "support_agent_loop_turned_timestamp_seconds") == NOON.timestamp()
    assert value(found, "support_agent_mailbox_fetched_timestamp_seconds") == NOON.timestamp()


def test_nothing_else_is_answered(client: httpx.Client) -> None:
    assert client.get("/").status_code == 404
    assert client.get("/metrics/../etc/passwd").status_code == 404
    assert client.post("/healthz").status_code == 501
    head = client.head("/healthz")
    assert (head.status_code, head.content) == (200, b"")
    assert "Python" not in head.headers["Server"]


def test_a_port_that_is_taken_says_what_to_do(watched: Watched) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=f"watch.port {port} cannot be used.*a port of its own"),
            serving("127.0.0.1", port, {"": watched.worker}, watched.recorder),
        ):
            raise AssertionError


def test_it_is_off_by_default_and_loopback() -> None:
    assert Settings().watch.port == 0
    assert Settings().watch.host == "127.0.0.1"
    assert Settings().watch.otlp_endpoint == ""


def test_what_is_off_is_not_opened(office: Office, hand: Hand) -> None:
    """Neither a port nor a collector, but the observer is there: it knows when certificates end."""
    with open_watch({"": office.settings}, office.clock, hand) as workers:
        observer = workers[""].observer
        with observer.journey("m") as seen, observer.step("plan", 1), observer.model("score"):
            seen.outcome = "answered"
        observer.sent("answer", "sent")
        observer.expires("imap_certificate", NOON)
        assert observer.expiries == {"imap_certificate": NOON}


def test_it_is_served_while_the_models_load(office: Office, hand: Hand) -> None:
    """Failure: a first start that fetches a model is killed as dead."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    office = with_watch(office, port=port)
    with open_watch({"": office.settings}, office.clock, hand):
        url = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
        assert httpx.get(f"{url}/readyz", trust_env=False).json()["parts"]["model"] == "not open yet"
        assert "support_agent_ready" in httpx.get(f"{url}/metrics", trust_env=False).text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz", trust_env=False)


def test_a_recorder_of_several_brands_tells_them_apart(watched: Watched) -> None:
    recorder = Recorder(["", "shop"], lambda _brand: ())
    WorkerObserver("shop", watched.clock, recorder).sent("answer", "sent")
    found = series_in(recorder.rendered("")[0].decode())
    assert value(found, "support_agent_sends_total", "shop", kind="answer", result="sent") == 1
    assert value(found, "support_agent_sends_total", "", kind="answer", result="sent") == 0
