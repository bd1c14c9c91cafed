"""Computes the probability of each option from the token probabilities of a server's call.

Unreported probability counts against the picked option, so missing data lowers confidence and never raises it. Checked
by tests/unit/models/test_token_probabilities.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

LEAST_SHARE = 1e-12
"""Probability of an option without a reported token, so that each has a logarithm."""


class Alternative(BaseModel):
    """A token the server could have written, and its log-probability."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    token: str
    logprob: float

    @property
    def probability(self) -> float:
        return math.exp(min(self.logprob, 0.0))


class Token(Alternative):
    """A token the server wrote, and the most likely ones in its place."""

    top_logprobs: tuple[Alternative, ...] | None = None


def option_log_probabilities(options: Sequence[str], picked: int, tokens: Sequence[Token]) -> tuple[float, ...] | None:
    """Log-probabilities of the options from the tokens that spell the picked one; normalised over them.

    At each token where several options are still possible, the written token is compared with the alternatives that
    lead to an option, and with the unreported probability, which counts for the other options. Tokens before the
    option, and those that follow from it, do not count.

    Returns:
        None if the tokens do not spell the picked option, or there are none.
    """
    text = "".join(token.token for token in tokens)
    found = _find(options, picked, text)
    if found is None:
        return None
    names, start = found
    shares = [0.0] * len(options)
    path, end = 1.0, 0
    for token in tokens:
        begin, end = end, end + len(token.token)
        if end <= start:
            continue
        spelled = text[start:begin]
        possible = {i: name for i, name in enumerate(names) if name.startswith(spelled)}
        if len(possible) == 1:
            break
        weights = _elsewhere(token, text[begin:start], spelled, possible, picked)
        total = token.probability + sum(weights.values()) or 1.0
        for i, weight in weights.items():
            shares[i] += path * weight / total
        path *= token.probability / total
    shares[picked] += path
    shares = [max(share, LEAST_SHARE) for share in shares]
    return tuple(math.log(share / sum(shares)) for share in shares)


def _find(options: Sequence[str], picked: int, text: str) -> tuple[list[str], int] | None:
    """The options in the server's JSON, with the closing quote; and the start of the picked one."""
    for is_ascii in (False, True):
        names = [json.dumps(option, ensure_ascii=is_ascii)[1:] for option in options]
        start = text.rfind('"' + names[picked]) + 1
        if start:
            return names, start
    return None


def _elsewhere(token: Token, before: str, spelled: str, possible: Mapping[int, str], picked: int) -> dict[int, float]:
    """The probability of the alternatives of a token, by the option that they lead to.

    `before` is the token's text before the option, `spelled` the part of the option in earlier tokens.
    """
    reported = {other.token: other.probability for other in token.top_logprobs or ()}
    reported.pop(token.token, None)
    unknown = max(0.0, 1.0 - token.probability - sum(reported.values()))
    weights = {i: 0.0 if i == picked else unknown / (len(possible) - 1) for i in possible}
    for other, probability in reported.items():
        if other.startswith(before):
            reached = spelled + other.removeprefix(before)
            leaves = [i for i, name in possible.items() if name.startswith(reached) or reached.startswith(name)]
            for i in leaves:
                weights[i] += probability / len(leaves)
    return weights
