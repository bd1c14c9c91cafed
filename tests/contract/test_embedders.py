"""The rules of the embedder port, on the real models and on the fake of the unit tests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support_agent.config.embedding import MULTILINGUAL, EmbeddingModel, EmbeddingSettings
from support_agent.config.settings import Settings
from support_agent.models.embedders import PINNED, load_embedders
from support_agent.models.embedding.e5 import MultilingualE5
from support_agent.models.embedding.port import Embedder, Vectors
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail
from tests.unit.facts.words import WordEmbedder
from tests.unit.models.packages import RecordedProgress

FAKE = "fake"
SAME = 1e-5
LONG = "How can I add seats for the new people in our team? " * 20
TEXTS = [
    "How do I get my money back?",
    "Wie bekomme ich mein Geld zurück?",
    "Reset",
    "",
    LONG,
    "Comment puis-je modifier mon adresse de facturation, s'il vous plaît ?",
    "返金してもらえますか",
]
HOSTILE = {
    "spaces": " " * 3_000,
    "lines": "\r\n\t\v\f" * 500,
    "controls": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "nul": "refund\0policy",
    "surrogates": "a\ud800b\udfffc",
    "marks": "a" + "\u0301" * 2_000,
    "one long word": "x" * 100_000,
    "many words": "seat " * 50_000,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3fd" * 300,
    "one letter that stands for eighteen": "\ufdfa" * 2_000,
    "wide": "\U0010ffff\ufffe\u2028\u202e\ufeff" * 400,
    "ligatures": "\ufb03\u3300\u33ff\u1e9b\u0323" * 400,
    "markers": "<s></s><unk><pad><mask>[CLS][SEP][PAD]query: passage: \u2581" * 30,
    "jamo": "\u1100\u1161\u11a8" * 700,
}
TWINS = (
    ("How do I get a refund?", "Comment puis-je obtenir un remboursement ?", "Comment puis-je changer mon adresse ?"),
    ("How do I change my password?", "Wie ändere ich mein Passwort?", "Wie hoch sind die Versandkosten?"),
    ("When will my order arrive?", "¿Cuándo llegará mi pedido?", "¿Cómo cambio mi contraseña?"),
    ("How do I cancel my contract?", "Come posso disdire il mio contratto?", "Come posso stampare la fattura?"),
    ("Where is my invoice?", "Onde está a minha fatura?", "Onde fica a vossa loja?"),
    ("How do I get a refund?", "Jak mogę otrzymać zwrot pieniędzy?", "Jak mogę zmienić adres dostawy?"),
    ("When will my parcel arrive?", "Wanneer komt mijn pakket aan?", "Hoe wijzig ik mijn wachtwoord?"),
)
"""(English, the same in another language, something else in that language)."""


USE_EVERYTHING = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from support_agent.models.embedders import load_embedders
from support_agent.models.progress import progress_on
from support_agent.config.settings import ModelSettings, Settings
settings = Settings(model=ModelSettings(cache_dir=Path(sys.argv[1])))
for embedder in load_embedders(settings, progress_on(sys.stderr)):
    print(*embedder.embed(["Refund policy", ""], "query").shape)
"""


def real(model: EmbeddingModel, threads: int = 0) -> Embedder:
    """The real embedder; without its files the test is skipped, and fails in CI."""
    settings = Settings(embedding=EmbeddingSettings(models=(model,), threads=threads))
    if locate(PINNED[model], cache_dir(settings.model)) is None:
        skip_or_fail("the embedding models are not in the cache: run 'support-agent model pull'")
    (embedder,) = load_embedders(settings, RecordedProgress())
    return embedder


@pytest.fixture(scope="module")
def opened() -> Callable[[str], Embedder]:
    """`opened(name)`: the embedder, loaded once for all tests."""
    kept: dict[str, Embedder] = {}

    def get(name: str) -> Embedder:
        if name not in kept:
            kept[name] = WordEmbedder() if name == FAKE else real(EmbeddingModel(name))
        return kept[name]

    return get


@pytest.fixture(params=[FAKE, *EmbeddingModel])
def embedder(request: pytest.FixtureRequest, opened: Callable[[str], Embedder]) -> Embedder:
    """Each embedder in turn."""
    return opened(request.param)


@pytest.fixture(params=MULTILINGUAL)
def multilingual(request: pytest.FixtureRequest, opened: Callable[[str], Embedder]) -> Embedder:
    """Each embedder that knows several languages."""
    return opened(request.param)


def assert_unit(vectors: Vectors, count: int, dimensions: int) -> None:
    assert vectors.shape == (count, dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=SAME)


def test_a_row_for_each_text_in_their_order(embedder: Embedder) -> None:
    """Rule: float32 rows of length 1; no text, no row."""
    vectors = embedder.embed(TEXTS, "query")
    assert_unit(vectors, len(TEXTS), embedder.dimensions)
    assert embedder.embed([], "query").shape == (0, embedder.dimensions)
    backwards = embedder.embed(TEXTS[::-1], "query")
    np.testing.assert_allclose(backwards[::-1], vectors, atol=SAME)


@pytest.mark.parametrize("role", ["query", "passage"])
def test_a_text_has_one_vector_whatever_it_is_embedded_with(embedder: Embedder, role: str) -> None:
    """Rule: neighbours change nothing, so a choice does not depend on what else was asked."""
    many = [*TEXTS, *(f"Question number {number} about invoices" for number in range(40))]
    together = embedder.embed(many, role)  # type: ignore[arg-type]
    alone = np.concatenate([embedder.embed([text], role) for text in many])  # type: ignore[arg-type]
    np.testing.assert_allclose(together, alone, atol=SAME)


def test_the_same_text_has_the_same_bytes_again(embedder: Embedder) -> None:
    """Rule: what was asked in between, and how often it was asked, leaves no trace."""
    first = embedder.embed(TEXTS, "query")
    embedder.embed(list(HOSTILE.values()), "passage")
    np.testing.assert_array_equal(embedder.embed(TEXTS, "query"), first)


@pytest.mark.parametrize("model", EmbeddingModel)
def test_the_number_of_threads_changes_no_vector(model: EmbeddingModel, opened: Callable[[str], Embedder]) -> None:
    """Rule: an index that one machine built serves another; the name is the same too."""
    one, two = real(model, 1), real(model, 2)
    assert one.name == two.name == opened(model).name
    texts = [text * 3 for text in TEXTS] * 3  # E5 computes several batches of these at once
    np.testing.assert_allclose(one.embed(texts, "query"), two.embed(texts, "query"), atol=SAME)


def test_several_threads_may_ask_at_once(embedder: Embedder) -> None:
    """Rule: each gets the vectors of its own texts."""
    expected = embedder.embed(TEXTS, "query")
    found: dict[int, Vectors] = {}
    start = threading.Barrier(4)

    def ask(number: int) -> None:
        start.wait(60)
        found[number] = np.concatenate([embedder.embed([text], "query") for text in TEXTS[number:] + TEXTS[:number]])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for number in range(4):
        np.testing.assert_allclose(found[number], np.roll(expected, -number, axis=0), atol=SAME)


@pytest.mark.parametrize("kind", HOSTILE)
def test_any_text_has_a_vector(embedder: Embedder, kind: str) -> None:
    """Rule: what customers send is never an error, and takes seconds at most; its neighbours are not touched."""
    vectors = embedder.embed(["Reset", HOSTILE[kind], "Reset"], "query")
    assert_unit(vectors, 3, embedder.dimensions)
    np.testing.assert_allclose(vectors[::2], embedder.embed(["Reset"] * 2, "query"), atol=SAME)


def test_e5_reads_at_most_as_many_tokens_as_characters(opened: Callable[[str], Embedder]) -> None:
    """Rule: letters that stand for eighteen do not make a short text a long computation."""
    name = opened("e5").name
    model = MultilingualE5(cache_dir(Settings().model) / PINNED[EmbeddingModel.E5].name)
    assert model.name == name
    assert len(model.tokens("\ufdfa" * 20, "query")) == len("query: ") + 20 + 2


def test_each_model_has_a_name_of_its_own(opened: Callable[[str], Embedder]) -> None:
    """Rule: vectors are kept under the name; those of two models never mix."""
    assert len({opened(model).name for model in EmbeddingModel}) == len(EmbeddingModel)


@pytest.mark.parametrize(("english", "twin", "other"), TWINS)
def test_a_question_is_nearer_to_its_twin_in_another_language_than_to_another_one(
    multilingual: Embedder, english: str, twin: str, other: str
) -> None:
    """Rule: what is meant counts, not the language: the twin is nearer than another question in its language."""
    vectors = multilingual.embed([english, twin, other], "query")
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert vectors[0] @ vectors[1] > vectors[1] @ vectors[2]


def test_nothing_is_written_outside_the_cache_and_nothing_warns(
    opened: Callable[[str], Embedder], tmp_path: Path
) -> None:
    """Rule: no runtime keeps a device id, a cache or a log in the user's home, as onnxruntime would; none warns."""
    shapes = [f"2 {opened(model).dimensions}" for model in Settings().embedding.models]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ORT_"))}
    result = subprocess.run(
        [sys.executable, "-c", USE_EVERYTHING, cache_dir(Settings().model)],
        cwd=tmp_path,
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == shapes
    assert list(tmp_path.rglob("*")) == []
