"""A machine embeds each of the company's texts once, and a file that cannot be used costs time alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from support_agent.models.embedding import kept
from support_agent.models.embedding.kept import PRIVATE, KeptEmbedder
from tests.unit.facts.words import WordEmbedder

TEXTS = ["Refunds are paid within 30 days.", "Refunds", "", "a\ud800b", "Refunds"]


def keeping(path: Path, most: int = 100, name: str = "words") -> tuple[KeptEmbedder, WordEmbedder]:
    inner = WordEmbedder(name)
    return KeptEmbedder(inner, path, most=most), inner


def test_a_text_is_embedded_once_whichever_process_asks(tmp_path: Path) -> None:
    """Rule: the second start reads what the first has written, in any order; a text twice in a call counts once."""
    first, asked = keeping(tmp_path / "file")
    vectors = first.embed(TEXTS)
    assert asked.embedded == TEXTS[:4]
    again, asked_again = keeping(tmp_path / "file")
    assert np.array_equal(again.embed(TEXTS[::-1]), vectors[::-1])
    assert asked_again.embedded == []
    assert np.array_equal(vectors, WordEmbedder().embed(TEXTS))
    assert again.embed([]).shape == (0, again.dimensions)


def test_each_model_and_each_role_has_its_own_vectors(tmp_path: Path) -> None:
    keeping(tmp_path / "file")[0].embed(["Refunds"], "passage")
    same, asked = keeping(tmp_path / "file")
    same.embed(["Refunds"], "query")
    other, asked_other = keeping(tmp_path / "file", name="others")
    other.embed(["Refunds"], "passage")
    assert asked.embedded == asked_other.embedded == ["Refunds"]


def test_the_oldest_vectors_go_first(tmp_path: Path) -> None:
    for number in range(5):
        keeping(tmp_path / "file", most=3)[0].embed([str(number)])
    last, asked = keeping(tmp_path / "file", most=3)
    last.embed(["2", "3", "4"])
    assert asked.embedded == []
    last.embed(["1"])
    assert asked.embedded == ["1"]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda row: row[:-2] + bytes([row[-2] ^ 1]) + row[-1:],
        lambda row: row[:-4],
        lambda row: row * 100,
        lambda _: None,
        lambda _: 5,
        lambda row: "x" * len(row),
    ],
)
def test_a_damaged_vector_is_computed_again_and_replaced(tmp_path: Path, damaged: Callable[[bytes], object]) -> None:
    """Rule: one changed bit is seen, and any other value; the file is whole afterwards."""
    wanted = keeping(tmp_path / "file")[0].embed(TEXTS)
    with closing(sqlite3.connect(tmp_path / "file")) as file, file:
        ((number, row),) = file.execute("SELECT number, vector FROM vectors LIMIT 1").fetchall()
        file.execute("UPDATE vectors SET vector = ? WHERE number = ?", [damaged(row), number])
    mended, asked = keeping(tmp_path / "file")
    assert np.array_equal(mended.embed(TEXTS), wanted)
    assert len(asked.embedded) == 1
    whole, asked_later = keeping(tmp_path / "file")
    whole.embed(TEXTS)
    assert asked_later.embedded == []


@pytest.mark.parametrize("wrong", [np.nan, 0.5])
def test_a_vector_that_no_embedder_should_make_is_not_kept(tmp_path: Path, wrong: float) -> None:
    """Rule: what an embedder got wrong once is computed again by the next."""
    broken, inner = keeping(tmp_path / "file")
    inner.embed = lambda texts, role="passage": np.full((len(texts), inner.dimensions), wrong, np.float32)  # type: ignore[method-assign]
    broken.embed(["Refunds"])
    assert np.array_equal(keeping(tmp_path / "file")[0].embed(["Refunds"]), WordEmbedder().embed(["Refunds"]))


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    keeping(tmp_path / "file")[0].embed(TEXTS)
    assert (tmp_path / "file").stat().st_mode & 0o777 == PRIVATE


def test_a_busy_file_is_used_again_once_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: another process that holds the file costs time alone; the next call keeps its vectors."""
    monkeypatch.setattr(kept, "BUSY_S", 0.01)
    embedder, asked = keeping(tmp_path / "file")
    embedder.embed(["first"])
    with closing(sqlite3.connect(tmp_path / "file", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert embedder.embed(["first", "second"]).shape == (2, embedder.dimensions)
        other.execute("ROLLBACK")
    embedder.embed(["first", "second"])
    embedder.embed(["first", "second"])
    assert asked.embedded == ["first", "first", "second", "second"]


def test_what_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: a full or read-only disk ends writing alone, after one try."""
    keeping(tmp_path / "file")[0].embed(["kept"])
    monkeypatch.setattr(kept, "TABLE", "CREATE TABLE nowhere.vectors (number)")
    embedder, asked = keeping(tmp_path / "file")
    embedder.embed(["kept", "new"])
    monkeypatch.undo()
    embedder.embed(["kept", "new"])
    assert asked.embedded == ["new", "new"]


@pytest.mark.parametrize("what", ["no database", "another database", "no folder", "a folder"])
def test_a_file_that_cannot_be_used_costs_time_alone(tmp_path: Path, what: str) -> None:
    """Rule: it is tried once, and what was there stays as it was."""
    path = tmp_path / "folder" / "file"
    match what:
        case "no database":
            path.parent.mkdir()
            path.write_bytes(b"not SQLite, and longer than its header" * 100)
        case "another database":
            path.parent.mkdir()
            with closing(sqlite3.connect(path)) as file, file:
                file.execute("CREATE TABLE vectors (mine TEXT)")
        case "a folder":
            path.mkdir(parents=True)
    before = path.read_bytes() if path.is_file() else None
    embedder, asked = keeping(path)
    for _ in range(2):
        assert np.array_equal(embedder.embed(TEXTS), WordEmbedder().embed(TEXTS))
    assert asked.embedded == TEXTS[:4] * 2
    assert (path.read_bytes() if path.is_file() else None) == before


def test_the_file_holds_no_text(tmp_path: Path) -> None:
    keeping(tmp_path / "file")[0].embed(TEXTS)
    assert b"Refunds" not in (tmp_path / "file").read_bytes()


def test_a_file_that_another_process_has_just_created_is_read_later(tmp_path: Path) -> None:
    """Rule: it is empty until the table is there, which is no error."""
    (tmp_path / "file").touch(PRIVATE)
    embedder, asked = keeping(tmp_path / "file")
    embedder.embed(["first"])
    embedder.embed(["first"])
    assert asked.embedded == ["first"]


def test_a_file_whose_writer_died_is_read_again_after_the_next_one_has_written(tmp_path: Path) -> None:
    """Failure: only a writer can undo what the dead one left, so a process read nothing for its whole life."""
    keeping(tmp_path / "file")[0].embed(["first"])
    died = (
        "import os, sqlite3, sys\n"
        "file = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "file.execute('PRAGMA cache_size = 1')\n"
        "file.execute('BEGIN')\n"
        "file.executemany('INSERT INTO vectors (key, vector) VALUES (?, ?)',"
        " [(bytes([n]) * 32, bytes(4000)) for n in range(99)])\n"
        "os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", died, tmp_path / "file"], check=False)
    assert (tmp_path / "file-journal").exists()
    embedder, asked = keeping(tmp_path / "file")
    for text in ("first", "second", "first", "second"):
        embedder.embed([text])
    assert asked.embedded == ["first", "second"]


def test_a_text_that_two_embed_at_once_takes_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: writing what is there already makes nothing else the oldest."""
    for number in range(3):
        keeping(tmp_path / "file", most=3)[0].embed([str(number)])
    with monkeypatch.context() as patch:
        patch.setattr(KeptEmbedder, "_read", lambda _self, _keys: {})
        for _ in range(5):
            keeping(tmp_path / "file", most=3)[0].embed(["2"])
    last, asked = keeping(tmp_path / "file", most=3)
    last.embed(["0", "1", "2"])
    assert asked.embedded == []


def test_several_may_use_the_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: writers wait for each other, and none gives the file up."""
    monkeypatch.setattr(kept, "BATCH", 4)
    monkeypatch.setattr(kept, "BUSY_S", 60.0)
    texts = [f"text {number}" for number in range(40)]
    found = []

    def ask() -> None:
        found.append(keeping(tmp_path / "file")[0].embed(texts))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(np.array_equal(vectors, WordEmbedder().embed(texts)) for vectors in found)
    last, asked = keeping(tmp_path / "file")
    last.embed(texts)
    assert asked.embedded == []
