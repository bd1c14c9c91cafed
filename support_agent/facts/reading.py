"""Classifies what a piece of a mail does, in any language: it greets, closes, asks or tells.

A fitted vote on the vector of the piece and on its question mark: multinomial logistic regression, of which only the
weights ship (`reading.json`, written by `python -m tests.benchmarks.cutting --fit`, from made sentences in eight
languages). No words are listed.

Checked by tests/unit/facts/test_reading.py; measured by `python -m tests.benchmarks.cutting`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from scipy.special import softmax  # type: ignore[import-untyped]

from support_agent.models.embedding.port import Vectors
from support_agent.tools.base import Acts

WEIGHTS_FILE = "reading.json"
ACTS = tuple(Acts.model_fields)
MARKS = "?\uff1f\u061f\u055e\u1367\u037e"
"""Question marks: Latin, full-width, Arabic, Armenian, Ethiopic, Greek; Greeks also write a semicolon."""
_CLOSING = " \n\t\"'\u201d\u2019\u00bb)]\u300d\u300f*_!"
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")
MARK_SCALE = 0.5
"""Scale of the question-mark feature, so that it weighs little beside the words."""
Floats = NDArray[np.float64]


def inputs(texts: Sequence[str], vectors: Vectors) -> Floats:
    """The inputs of the vote: the vectors, the question mark and 1, shape (texts, dimensions + 2)."""
    marks = [[MARK_SCALE * is_marked(text), 1.0] for text in texts]
    return np.hstack([vectors.astype(np.float64), np.array(marks).reshape(len(texts), 2)])


def is_marked(text: str) -> bool:
    """Whether a text ends with a question mark of any script, quotation marks and brackets aside."""
    bare = text.rstrip(_CLOSING)
    return bare.endswith(tuple(MARKS)) or (bare.endswith(";") and _GREEK.search(bare) is not None)


def acts_of(text: str, vector: Vectors, embedder: str) -> Acts:
    """The probability of each act; all equal if no weights were fitted for the embedder."""
    weights = committed().get(embedder)
    if weights is None:
        return Acts(**dict.fromkeys(ACTS, 1 / len(ACTS)))
    scores = weights @ inputs([text], vector[None])[0]
    return Acts(**dict(zip(ACTS, map(float, softmax(scores)), strict=True)))


@cache
def committed() -> Mapping[str, Floats]:
    """The weights that ship, by embedder: one row per act, one column per input."""
    text = files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    rows = TypeAdapter(dict[str, list[list[float]]]).validate_json(text)
    return {name: np.array(weights) for name, weights in rows.items()}
