"""multilingual-E5-small computed with numpy: the vectors are those of the model, and roles count."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.config.settings import ModelSettings
from support_agent.models.embedding.adapter import Adapter
from support_agent.models.embedding.e5 import MAX_CHARACTERS, MultilingualE5
from support_agent.models.embedding.port import Role
from support_agent.models.pinned import E5
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail

OTHER_ENGINE: tuple[tuple[Role, str, list[float]], ...] = (
    (
        "query",
        "How do I get my money back?",
        [0.054, -0.034, 0.003, -0.100, 0.047, -0.042, -0.008, 0.060],
    ),
    (
        "passage",
        "Wir erstatten den Betrag innerhalb von 30 Tagen.",
        [0.070, -0.015, -0.022, -0.120, 0.040, -0.007, -0.028, 0.024],
    ),
)
"""The first of the 384 numbers as another program computes them, which rounds to 8 bits on its way."""


@pytest.fixture(scope="module")
def e5() -> MultilingualE5:
    path = locate(E5, cache_dir(ModelSettings()))
    if path is None:
        skip_or_fail("the embedding models are not in the cache: run 'support-agent model pull'")
        raise AssertionError
    return MultilingualE5(path)


@pytest.fixture(scope="module")
def unadapted() -> MultilingualE5:
    path = locate(E5, cache_dir(ModelSettings()))
    assert path is not None
    return MultilingualE5(path, adapter=Adapter({}))


@pytest.mark.parametrize(("role", "text", "expected"), OTHER_ENGINE)
def test_without_its_adapter_the_vectors_are_those_of_the_model(
    unadapted: MultilingualE5, role: Role, text: str, expected: list[float]
) -> None:
    """Rule: to within what rounding costs, the numbers are those of a program written by others."""
    np.testing.assert_allclose(unadapted.embed([text], role)[0, :8], expected, atol=0.003)


def test_the_adapter_changes_the_vectors_and_so_the_name_they_are_stored_under(
    e5: MultilingualE5, unadapted: MultilingualE5
) -> None:
    assert e5.name != unadapted.name
    assert e5.embed(["Where is my money?"])[0] @ unadapted.embed(["Where is my money?"])[0] < 0.99


def test_the_adapter_reads_a_mail_that_tells_what_happened(e5: MultilingualE5, unadapted: MultilingualE5) -> None:
    """Rule: a customer's words are nearer to the page that answers them than to one that shares a word with them."""
    asked = "the code thing on my phone is gone with the old handset"
    pages = (
        "Two-factor authentication: Lost device. Sign in with one of your ten recovery codes.",
        "Prices of phones.",
    )
    ahead = [float(np.subtract(*(one.embed(pages) @ one.embed([asked], "query")[0]))) for one in (unadapted, e5)]
    assert ahead[1] > max(0.1, 2 * ahead[0])


def test_a_question_is_not_a_passage(e5: MultilingualE5) -> None:
    """Rule: the role changes the vector, and a question is nearer to the passage that answers it."""
    refund, installer = "Refunds are paid within 30 days.", "The program needs Windows 11 or later."
    (question,) = e5.embed(["How long does it take until I have my money?"], "query")
    right, wrong = e5.embed([refund, installer], "passage")
    assert question @ right > question @ wrong
    assert e5.embed([refund], "query")[0] @ right < 0.999


def test_what_is_behind_the_limit_is_not_seen(e5: MultilingualE5) -> None:
    """Rule: also where one letter stands for many, and where each letter is a piece of its own."""
    for start in ("seat ", "\ufdfa", "\u4e82\u9f98 "):
        text = (start * MAX_CHARACTERS)[:MAX_CHARACTERS]
        short, long = e5.embed([text, f"{text} refund"], "query")
        np.testing.assert_allclose(short, long, atol=1e-5)
