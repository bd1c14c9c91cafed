"""Several workers on one Chroma server: at once, with the same files and with changed ones."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest

from support_agent.config.facts import Ways
from support_agent.config.settings import ChromaSettings, EngineSettings
from support_agent.engine.steps import Steps
from support_agent.facts.chunks import in_characters
from support_agent.facts.index import Collection, Index, IndexEntry, open_client
from support_agent.facts.passages import PassageIndex
from tests.integration.facts.conftest import chroma_server
from tests.unit.facts.graph.fakes import source
from tests.unit.facts.words import WordEmbedder

NUMBERS = count(1)
KEPT = IndexEntry(key="document:1", text="Refund policy")
OLD = [KEPT, IndexEntry(key="document:6", text="Password reset"), IndexEntry(key="document:9", text="Data export")]
NEW = [KEPT, IndexEntry(key="document:6", text="Password and sign-in"), IndexEntry(key="document:7", text="Invoices")]
DAY_S = 86_400.0
PROCESSES, ROUNDS = 4, 3
PATIENCE_S = 60.0


class Worker:
    """An index as a worker opens it, with a clock of its own."""

    def __init__(self, url: str, name: str) -> None:
        self.now = 1_000_000.0
        self.embedder = WordEmbedder()
        client = open_client(ChromaSettings(url=url))
        self.index = Index(client, self.embedder, name=name, keep_s=DAY_S, clock=lambda: self.now)

    def texts(self) -> list[str]:
        return [entry.text for entry in self.index.held()[0]]

    def nearest(self, text: str) -> list[str]:
        return self.index.candidates(self.embedder.embed([text]), 5)


OpenWorker = Callable[[], Worker]


@pytest.fixture
def open_worker(chroma_url: str) -> OpenWorker:
    """Workers on one collection of the server."""
    name = f"shared-{next(NUMBERS)}"
    return lambda: Worker(chroma_url, name)


def texts_of(entries: list[IndexEntry]) -> list[str]:
    return [entry.text for entry in entries]


def test_workers_that_take_over_changed_files_one_by_one_each_find_their_own(open_worker: OpenWorker) -> None:
    """Failure: the first worker with the changed files deletes what the others still search in."""
    first, second = open_worker(), open_worker()
    first.index.update(OLD)
    second.index.update(OLD)
    second.embedder.embedded.clear()
    assert second.index.update(NEW) == 2
    assert (first.texts(), second.texts()) == (texts_of(OLD), texts_of(NEW))
    assert set(first.nearest("password reset invoices")) == {"document:1", "document:6", "document:9"}
    assert set(second.nearest("password reset invoices")) == {"document:1", "document:6", "document:7"}
    assert first.index.version != second.index.version
    assert open_worker().index.version == second.index.version, "what was replaced no longer counts"
    first.index.update(NEW)
    assert first.index.version == second.index.version


def test_what_was_replaced_goes_after_a_day_and_not_if_somebody_wants_it_again(open_worker: OpenWorker) -> None:
    worker = open_worker()
    worker.index.update(OLD)
    worker.index.update(NEW)
    worker.now += DAY_S / 2
    assert worker.index.update([*NEW, OLD[1]]) == 0, "it is still there"
    worker.index.update(NEW)
    worker.now += DAY_S * 0.75
    worker.index.update(NEW)
    assert worker.index.update([*NEW, OLD[1]]) == 0, "it was wanted in between"
    worker.index.update(NEW)
    worker.now += DAY_S * 2
    worker.index.update(NEW)
    assert worker.index.update([*NEW, *OLD[1:]]) == 2, "both are gone"


def test_passages_of_changed_files_are_found_beside_those_of_unchanged_ones(chroma_url: str) -> None:
    old, new = ([source("document:1", f"We pay within {days} days.")] for days in ("ten", "five"))

    def opened() -> PassageIndex:
        collection = Collection(open_client(ChromaSettings(url=chroma_url)), "shared-passages", keep_s=DAY_S)
        return PassageIndex(collection, WordEmbedder(), in_characters(80, 20), Ways.VECTORS)

    ours, others = opened(), opened()
    ours.update(old)
    others.update(old)
    others.update(new)
    assert [passage.text for passage in ours.find("when do you pay", 3)] == ["We pay within ten days."]
    assert [passage.text for passage in others.find("when do you pay", 3)] == ["We pay within five days."]


def index_at_once(url: str, begin: Barrier) -> None:
    """One of several processes: creates and fills the collections at the same time as the others.

    It reads as a step does: the server may have no index on its disk for a moment while another process writes.
    """
    steps = Steps(lambda _name, work: work(), EngineSettings(), time.sleep)
    for number in range(ROUNDS):
        begin.wait(PATIENCE_S)
        worker = Worker(url, f"at-once-{number}")
        worker.index.update(OLD)
        assert steps.run("read", worker.texts) == texts_of(OLD)
        nearest = steps.run("find", partial(worker.nearest, "password reset"))
        assert set(nearest) == {"document:1", "document:6", "document:9"}


def test_processes_that_start_at_once_with_the_same_files_do_not_break_each_other(chroma_url: str) -> None:
    """Each creates the collection, embeds the same texts, and finds all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "pytest"])
    begin = context.Barrier(PROCESSES)
    processes = [context.Process(target=index_at_once, args=(chroma_url, begin)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_S)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    last = Worker(chroma_url, "at-once-0")
    assert (last.index.update(OLD), last.texts()) == (0, texts_of(OLD))


def test_a_worker_goes_on_when_the_server_was_restarted(tmp_path: Path) -> None:
    """On the same port and with the same data, as a supervisor restarts it."""
    with chroma_server(tmp_path) as (url, _):
        worker = Worker(url, "restarted")
        worker.index.update(OLD)
    with chroma_server(tmp_path, port=int(url.rpartition(":")[2])):
        assert worker.nearest("password reset")[0] == "document:6"
        assert worker.index.update(NEW) == 2
