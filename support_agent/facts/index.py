"""Finds the options (documents, account fields, series) nearest to a text; their texts are in Chroma.

Every option has a key ("document:6", "field:plan") and several texts: its title, its summary, its questions.
An entry's id is the checksum of its key, its text and the embedding model: an update embeds only what is new.

Invariant: the same entries give the same ids and `version`, whatever the collection held before and whatever other
processes do with it, and Chroma neither embeds (its default downloads a model) nor reports to its makers.
tests/integration/facts checks it on every kind of client, and with several processes on one server.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import chromadb
import httpx
import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.types import Metadata
from chromadb.config import Settings as ChromaConfig
from chromadb.errors import ChromaError, NotFoundError
from pydantic import Field

from support_agent.config.settings import ChromaSettings
from support_agent.core.frozen import Frozen
from support_agent.core.size_limits import batches, first_line
from support_agent.errors import ConfigError, TransientError
from support_agent.models.embedding.port import Vectors

COLLECTION = "options"
PORTS = {"http": 80, "https": 443}
WRITE_BATCH = 1000
"""Entries embedded and written at a time; Chroma takes a few thousand."""
LEAST_ENTRIES = 64
"""Fewest entries to request when searching for keys; more until there are enough different keys."""
ENTRIES_PER_KEY = 24
"""Typical entries per key: title, summary and example questions."""
REPLACED_AT = "replaced_at_s"
"""When nobody wanted an entry any more, in seconds since 1970; 0 or missing: it is wanted."""
GRAPH = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""HNSW search wide enough that the nearest entry of 50,000 is found; the benchmark measures it."""


class IndexEntry(Frozen):
    """One text of one option; `kind` is its part ("head", "question", "section")."""

    key: str = Field(min_length=1)
    text: str
    kind: str = "head"


class TextEmbedder(Protocol):
    """The embedding model, as the index uses it; `name` changes when its vectors do."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...


def open_client(settings: ChromaSettings) -> ClientAPI:
    """The vector store of the configuration: a server where `chroma.url` is set, else a folder.

    A folder belongs to one process; several need the server.

    Raises:
        ConfigError: the URL is none, or the folder cannot be used.
        TransientError: the server does not answer.
    """
    return _http_client(settings.url, settings.timeout_s) if settings.url else _folder_client(settings.path)


def memory_client() -> ClientAPI:
    """A vector store that ends with the process, which shares one: give two indexes two names."""
    return chromadb.EphemeralClient(_config())


def _http_client(url: str, timeout_s: float) -> ClientAPI:
    """A client whose requests end after `timeout_s`: the library's own wait for ever."""
    host, port, is_tls = _address(url)
    try:
        httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=timeout_s)  # opening the client asks without a limit
        client = chromadb.HttpClient(host=host, port=port, ssl=is_tls, settings=_config())
    except Exception as error:  # of whatever class, see `_errors`
        raise TransientError(f"chroma.url {url}: {first_line(error)}: is the server running?") from error
    # No public name: test_a_server_that_does_not_answer_is_tried_again_later fails where it is another.
    cast(Any, client)._server._session.timeout = timeout_s
    return client


def _address(url: str) -> tuple[str, int, bool]:
    """Host, port and whether to use TLS."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # of a bracket or a port that is none
        host, port = None, None
    if not host or parts.scheme not in PORTS or parts.path not in {"", "/"} or parts.username is not None:
        raise ConfigError(f"chroma.url {url!r}: write http://host:port or https://host:port")
    return host, port or PORTS[parts.scheme], parts.scheme == "https"


def _folder_client(path: Path) -> ClientAPI:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(path, settings=_config())
    except OSError as error:
        what = error.strerror or str(error)
    except ChromaError as error:
        what = str(error)
    raise ConfigError(f"chroma.path {path}: {what}: choose another folder")


def _config() -> ChromaConfig:
    return ChromaConfig(anonymized_telemetry=False)


def count_entries(settings: ChromaSettings) -> int | None:
    """How many texts the vector store of the configuration holds; None: it was not filled yet.

    Raises:
        ConfigError, TransientError: as `open_client`.
    """
    client = open_client(settings)
    name = settings.collection(COLLECTION)
    with _errors(name):
        try:
            return client.get_collection(name, embedding_function=None).count()
        except NotFoundError:
            return None


class Near(NamedTuple):
    """A stored vector near another: `distance` is 1 - cosine, 0..2."""

    id: str
    distance: float
    metadata: Metadata


class Collection:
    """Vectors by id, each with a few attributes: the only use of Chroma.

    Several processes may hold different entries in one collection, while they take over changed files one by one: each
    looks for its own, and `keep_s` keeps those of the others.
    """

    def __init__(
        self, client: ClientAPI, name: str, *, keep_s: float = 0.0, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the collection, or create it.

        Args:
            keep_s: Seconds for which entries stay that `hold` no longer wants; 0: only this process uses it.
            clock: Seconds since 1970.
        Raises:
            TransientError: the vector store does not answer; each method may raise it.
        """
        self._keep_s, self._clock = keep_s, clock
        with _errors(name):
            self._chroma = client.get_or_create_collection(
                name, embedding_function=None, configuration=cast(Any, {"hnsw": GRAPH})
            )

    def ids(self) -> set[str]:
        """The ids of all stored vectors but for replaced ones."""
        with _errors(self._chroma.name):
            return set(self._chroma.get(include=[])["ids"]) - self._replaced()

    def hold(self, wanted: Mapping[str, Metadata], vectors_of: Callable[[Sequence[str]], Vectors]) -> int:
        """Make the collection hold these ids; `vectors_of` is asked for the new ones; returns how many.

        New entries are there before old ones go, and a change that was interrupted is finished by the next. Two
        processes that hold the same at once write the same.
        """
        with _errors(self._chroma.name):
            stored, replaced = set(self._chroma.get(include=[])["ids"]), self._replaced()
        self._mark(replaced & wanted.keys(), 0.0)
        new = sorted(wanted.keys() - stored)
        for ids in batches(new, WRITE_BATCH):
            self.put(ids, vectors_of(ids), [wanted[identifier] for identifier in ids])
        self._let_go(stored - wanted.keys(), replaced)
        return len(new)

    def _replaced(self) -> set[str]:
        """The ids that nobody wanted when they were last looked at."""
        where: Any = {REPLACED_AT: {"$gt": 0}}
        return set(self._chroma.get(where=where, include=[])["ids"])

    def _mark(self, ids: AbstractSet[str], at: float) -> None:
        with _errors(self._chroma.name):
            for batch in batches(sorted(ids), WRITE_BATCH):
                self._chroma.update(ids=batch, metadatas=[{REPLACED_AT: at} for _ in batch])

    def _let_go(self, ids: AbstractSet[str], replaced: AbstractSet[str]) -> None:
        """Delete these at once, or mark them and delete those that were marked long ago."""
        where: Any = None
        if self._keep_s:
            self._mark(ids - replaced, self._clock())
            # Asked again here: another process may want one of them meanwhile.
            where = {"$and": [{REPLACED_AT: {"$gt": 0}}, {REPLACED_AT: {"$lt": self._clock() - self._keep_s}}]}
            ids = ids & replaced
        with _errors(self._chroma.name):
            for batch in batches(sorted(ids), WRITE_BATCH):
                self._chroma.delete(ids=batch, where=where)

    def put(self, ids: Sequence[str], vectors: Vectors, metadatas: Sequence[Metadata]) -> None:
        """Add these; each replaces a stored one with its id."""
        with _errors(self._chroma.name):
            for start in range(0, len(ids), WRITE_BATCH):
                rows = slice(start, start + WRITE_BATCH)
                self._chroma.upsert(ids=list(ids[rows]), embeddings=vectors[rows], metadatas=list(metadatas[rows]))

    def nearest(self, vectors: Vectors, n: int, among: tuple[str, Sequence[str]] | None = None) -> list[list[Near]]:
        """For each vector up to `n` stored ones, nearest first; `among`: an attribute and the values it may have."""
        where: Any = None if among is None else {among[0]: {"$in": list(among[1])}}
        with _errors(self._chroma.name):
            found = self._chroma.query(
                query_embeddings=vectors, n_results=n, where=where, include=["metadatas", "distances"]
            )
        rows = zip(found["ids"], found["distances"] or [], found["metadatas"] or [], strict=True)
        return [[Near(*entry) for entry in zip(*row, strict=True)] for row in rows]

    def distances(self, vector: Vectors, ids: Sequence[str]) -> dict[str, float]:
        """1 - cosine of a vector of length 1 and each of these stored ones."""
        found: dict[str, float] = {}
        for batch in batches(ids, WRITE_BATCH):
            with _errors(self._chroma.name):
                near = self._chroma.query(
                    query_embeddings=vector[None], ids=batch, n_results=len(batch), include=["distances"]
                )
            found |= zip(near["ids"][0], (near["distances"] or [[]])[0], strict=True)
        # An HNSW graph whose entries were replaced often does not lead to all of them any more.
        lost = [identifier for identifier in ids if identifier not in found]
        return found | dict(zip(lost, map(float, 1 - self.vectors(lost) @ vector), strict=True)) if lost else found

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """The stored vectors of these ids, in their order."""
        with _errors(self._chroma.name):
            stored = self._chroma.get(ids=list(ids), include=["embeddings"])
        rows = {identifier: row for row, identifier in enumerate(stored["ids"])}
        return np.asarray(stored["embeddings"], dtype=np.float32)[[rows[identifier] for identifier in ids]]

    def stored(self, word: str, values: Sequence[str] | None) -> tuple[list[Metadata], Vectors]:
        """What is held where the word has one of the values: in the same order the words about it, and the vectors.

        Args:
            values: None: whatever the word has.
        """
        where = None if values is None else {word: {"$in": list(values)}}
        with _errors(self._chroma.name):
            stored = self._chroma.get(where=cast(Any, where), include=["embeddings", "metadatas"])
        metadatas: list[Metadata] = [
            {key: value for key, value in metadata.items() if key != REPLACED_AT}
            for metadata in stored["metadatas"] or []
        ]
        return metadatas, np.asarray(stored["embeddings"], dtype=np.float32)


class Index:
    """The option texts in one collection."""

    def __init__(
        self,
        client: ClientAPI,
        embedder: TextEmbedder,
        *,
        name: str = COLLECTION,
        keep_s: float = 0.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the collection, or make it.

        Args:
            keep_s, clock: As of `Collection`.
        Raises:
            TransientError: the vector store does not answer.
        """
        self._embedder = embedder
        self._collection = Collection(client, name, keep_s=keep_s, clock=clock)
        self._version = ""
        self._wanted: AbstractSet[str] | None = None
        """The ids of the last update; None: there was none, and whatever is stored counts."""

    @property
    def version(self) -> str:
        """sha256 over the ids of all entries: the same for the same entries and embedding model."""
        if not self._version:
            self._version = version_of(self._collection.ids())
        return self._version

    def update(self, entries: Iterable[IndexEntry]) -> int:
        """Make the collection hold exactly these entries; returns how many texts had to be embedded.

        New entries are there before old ones go, and an update that was interrupted is finished by the next.

        Raises:
            TransientError: the vector store does not answer.
        """
        wanted = {self._id_of(entry): entry for entry in entries}

        def vectors_of(ids: Sequence[str]) -> Vectors:
            return self._embedder.embed([wanted[identifier].text for identifier in ids])

        metadatas = {identifier: entry.model_dump() for identifier, entry in wanted.items()}
        n_new = self._collection.hold(metadatas, vectors_of)
        self._version, self._wanted = version_of(wanted), frozenset(wanted)
        return n_new

    def held(self, keys: Sequence[str] | None = None) -> tuple[list[IndexEntry], Vectors]:
        """The entries of these options, or of all, and their vectors, in an order that depends on the entries alone.

        Raises:
            TransientError: the vector store does not answer.
        """
        metadatas, vectors = self._collection.stored("key", keys)
        entries = [IndexEntry.model_validate(metadata) for metadata in metadatas]
        mine = [row for row, entry in enumerate(entries) if self._is_mine(self._id_of(entry))]
        order = sorted(mine, key=lambda row: (entries[row].key, entries[row].kind, entries[row].text))
        return [entries[row] for row in order], vectors[order]

    def _is_mine(self, identifier: str) -> bool:
        """Whether the entry is of the last update: others are of another process, with other files."""
        return self._wanted is None or identifier in self._wanted

    def _id_of(self, entry: IndexEntry) -> str:
        return id_of(self._embedder.name, entry.key, entry.kind, entry.text)

    def candidates(self, vectors: Vectors, n_keys: int) -> list[str]:
        """The keys of the entries nearest to any of the vectors, nearest first; `n_keys` of them, if there are so many.

        Raises:
            TransientError: the vector store does not answer.
        """
        n_asked = max(LEAST_ENTRIES, n_keys * ENTRIES_PER_KEY)
        while True:
            found = self._collection.nearest(vectors, n_asked)
            rows = [_nearest_of_keys([entry for entry in near if self._is_mine(entry.id)]) for near in found]
            if all(len(near) < n_asked for near in found) or all(len(row) >= n_keys for row in rows):
                nearest = sorted((distance, key) for row in rows for key, distance in row.items())
                return list(dict.fromkeys(key for _, key in nearest))[:n_keys]
            n_asked *= 4


def _nearest_of_keys(near: Sequence[Near]) -> dict[str, float]:
    """The distance of each key's nearest entry."""
    nearest: dict[str, float] = {}
    for entry in near:
        nearest.setdefault(str(entry.metadata["key"]), entry.distance)
    return nearest


def id_of(*parts: str) -> str:
    """The checksum of some texts; no two lists of texts share one."""
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()


def version_of(ids: Iterable[str]) -> str:
    """The checksum of a set of ids; their order does not matter."""
    return hashlib.sha256("".join(sorted(ids)).encode()).hexdigest()


@contextmanager
def _errors(where: str) -> Generator[None]:
    """Map Chroma's errors to ours: what a proxy says in the server's place is a plain Exception."""
    try:
        yield
    except Exception as error:
        raise TransientError(f"chroma ({where}): {first_line(error)}") from error
