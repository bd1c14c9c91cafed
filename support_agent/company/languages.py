"""Which languages a text is likely written in, for what is read in many languages.

Invariant: the same text has the same languages on every machine; nothing is sent and nothing is downloaded.
Checked by tests/unit/company/test_languages.py.
"""

from __future__ import annotations

from py3langid import rank  # type: ignore[import-untyped]

NEAR_NATS = 10.0
"""Languages whose log-likelihood is within so many nats of the best are all likely."""
READ_CHARACTERS = 2_000
NORWEGIAN = {"nb": "no", "nn": "no"}


def likely_languages(text: str) -> tuple[str, ...]:
    """ISO 639 codes of the languages that a text is likely in, the likeliest first; empty if nothing can be told.

    Near relatives are often not told apart in a short question, so several are given: "Total de 2023, por
    favor" is Portuguese and Spanish.
    """
    ranked: list[tuple[str, float]] = rank(
        text[:READ_CHARACTERS]
    )  # the model, 5 MB, comes with the package; its first use loads it
    best = ranked[0][1]
    near = [NORWEGIAN.get(code, code) for code, score in ranked if best - score <= NEAR_NATS]
    has_nothing = len(ranked) > 1 and best == ranked[-1][1]
    return () if has_nothing else tuple(dict.fromkeys(near))
