"""The answer comparator: is a reference answer contained in what was found? By its words, and by the model's yes or no.

The two are told apart and never mixed: the words find no answer that is said in other words, the model believes some
that are wrong. By its words an answer is contained where they stand in the text one after the other, numbers and dates
by their value: "1,000" is 1000, "thirty" is 30, "November 5th, 2026" is 2026-11-05, and an answer may leave out the
year; capitals, accents, punctuation and articles do not count. Checked by
tests/unit/benchmarks/papers/test_comparator.py.
Source: the answer comparator of LLM-ENHANCER.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from support_agent.company.periods.words import MONTH_NUMBERS, SHORT_MONTH_NUMBERS
from support_agent.core.frozen import Frozen
from support_agent.facts.inquiry.claims import AMBIGUOUS_NAMES, NUMBER_NAMES
from support_agent.models.judge import Judge

CONTAINED_ASK = "Does the text give the right answer to the question?"
YES = 0.5
"""From this probability on the model says yes."""
ARTICLES = frozenset(["a", "an", "the"])

_PIECE = re.compile(
    r"(?P<iso>(?<!\d)\d{4}-\d{2}-\d{2}(?!\d))|(?P<dotted>(?<![\d.])\d{1,2}\.\d{1,2}\.\d{4}(?!\d))"
    r"|(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+)"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ORDINALS = frozenset(["st", "nd", "rd", "th", "of", "de"])
"""What stands between a day and its month."""
_DAYS = {str(day): day for day in range(1, 32)}


class Comparison(Frozen):
    """Whether a text contains a reference answer: by its words, and by the model, 0..1; None: it was not asked."""

    by_words: bool
    by_model: float | None = None

    @property
    def is_right_by_model(self) -> bool:
        """Whether the model was asked and said yes."""
        return self.by_model is not None and self.by_model >= YES


def compare(question: str, references: Sequence[str], text: str, judge: Judge | None = None) -> Comparison:
    """Whether a text contains one of the reference answers.

    Args:
        question: What was asked.
        references: Right answers, any of which will do, 1 or more.
        text: What was found; where it is empty the model is not asked.
        judge: The model; None: only words are compared.
    Raises:
        SupportAgentError: as the judge.
    """
    by_words = is_contained(references, text)
    if judge is None:
        return Comparison(by_words=by_words)
    if not text.strip():
        return Comparison(by_words=by_words, by_model=0.0)
    material = [("Question", question), ("Right answer", " / ".join(references)), ("Text", text)]
    return Comparison(by_words=by_words, by_model=judge.yes(CONTAINED_ASK, material).probability)


def is_contained(references: Sequence[str], text: str) -> bool:
    """Whether the words of one of the references stand in the text, whole and one after the other.

    A reference without a word in it is contained in nothing.
    """
    found = _pieces(text)
    dated = _with_dates(found)
    wanted = [_pieces(reference) for reference in references]
    return any(_stands_in(one, found) or _stands_in(_with_dates(one), dated) for one in wanted)


def _pieces(text: str) -> list[str]:
    """The words and numbers of a text, in one writing each; 2026-11-05 and 5.11.2026 are "--11-05", "2026".

    A comma parts thousands and a full stop decimals; 05/11/2026, which has two meanings, is three numbers.
    """
    pieces: list[str] = []
    for match in _PIECE.finditer(_folded(re.sub(r"['\u2019](?=\w)", "", text))):
        said = match.group()
        if match.lastgroup == "iso":
            pieces += (f"-{said[4:]}", said[:4])
        elif match.lastgroup == "dotted":
            day, month, year = said.split(".")
            pieces += (_day_token(int(month), int(day)), year)
        elif match.lastgroup == "number":
            pieces.append(_plain_number(said))
        elif said not in ARTICLES:
            pieces.append(_NUMBERS.get(said, said))
    return pieces


def _folded(text: str) -> str:
    """Small letters without their accents; one writing for what looks the same."""
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in spread if not unicodedata.combining(character))


_MONTHS = {_folded(name): number for name, number in {**SHORT_MONTH_NUMBERS, **MONTH_NUMBERS}.items()}
_NUMBERS = {_folded(name): value for name, value in NUMBER_NAMES.items() if name not in AMBIGUOUS_NAMES}


def _plain_number(said: str) -> str:
    """1,000.50 as 1000.5; what is no number, as 1.2.3, as it stands."""
    number = said.replace(",", "") if _GROUPED.fullmatch(said) else said
    whole, _, fraction = number.partition(".")
    if not whole.isdecimal() or not (fraction or "0").isdecimal():
        return said
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _day_token(month: int, day: int) -> str:
    return f"--{month:02}-{day:02}"


def _with_dates(pieces: Sequence[str]) -> list[str]:
    """The pieces, each day and named month as one; the year stays behind it, so that a date may be less exact."""
    bare = [piece for number, piece in enumerate(pieces) if not _is_filling(pieces, number)]
    found: list[str] = []
    start = 0
    while start < len(bare):
        one, other = bare[start], bare[start + 1] if start + 1 < len(bare) else ""
        day, month = (one, other) if one in _DAYS else (other, one)
        is_date = day in _DAYS and month in _MONTHS
        found.append(_day_token(_MONTHS[month], _DAYS[day]) if is_date else one)
        start += 2 if is_date else 1
    return found


def _is_filling(pieces: Sequence[str], number: int) -> bool:
    """Whether a piece is the "th" or "of" behind a number."""
    behind = number - 1
    while behind >= 0 and pieces[behind] in _ORDINALS:
        behind -= 1
    return pieces[number] in _ORDINALS and behind >= 0 and pieces[behind].isdecimal()


def _stands_in(wanted: Sequence[str], found: Sequence[str]) -> bool:
    n = len(wanted)
    return n > 0 and any(found[start : start + n] == wanted for start in range(len(found) - n + 1))
