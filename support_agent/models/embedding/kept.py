"""Vectors of the company's own texts, kept in a file: a machine embeds each text once.

Dry runs, the desk and the demo have their index in memory and would embed every document again, the larger models for
half a minute. The file holds checksums and vectors. Customers' texts are not to be embedded here. A file that cannot be
used costs time alone: vectors are computed.

Invariant: a vector is that of the embedder, whatever happened to the file, whichever processes use it at once.
tests/unit/models/embedding/test_kept.py checks it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import numpy as np
import structlog

from support_agent.core.parts import batches, first_line
from support_agent.models.embedding.port import Embedder, Role, Vectors

log = structlog.get_logger(__name__)
FILE = "vectors.sqlite3"
TABLE = "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB)"
BATCH = 256
"""Texts that are embedded, then kept: an interrupted first run has not worked in vain."""
BUSY_S = 2.0
"""Longest wait for another process, which writes a batch in milliseconds."""
CRC_BYTES = 4
"""Before each vector: the checksum of its key and itself."""
T = TypeVar("T")


class KeptEmbedder:
    """An `Embedder` that reads the vectors of known texts from a file."""

    def __init__(self, embedder: Embedder, path: Path, *, most: int) -> None:
        """Keep the vectors of an embedder; other embedders may share the file.

        Args:
            path: The file; it is made when it is needed.
            most: Vectors in the file, of all embedders; the oldest go first.
        """
        self._embedder, self._path, self._most = embedder, path, most
        self._is_usable = True

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
            if new:
                made = dict(zip(new, self._embedder.embed(list(new.values()), role), strict=True))
                self._write(made)
                found |= made
            vectors[rows] = [found[keys[row]] for row in rows]
        return vectors

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors that are kept, and undamaged."""
        marks = ", ".join("?" * len(keys))
        select = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
        rows: list[tuple[bytes, bytes]] = self._use(lambda file: file.execute(select, keys).fetchall(), [])
        return {key: vector for key, row in rows if (vector := _unpacked(key, row)) is not None}

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep these, and drop the oldest beyond the most."""
        rows = [(key, _packed(key, vector)) for key, vector in vectors.items()]

        def write(file: sqlite3.Connection) -> None:
            with file:
                file.executemany("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows)
                file.execute("DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", [self._most])

        self._use(write, None)

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Work on the file; a problem is logged and ends its use by this embedder."""
        if not self._is_usable:
            return otherwise
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file:
                file.execute(TABLE)
                return work(file)
        except sqlite3.Error as error:
            self._is_usable = False
            log.warning("vectors_not_kept", file=str(self._path), error=first_line(error))
            return otherwise


def _packed(key: bytes, vector: Vectors) -> bytes:
    row = vector.astype("<f4").tobytes()
    return crc32(key + row).to_bytes(CRC_BYTES, "big") + row


def _unpacked(key: bytes, packed: bytes) -> Vectors | None:
    """The vector; None: its row is damaged."""
    row = packed[CRC_BYTES:]
    is_whole = packed[:CRC_BYTES] == crc32(key + row).to_bytes(CRC_BYTES, "big")
    return np.frombuffer(row, dtype="<f4") if is_whole else None
