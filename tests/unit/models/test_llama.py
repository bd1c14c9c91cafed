"""How the next token is chosen."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from support_agent.models.llama import MOST_LIKELY, choose_token

LOGITS = np.array([0.0, 2.0, 1.0, -5.0], dtype=np.float32)


def chosen(temperature: float, seed: int, logits: np.ndarray[tuple[int], np.dtype[np.float32]] = LOGITS) -> list[int]:
    random = np.random.default_rng(seed)
    return [choose_token(logits, temperature, random) for _ in range(400)]


def test_at_temperature_0_the_likeliest_is_taken_and_nothing_is_drawn() -> None:
    random = np.random.default_rng(1)
    state = random.bit_generator.state
    assert choose_token(LOGITS, 0.0, random) == 1
    assert random.bit_generator.state == state


def test_the_seed_alone_decides() -> None:
    assert chosen(1.0, 7) == chosen(1.0, 7) != chosen(1.0, 8)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_tokens_come_as_often_as_the_softmax_says(temperature: float) -> None:
    """exp(logit / temperature), normalised; a cooler text keeps more to the likeliest."""
    weights = np.exp(LOGITS.astype(np.float64) / temperature)
    share = chosen(temperature, 3).count(1) / 400
    assert share == pytest.approx(float(weights[1] / weights.sum()), abs=0.08)


def test_what_is_not_among_the_most_likely_is_never_taken() -> None:
    """151,000 unlikely tokens together are not likely."""
    logits = np.zeros(1000, dtype=np.float32)
    logits[:MOST_LIKELY] = 0.1
    assert max(chosen(2.0, 5, logits)) < MOST_LIKELY


def test_the_librarys_threads_sleep_while_they_wait() -> None:
    """Failure: the variable is set after the library was loaded, which reads it once and says here what it read."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    said = subprocess.run(
        [sys.executable, "-c", "import support_agent.models.llama"],
        env={**environment, "OMP_DISPLAY_ENV": "true"},
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    has_openmp = "OPENMP DISPLAY ENVIRONMENT BEGIN" in said
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in said or not has_openmp
