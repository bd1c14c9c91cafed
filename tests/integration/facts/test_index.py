"""The index on every kind of Chroma: what is nearest, and what an update does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from support_agent.config.settings import ChromaSettings
from support_agent.errors import TransientError
from support_agent.facts.index import Index, IndexEntry, open_client
from tests.integration.facts.conftest import OpenIndex, chroma_server
from tests.unit.facts.words import WordEmbedder

ENTRIES = [
    IndexEntry(key="document:1", text="Refund policy"),
    IndexEntry(key="document:1", text="how do i get my money back"),
    IndexEntry(key="document:1", text="when is a payment returned"),
    IndexEntry(key="document:6", text="Password reset and sign-in problems"),
    IndexEntry(key="document:6", text="i forgot my password"),
    IndexEntry(key="field:plan", text="the plan you are on"),
]
VERBS = ["cancel", "refund", "export", "delete", "invite", "reset", "upgrade", "pay", "change", "share"]
NOUNS = ["plan", "account", "invoice", "seat", "password", "storage", "link", "key", "folder", "device"]


def nearest(index: Index, n: int, *texts: str) -> list[str]:
    """The options nearest to any of the texts."""
    return index.candidates(WordEmbedder().embed(texts), n)


def test_the_option_with_the_nearest_text_comes_first(open_index: OpenIndex) -> None:
    """Rule: an option is as near as the nearest of its texts."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    best, *others = nearest(index, 3, "i forgot my password reset")
    assert (best, set(others)) == ("document:6", {"document:1", "field:plan"})


def test_several_texts_are_near_what_any_of_them_is_near(open_index: OpenIndex) -> None:
    """Rule: the sentences of a mail are asked together; an option counts by its nearest pair."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    assert set(nearest(index, 2, "money back", "forgot password")) == {"document:1", "document:6"}


def test_an_update_embeds_only_what_is_new_and_forgets_what_is_gone(open_index: OpenIndex) -> None:
    """Rule: a changed summary costs one text, not the whole company."""
    embedder = WordEmbedder()
    index = open_index(embedder)
    assert index.update(ENTRIES) == len(ENTRIES)
    embedder.embedded.clear()
    changed = [*ENTRIES[:-1], IndexEntry(key="field:plan", text="your subscription")]
    assert index.update(changed) == 1
    assert embedder.embedded == ["your subscription"]
    assert [entry.text for entry in index.held(["field:plan"])[0]] == ["your subscription"]
    index.update(ENTRIES[:3])
    assert nearest(index, 5, "i forgot my password") == ["document:1"]


def test_the_version_follows_from_the_entries_alone(open_index: OpenIndex) -> None:
    """Rule: order, repetition and history do not matter; any text does; and it is there on opening."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    version = index.version
    index.update([*ENTRIES[:2], IndexEntry(key="document:2", text="Cancellation")])
    assert index.version != version
    assert index.update([*reversed(ENTRIES), ENTRIES[0]]) == len(ENTRIES) - 2
    assert index.version == version
    assert open_index(WordEmbedder()).version == version


def test_one_text_of_two_options_stays_with_both(open_index: OpenIndex) -> None:
    """Rule: an entry is its key and its text."""
    index = open_index(WordEmbedder())
    index.update([IndexEntry(key="field:plan", text="payments"), IndexEntry(key="series:payments", text="payments")])
    assert nearest(index, 2, "payments") == ["field:plan", "series:payments"]


def test_another_embedding_model_embeds_everything_again(open_index: OpenIndex) -> None:
    """Rule: vectors of two models are never compared with each other, and the version says which it was."""
    index = open_index(WordEmbedder())
    index.update(ENTRIES)
    other = open_index(WordEmbedder(name="other words"))
    assert other.update(ENTRIES) == len(ENTRIES)
    assert other.version != index.version
    assert len(nearest(other, 9, "i forgot my password")) == 3


def test_an_index_without_entries_finds_nothing(open_index: OpenIndex) -> None:
    """Rule: nothing is near, which is no error."""
    index = open_index(WordEmbedder())
    assert nearest(index, 3, "anything") == []
    index.update(ENTRIES)
    assert len(nearest(index, 100, "anything")) == 3
    assert index.update([]) == 0
    assert nearest(index, 3, "anything") == []


def test_an_option_of_many_texts_does_not_crowd_out_the_others(open_index: OpenIndex) -> None:
    """Rule: as many options as asked for, however many texts the nearest one has."""
    index = open_index(WordEmbedder())
    crowd = [IndexEntry(key="document:1", text=f"refund my money {number}") for number in range(300)]
    index.update([*crowd, IndexEntry(key="document:2", text="cancel the subscription")])
    assert nearest(index, 2, "refund my money") == ["document:1", "document:2"]


def test_among_many_the_nearest_are_those_of_an_exhaustive_comparison(open_index: OpenIndex) -> None:
    """Rule: the search may be approximate, what it finds is right: more entries than are looked at."""
    embedder = WordEmbedder()
    index = open_index(embedder)
    entries = [
        IndexEntry(key=f"document:{number}", text=f"{VERBS[number % 10]} my {NOUNS[number // 10 % 10]} {number}")
        for number in range(1500)
    ]
    index.update(entries)
    vectors = embedder.embed([entry.text for entry in entries])
    for question in ("refund my invoice 120", "please reset the password", "upgrade plan 7"):
        cosines = vectors @ embedder.embed([question])[0]
        found = [cosines[int(key.removeprefix("document:"))] for key in nearest(index, 6, question)]
        assert found == pytest.approx(np.sort(cosines)[::-1][:6].tolist(), abs=1e-5)


def test_a_folder_keeps_the_entries_for_the_next_process(tmp_path: Path) -> None:
    """Rule: a start embeds nothing that was embedded before."""
    settings = ChromaSettings(path=tmp_path / "chroma")
    first = open_client(settings)
    index = Index(first, WordEmbedder())
    index.update(ENTRIES)
    version, before = index.version, nearest(index, 3, "i forgot my password")
    first.close()  # type: ignore[attr-defined]  # the port does not name what every client has
    embedder = WordEmbedder()
    again = Index(open_client(settings), embedder)
    assert again.version == version
    assert again.update(ENTRIES) == 0
    assert embedder.embedded == []
    assert nearest(again, 3, "i forgot my password") == before


def test_a_server_that_does_not_answer_is_tried_again_later(tmp_path: Path) -> None:
    """Rule: at the start and in the middle, a dead server is a TransientError that names it."""
    with chroma_server(tmp_path) as (url, process):
        index = Index(open_client(ChromaSettings(url=url)), WordEmbedder())
        index.update(ENTRIES)
        process.kill()
        process.wait()
        with pytest.raises(TransientError, match="chroma"):
            nearest(index, 3, "i forgot my password")
        with pytest.raises(TransientError, match="running"):
            open_client(ChromaSettings(url=url))


def test_a_server_that_hangs_or_talks_nonsense_is_tried_again_later(tmp_path: Path) -> None:
    """Failure: the library waits without end, so no mail is decided any more; a proxy's page ended the worker."""
    with chroma_server(tmp_path) as (url, process):
        settings = ChromaSettings(url=url, timeout_s=2)
        index = Index(open_client(settings), WordEmbedder())
        index.update(ENTRIES)
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(TransientError, match="timed out"):
            nearest(index, 3, "i forgot my password")
        with pytest.raises(TransientError, match="timed out"):
            open_client(settings)
    for status, page in ((502, b"<html>Bad Gateway</html>"), (503, b""), (200, b"<html>"), (200, b"null")):
        with _answering(status, page, int(url.rpartition(":")[2])):
            with pytest.raises(TransientError, match="chroma"):
                nearest(index, 3, "i forgot my password")
            with pytest.raises(TransientError, match="running"):
                open_client(settings)


@contextmanager
def _answering(status: int, page: bytes, port: int) -> Iterator[None]:
    """What a proxy says in the place of its server, on every path."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield
        server.shutdown()
        thread.join(10)
