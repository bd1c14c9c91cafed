"""What is added to E5's weights: where a change is there, it is the product of its factors."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from support_agent.errors import ConfigError
from support_agent.models.embedding.adapter import ADAPTER_FILE, DOWN, UP, Adapter, packaged, read

WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)
FACTORS = {
    f"l4.q.{UP}": np.array([[1.0], [-2.0]], dtype=np.float32),
    f"l4.q.{DOWN}": np.array([[0.5, 0.0, 4.0]], dtype=np.float32),
}


def test_a_matrix_gets_its_change_and_no_other_does() -> None:
    learnt = Adapter(FACTORS)
    expected = np.add(WEIGHTS, [[0.5, 0.0, 4.0], [-1.0, 0.0, -8.0]])
    np.testing.assert_array_equal(learnt.changed("l4.q", WEIGHTS), expected)
    np.testing.assert_array_equal(learnt.changed("l4.k", WEIGHTS), WEIGHTS)


@pytest.mark.parametrize("part", [UP, DOWN])
def test_a_change_of_another_shape_or_half_of_one_is_an_error(part: str) -> None:
    """Rule: weights are never changed in part, and one number is not added to all of them."""
    for broken in (FACTORS[f"l4.q.{part}"][:, :1], FACTORS[f"l4.q.{part}"][:1]):
        if broken.shape != FACTORS[f"l4.q.{part}"].shape:
            with pytest.raises(ValueError, match="shape"):
                Adapter(FACTORS | {f"l4.q.{part}": broken}).changed("l4.q", WEIGHTS)
    with pytest.raises(ValueError, match="shape"):
        Adapter(FACTORS | {f"l4.q.{part}": FACTORS[f"l4.q.{part}"] * np.nan}).changed("l4.q", WEIGHTS)
    with pytest.raises(KeyError, match=r"down|up"):
        Adapter({f"l4.q.{part}": FACTORS[f"l4.q.{part}"]}).changed("l4.q", WEIGHTS)


def test_a_damaged_file_is_an_error_that_says_what_to_do() -> None:
    whole = files("support_agent.models.embedding").joinpath(ADAPTER_FILE).read_bytes()
    assert read(whole).version == packaged().version
    for damaged in (b"", b"no adapter", whole[:-100], whole[: len(whole) // 2], b"x" * 200 + whole[200:]):
        with pytest.raises(ConfigError, match="install it again"):
            read(damaged)


def test_the_adapter_that_ships_changes_the_upper_layers_alone() -> None:
    learnt = packaged()
    shapes = {"q": (384, 384), "k": (384, 384), "v": (384, 384), "ao": (384, 384), "fi": (1536, 384), "fo": (384, 1536)}
    for layer in range(12):
        for part, shape in shapes.items():
            zeros = np.zeros(shape, dtype=np.float32)
            is_changed = bool(np.any(learnt.changed(f"l{layer}.{part}", zeros)))
            assert is_changed == (layer >= 4), (layer, part)
    assert len(learnt.version) == 64
