"""Which options (documents, account fields, series) are nearest to a text: their texts, in Chroma.

Every option has a key ("document:6", "field:plan") and several texts: its title, its summary, its questions.
An entry's id is the checksum of its key, its text and the embedding model: an update embeds only what is new.

Invariant: the same entries give the same ids and `version`, whatever the collection held before, and Chroma
neither embeds (its default downloads a model) nor reports to its makers. tests/integration/facts checks it on
every kind of client.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

import chromadb
import httpx
import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.types import Metadata, QueryResult
from chromadb.config import Settings as ChromaConfig
from chromadb.errors import ChromaError, NotFoundError
from pydantic import Field

from support_agent.errors import ConfigError, TransientError
from support_agent.facts.embedding import Vectors
from support_agent.frozen import Frozen
from support_agent.settings import ChromaSettings

COLLECTION = "options"
PORTS = {"http": 80, "https": 443}
WRITE_BATCH = 1000
"""Entries embedded and written at a time; Chroma takes a few thousand."""
FIRST_LOOK = 64
"""Entries looked at for the nearest keys, at least; more until there are enough different keys."""
ENTRIES_PER_KEY = 24
"""Entries a key has, about: title, summary and the example questions."""
GRAPH = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""HNSW search wide enough that the nearest entry of 50,000 is found; the benchmark measures it."""


class Entry(Frozen):
    """One text of one option."""

    key: str = Field(min_length=1)
    text: str


class Match(Frozen):
    """How near an option is: cosines, -1..1.

    `score` is that of its nearest text, which is `text`.
    """

    key: str
    score: float
    text: str


class TextEmbedder(Protocol):
    """What the index needs of the embedding model; `name` changes when its vectors do."""

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
    return _http_client(settings.url) if settings.url else _folder_client(settings.path)


def memory_client() -> ClientAPI:
    """A vector store that ends with the process, which shares one: give two indexes two names."""
    return chromadb.EphemeralClient(_config())


def _http_client(url: str) -> ClientAPI:
    host, port, is_tls = _address(url)
    try:
        return chromadb.HttpClient(host=host, port=port, ssl=is_tls, settings=_config())
    except (ChromaError, httpx.HTTPError, ValueError) as error:  # ValueError: no connection
        raise TransientError(f"chroma.url {url}: {error}: is the server running?") from error


def _address(url: str) -> tuple[str, int, bool]:
    """Host, port and whether TLS is spoken."""
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
    with _errors(COLLECTION):
        try:
            return client.get_collection(COLLECTION, embedding_function=None).count()
        except NotFoundError:
            return None


class Index:
    """The option texts in one collection."""

    def __init__(self, client: ClientAPI, embedder: TextEmbedder, *, name: str = COLLECTION) -> None:
        """Open the collection, or make it.

        Raises:
            TransientError: the vector store does not answer.
        """
        self._embedder = embedder
        with _errors(name):
            self._collection = client.get_or_create_collection(
                name, embedding_function=None, configuration=cast(Any, {"hnsw": GRAPH})
            )
        self._version = ""

    @property
    def version(self) -> str:
        """sha256 over the ids of all entries: the same for the same entries and embedding model."""
        if not self._version:
            self._version = _version_of(self._ids())
        return self._version

    def update(self, entries: Iterable[Entry]) -> int:
        """Make the collection hold exactly these entries; returns how many texts had to be embedded.

        New entries are there before old ones go, and an update that was interrupted is finished by the next.

        Raises:
            TransientError: the vector store does not answer.
        """
        wanted = {self._id_of(entry): entry for entry in entries}
        stored = self._ids()
        new = [identifier for identifier in sorted(wanted) if identifier not in stored]
        for ids in _batches(new):
            self._add(ids, [wanted[identifier] for identifier in ids])
        with _errors(self._collection.name):
            for ids in _batches(sorted(stored - wanted.keys())):
                self._collection.delete(ids=ids)
        self._version = _version_of(wanted)
        return len(new)

    def nearest(self, texts: str | Sequence[str], n_keys: int) -> list[Match]:
        """The options nearest to a text, nearest first; to several texts: each option by its nearest pair.

        Which options these are comes from Chroma's search, their scores are exact.

        Args:
            texts: One text, or the parts of one (its sentences); at most 256 tokens each are seen.
            n_keys: How many options at most, 1 or more; fewer where the index holds fewer.
        Raises:
            TransientError: the vector store does not answer.
        """
        if n_keys < 1:
            raise ValueError(f"n_keys is {n_keys}: ask for 1 or more")
        questions = [texts] if isinstance(texts, str) else list(texts)
        if not questions:
            return []
        vectors = self._embedder.embed(questions)
        with _errors(self._collection.name):
            keys = self._candidate_keys(vectors, n_keys)
            matches = self._scored(vectors, keys) if keys else []
        return sorted(matches, key=lambda match: (-match.score, match.key))[:n_keys]

    def _id_of(self, entry: Entry) -> str:
        parts = (self._embedder.name, entry.key, entry.text)
        return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()

    def _ids(self) -> set[str]:
        with _errors(self._collection.name):
            return set(self._collection.get(include=[])["ids"])

    def _add(self, ids: list[str], entries: list[Entry]) -> None:
        vectors = self._embedder.embed([entry.text for entry in entries])
        metadatas: Any = [entry.model_dump() for entry in entries]
        with _errors(self._collection.name):
            self._collection.upsert(ids=ids, embeddings=vectors, metadatas=metadatas)

    def _candidate_keys(self, vectors: Vectors, n_keys: int) -> list[str]:
        """The keys of the entries nearest to any of the vectors; `n_keys` of them, if there are so many."""
        look = max(FIRST_LOOK, n_keys * ENTRIES_PER_KEY)
        while True:
            found = self._collection.query(query_embeddings=vectors, n_results=look, include=["metadatas", "distances"])
            is_all = all(len(ids) < look for ids in found["ids"])
            rows = [_nearest_of_keys(*row) for row in zip(*_metadatas_and_distances(found), strict=True)]
            if is_all or all(len(row) >= n_keys for row in rows):
                nearest = sorted((distance, key) for row in rows for key, distance in row.items())
                return list(dict.fromkeys(key for _, key in nearest))[:n_keys]
            look *= 4

    def _scored(self, vectors: Vectors, keys: list[str]) -> list[Match]:
        """Exact cosines of all texts of these keys."""
        stored = self._collection.get(where=cast(Any, {"key": {"$in": keys}}), include=["embeddings", "metadatas"])
        cosines = (np.asarray(stored["embeddings"], dtype=np.float32) @ vectors.T).max(axis=1)
        by_key: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for metadata, cosine in zip(stored["metadatas"] or [], cosines, strict=True):
            by_key[str(metadata["key"])].append((float(cosine), str(metadata["text"])))
        return [_match(key, scored) for key, scored in by_key.items()]


def _metadatas_and_distances(found: QueryResult) -> tuple[list[list[Metadata]], list[list[float]]]:
    """One list a vector; they are there, because they were asked for."""
    return found["metadatas"] or [], found["distances"] or []


def _nearest_of_keys(metadatas: list[Metadata], distances: list[float]) -> dict[str, float]:
    """The distance of each key's nearest entry; both lists are nearest first."""
    nearest: dict[str, float] = {}
    for metadata, distance in zip(metadatas, distances, strict=True):
        nearest.setdefault(str(metadata["key"]), distance)
    return nearest


def _match(key: str, scored: list[tuple[float, str]]) -> Match:
    score, text = min(scored, key=lambda pair: (-pair[0], pair[1]))
    return Match(key=key, score=score, text=text)


def _version_of(ids: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(ids)).encode()).hexdigest()


def _batches(ids: Sequence[str]) -> Generator[list[str]]:
    for start in range(0, len(ids), WRITE_BATCH):
        yield list(ids[start : start + WRITE_BATCH])


@contextmanager
def _errors(where: str) -> Generator[None]:
    """Chroma's errors as ours."""
    try:
        yield
    except (ChromaError, httpx.HTTPError) as error:
        raise TransientError(f"chroma ({where}): {error}") from error
