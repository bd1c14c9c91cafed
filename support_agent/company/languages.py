"""Detects the likely languages of a text.

Invariant: the result is the same on every machine; nothing is sent or downloaded.
Checked by tests/unit/company/test_languages.py.
"""

from __future__ import annotations

from py3langid import rank  # type: ignore[import-untyped]

NEAR_NATS = 10.0
"""Languages are likely if their log-likelihood is within this many nats of the best."""
READ_CHARACTERS = 2_000
NORWEGIAN = {"nb": "no", "nn": "no"}


def likely_languages(text: str) -> tuple[str, ...]:
    """ISO 639 codes of the likely languages of a text, the likeliest first; empty if none is recognised.

    Related languages often cannot be distinguished in a short question: "Total de 2023, por favor" is Portuguese and
    Spanish.
    """
    ranked: list[tuple[str, float]] = rank(text[:READ_CHARACTERS])  # the first use loads the packaged model, 5 MB
    best = ranked[0][1]
    near = [NORWEGIAN.get(code, code) for code, score in ranked if best - score <= NEAR_NATS]
    has_nothing = len(ranked) > 1 and best == ranked[-1][1]
    return () if has_nothing else tuple(dict.fromkeys(near))


def known_languages() -> frozenset[str]:
    """ISO 639 codes of all languages that can be detected."""
    return frozenset(NORWEGIAN.get(code, code) for code, _ in rank(""))
