"""Estimates from the question alone what would answer it: a document, a value of the customer's account, or a person.

The vote is a multinomial logistic regression on the vectors of the question, of which only the weights ship
(`answer_kinds.json`, written by `python -m tests.benchmarks.answer_kinds --fit` from questions to made-up companies in
eight languages). A question counted for a person if nothing at its company answered it: a request to do something, a
complaint, a neighbouring service, a detail. No words are listed. The combiner weighs the result with what the
company's own texts say.

Invariant: without weights for the embedders, and where a vector is not finite, the log-odds are 0. Checked by
tests/unit/facts/test_answer_kinds.py; measured by `python -m tests.benchmarks.answer_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from support_agent.config.embedding import EMBEDDERS, set_name
from support_agent.core.frozen import Frozen
from support_agent.models.embedding.port import Vectors

WEIGHTS_FILE = "answer_kinds.json"
KINDS = ("account", "person")
MOST_LOG_ODDS = 6.0
"""Odds of 400 to 1: the vote is never surer."""


class KindWeights(Frozen):
    """For each kind a weight per input, in the order of `inputs`, and last the constant."""

    version: str
    account: tuple[float, ...]
    person: tuple[float, ...]


def log_odds(vectors: Mapping[str, Vectors]) -> NDArray[np.float64]:
    """The natural logarithm of the odds of each of `KINDS` against a document, shape (texts, 2).

    Args:
        vectors: Of the same texts by each embedder, in the role of a question.
    """
    x = inputs(vectors)
    weights = _columns(set_name(vectors))
    if weights is None:
        return np.zeros((len(x), len(KINDS)))
    odds = x @ weights
    return np.where(np.isfinite(odds), np.clip(odds, -MOST_LOG_ODDS, MOST_LOG_ODDS), 0.0)


def kinds_version(embedders: Iterable[str]) -> str:
    """Changes with the weights for these embedders; "" without any."""
    weights = committed().get(set_name(embedders))
    return weights.version if weights else ""


def inputs(vectors: Mapping[str, Vectors]) -> NDArray[np.float64]:
    """The inputs of the vote: the vectors side by side and 1, shape (texts, inputs).

    Args:
        vectors: By embedder, a row per text.
    """
    columns = [vectors[name].astype(np.float64) for name in EMBEDDERS if name in vectors]
    return np.hstack([*columns, np.ones((len(columns[0]), 1))])


@cache
def _columns(models: str) -> NDArray[np.float64] | None:
    """The weights of a set of embedders, a column for each of `KINDS`; None: none were fitted for it."""
    weights = committed().get(models)
    return np.array([weights.account, weights.person]).T if weights else None


@cache
def committed() -> Mapping[str, KindWeights]:
    """The weights that ship, by the names of the embedders."""
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    return TypeAdapter(dict[str, KindWeights]).validate_json(text)
