"""Splits a text into the pieces of a unigram vocabulary, like SentencePiece, in memory-safe Python.

The pieces of a word are those with the highest sum of scores (Kudo 2018, Subword regularization, section 3.2: the
Viterbi algorithm). This implementation stores the vocabulary in 20 MB, a general library in 200 MB.

Invariant: the work is bounded by the text's length times the longest piece's, and a customer's text never becomes a
marker ("</s>"). tests/unit/models/embedding/test_unigram.py checks it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

SPACE = "\u2581"
"""Stands for the white space before a word."""
UNKNOWN_PENALTY = 10.0
"""Penalty of an unknown character below the worst piece; SentencePiece's constant."""


class Unigram:
    """The vocabulary, and the table of character replacements."""

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        *,
        unknown: int,
        markers: Sequence[int],
        replacements: Mapping[int, str],
    ) -> None:
        """Keep the vocabulary.

        Args:
            unknown: The number for a run of unknown characters.
            markers: Numbers of pieces that texts never get.
            replacements: The replacement of a character, by its code point; "" removes it.
        """
        hidden = {unknown, *markers}
        self._numbers = {piece: number for number, piece in enumerate(pieces) if number not in hidden}
        self._scores = scores
        self._unknown = unknown
        self._unknown_score = min(scores) - UNKNOWN_PENALTY
        self._longest = max(map(len, self._numbers))
        self._replacements = replacements

    def encode(self, text: str, most_characters: int) -> list[int]:
        """The numbers of the text's pieces; reads the first `most_characters` characters after replacements."""
        plain = text.translate(self._replacements)[:most_characters]
        return [number for word in plain.split() for number in self._word(SPACE + word)]

    def _word(self, word: str) -> Iterator[int]:
        """The best pieces of one word, in order; adjacent unknown characters are one unknown piece."""
        best = [0.0] + [-math.inf] * len(word)
        # For the best split up to each position: the start of its last piece, and the piece.
        steps = [(0, 0)] * (len(word) + 1)
        for start in range(len(word)):
            if best[start] + self._unknown_score > best[start + 1]:
                best[start + 1], steps[start + 1] = best[start] + self._unknown_score, (start, self._unknown)
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                number = self._numbers.get(word[start:end])
                if number is not None and (score := best[start] + self._scores[number]) > best[end]:
                    best[end], steps[end] = score, (start, number)
        path, end = [], len(word)
        while end:
            end, number = steps[end]
            path.append(number)
        before = None
        for number in reversed(path):
            if number != self._unknown or before != self._unknown:
                yield number
            before = number
