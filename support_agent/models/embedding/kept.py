"""Vectors of the company's own texts, kept in a file: a machine embeds each text once.

Dry runs, the desk and the demo build their index in memory; without the file, each start would embed every document
again. The file holds checksums and vectors, never a text. Customers' texts go to the plain embedder: tests/unit/facts
checks it for the search and for the passages.

Invariant: if the file is damaged, busy or read-only, or the disk is full, the vectors are computed instead.
tests/unit/models/embedding/test_kept.py checks it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import numpy as np
import structlog

from support_agent.core.size_limits import batches, first_line
from support_agent.models.embedding.port import Embedder, Role, Vectors

log = structlog.get_logger(__name__)
FILE = "vectors.sqlite3"
TABLE = "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB)"
SELECT = "SELECT key, vector FROM vectors WHERE typeof(vector) = 'blob' AND length(vector) = ? AND key IN ({})"
INSERT = """INSERT INTO vectors (key, vector) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET vector = excluded.vector"""
PRIVATE = 0o600
BATCH = 256
"""Texts embedded at a time, then written: an interrupted first run can continue."""
BUSY_S = 2.0
"""Longest wait for another process, which writes a batch in milliseconds."""
PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY_ROLLBACK)
"""Errors that end: another process writes, or died while it wrote, and the next that writes repairs the file."""
READ, WRITE = "ro", "rw"
CRC_BYTES = 4
"""Before each vector: the checksum of its key and itself."""
LENGTH_ERROR = 1e-3
"""How far the length of a vector may be from 1."""
T = TypeVar("T")


class KeptEmbedder:
    """An `Embedder` that reads the vectors of known texts from a file."""

    def __init__(self, embedder: Embedder, path: Path, *, most: int) -> None:
        """Keep the vectors of an embedder; other embedders may share the file.

        Args:
            path: The file; it is made when it is needed, for its owner alone.
            most: Vectors in the file, of all embedders; the oldest go first.
        """
        self._embedder, self._path, self._most = embedder, path, most
        self._modes = {READ, WRITE}

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """See `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        keys = [sha256("\0".join((self.name, role, text)).encode("utf-8", "surrogatepass")).digest() for text in texts]
        for rows in batches(range(len(texts)), BATCH):
            found = self._read([keys[row] for row in rows])
            new = {keys[row]: texts[row] for row in rows if keys[row] not in found}
            made = dict(zip(new, self._embedder.embed(list(new.values()), role), strict=True)) if new else {}
            known = found | made
            vectors[rows] = [known[keys[row]] for row in rows]
            self._write({key: vector for key, vector in made.items() if self._is_whole(vector)})
        return vectors

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors that are kept, and undamaged."""
        size = CRC_BYTES + self.dimensions * np.dtype("<f4").itemsize

        def read(file: sqlite3.Connection) -> dict[bytes, Vectors]:
            rows = file.execute(SELECT.format(", ".join("?" * len(keys))), [size, *keys]).fetchall()
            unpacked = ((key, _unpacked(key, row)) for key, row in rows)
            return {key: vector for key, vector in unpacked if vector is not None and self._is_whole(vector)}

        return self._use(read, otherwise={}, mode=READ) if self._is_written() else {}

    def _is_written(self) -> bool:
        """Whether it has been written to; an empty file is one whose table another process is about to create."""
        try:
            return self._path.is_file() and self._path.stat().st_size > 0
        except OSError:  # deleted in between
            return False

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these, and delete the oldest beyond the most."""
        if not vectors:
            return
        rows = [(key, _packed(key, vector)) for key, vector in vectors.items()]

        def write(file: sqlite3.Connection) -> None:
            with file:
                file.execute(TABLE)
                file.executemany(INSERT, rows)
                file.execute("DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", [self._most])

        with suppress(OSError):  # the file exists, or SQLite reports why it cannot be created
            self._path.touch(PRIVATE, exist_ok=False)
        self._use(write, otherwise=None, mode=WRITE)

    def _use(self, work: Callable[[sqlite3.Connection], T], *, otherwise: T, mode: str) -> T:
        """The result of the work on the file; an error, unless it is `PASSING`, ends reading or writing for good."""
        if mode not in self._modes:
            return otherwise
        try:
            uri = f"{self._path.absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, timeout=BUSY_S, uri=True)) as file:
                return work(file)
        except Exception as error:  # a damaged file raises TypeError and UnicodeDecodeError, too
            if getattr(error, "sqlite_errorcode", None) not in PASSING:
                self._modes.discard(mode)  # another thread may have met it first
                tell = log.info if mode == WRITE else log.warning
                tell(
                    "vectors_not_kept", file=str(self._path), error=first_line(error), todo="delete it if it is damaged"
                )
            return otherwise

    def _is_whole(self, vector: Vectors) -> bool:
        """Whether the embedder may have made it: a wrong vector in the file would be returned at every start."""
        return vector.shape == (self.dimensions,) and abs(float(np.linalg.norm(vector)) - 1) < LENGTH_ERROR


def _packed(key: bytes, vector: Vectors) -> bytes:
    row = vector.astype("<f4").tobytes()
    return crc32(key + row).to_bytes(CRC_BYTES, "big") + row


def _unpacked(key: bytes, packed: bytes) -> Vectors | None:
    """The vector; None: its row is damaged."""
    row = packed[CRC_BYTES:]
    is_undamaged = packed[:CRC_BYTES] == crc32(key + row).to_bytes(CRC_BYTES, "big")
    return np.frombuffer(row, dtype="<f4") if is_undamaged else None
