"""How many threads the language model computes with in a test, and in a program that a test starts."""

from __future__ import annotations

import os

VARIABLE = "SUPPORT_AGENT__MODEL__THREADS"
"""The setting `model.threads`."""


def model_threads() -> int:
    """0: one per core."""
    return int(os.environ.get(VARIABLE, "0"))
