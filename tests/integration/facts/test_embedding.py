"""The pinned embedding model itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support_agent.errors import ConfigError
from support_agent.models.embedding.minilm import DIMENSIONS, MAX_TOKENS, MiniLM

TEXTS = [
    "How do I get my money back?",
    "I would like a refund for last month.",
    "The installer stops with an error on Windows 11.",
    "Reset",
    "Our team has grown, " * 30 + "so how do I add seats?",
    "",
]

USE_EVERYTHING = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from support_agent.models.embedding.minilm import MiniLM
from support_agent.facts.index import Index, IndexEntry, memory_client, open_client
from support_agent.config.settings import ChromaSettings
model, folder = map(Path, sys.argv[1:])
for client in (memory_client(), open_client(ChromaSettings(path=folder))):
    embedder = MiniLM(model)
    index = Index(client, embedder)
    index.update([IndexEntry(key="document:1", text="Refund policy"), IndexEntry(key="document:6", text="Passwords")])
    print(index.candidates(embedder.embed(["I want my money back"]), 1)[0])
"""


def test_texts_that_mean_the_same_are_nearer_than_texts_that_do_not(embedder: MiniLM) -> None:
    """Rule: the vectors are of use: other words for one thing are near, other things are far."""
    money, refund, installer = embedder.embed(TEXTS[:3])
    assert money @ refund > 0.5
    assert max(money @ installer, refund @ installer) < 0.2


def test_vectors_have_length_one_and_the_texts_order(embedder: MiniLM) -> None:
    """Rule: float32, one row for each text, so that a dot product is a cosine; no text, no row."""
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: MiniLM) -> None:
    """Rule: padding and neighbours change nothing; an index that grew is the index that was built at once."""
    many = [*TEXTS, *(f"Question number {number} about invoices" for number in range(70))]
    together = embedder.embed(many)
    alone = np.concatenate([embedder.embed([text]) for text in many])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_what_is_behind_the_limit_is_not_seen(embedder: MiniLM) -> None:
    """Rule: a text of any length has a vector, that of its first 256 tokens, two of which are markers."""
    words = ["team"] * (MAX_TOKENS - 2)
    (short, long, shorter) = embedder.embed(
        [" ".join(words), " ".join([*words, "refund", "now"]), " ".join([*words[:-2], "refund", "now"])]
    )
    np.testing.assert_allclose(short, long, atol=1e-5)
    assert short @ shorter < 0.9999


def test_the_tokens_of_a_text_are_counted_to_its_end_and_add_up(embedder: MiniLM) -> None:
    """Rule: chunks are measured by their words, so a text has as many tokens as its words have; no limit holds."""
    texts = ["team " * (MAX_TOKENS * 2), "Kündigungsfristen, e.g. 30 days (§ 3.2)!", "", "x" * 300]
    counted = embedder.count_tokens(texts)
    assert counted[0] == MAX_TOKENS * 2
    assert counted == [sum(embedder.count_tokens(text.split())) for text in texts]
    assert embedder.count_tokens(["unbelievably"])[0] > 1


def test_a_folder_without_the_model_says_what_to_run(tmp_path: Path) -> None:
    """Rule: a configuration error, one line, with the command."""
    with pytest.raises(ConfigError, match="model pull") as raised:
        MiniLM(tmp_path)
    assert "\n" not in str(raised.value)


def test_the_name_is_that_of_the_files(embedder: MiniLM, embedding_model_dir: Path, tmp_path: Path) -> None:
    """Rule: the same files have the same name, another tokenizer gives another one."""
    (tmp_path / "model.onnx").symlink_to(embedding_model_dir / "model.onnx")
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes((embedding_model_dir / "tokenizer.json").read_bytes())
    assert MiniLM(tmp_path).name == embedder.name
    tokenizer.write_bytes(tokenizer.read_bytes() + b"\n")
    assert MiniLM(tmp_path).name != embedder.name


def test_nothing_is_downloaded_reported_or_written_outside_the_folder(
    embedding_model_dir: Path, tmp_path: Path
) -> None:
    """Rule: neither Chroma nor onnxruntime keeps a device id, a cache or a log in the user's home, or warns.

    onnxruntime 1.31 writes `~/.cache/Microsoft` and reports to its makers when it is imported; Chroma's
    default embedding would download a model into `~/.cache/chroma`.
    """
    home = tmp_path / "home"
    home.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ORT_"))}
    result = subprocess.run(
        [sys.executable, "-c", USE_EVERYTHING, embedding_model_dir, tmp_path / "chroma"],
        cwd=home,
        env={**environment, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["document:1", "document:1"]
    assert list(home.rglob("*")) == []
