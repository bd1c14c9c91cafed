"""Periods in the languages that are read by a table."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.periods.reader import reader_of
from support_agent.company.periods.recognition import (
    has_inexpressible_period,
    is_readable,
    mentioned_periods,
    periods,
    without_now,
)
from support_agent.company.periods.spaceless import SPACELESS, spaceless_reader_of
from support_agent.company.periods.table import TABLES

TODAY = date(2025, 11, 21)
SETS = Path(__file__).parents[3] / "data" / "periods"
NAMED_RIGHT = 0.9
"""Of the questions that name a period of the set; measured: 101 of 106 and 99 of 107."""


def read(text: str, today: date = TODAY) -> str:
    """The names, or "person"."""
    names = mentioned_periods(text, today)
    goes_to_person = has_inexpressible_period(text, today) or not (names or is_readable(text))
    return "person" if goes_to_person else " ".join(names)


@pytest.mark.parametrize("name", ["development", "reported"])
def test_no_wrong_period_is_read_in_the_measured_questions(name: str) -> None:
    """24 languages, a third of the questions with no period or one that the set lacks: doubt goes to a person."""
    right = named = 0
    for line in (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        today = date.fromisoformat(row["today"])
        days = {period.name: (period.first, period.last) for period in periods(today)}
        given = read(row["text"], today)
        if given != "person":
            assert not row["inexpressible"], row
            assert {days[one] for one in given.split()} == {days[one] for one in row["periods"]}, row
        named += bool(row["periods"])
        right += bool(row["periods"]) and given != "person"
    assert right >= NAMED_RIGHT * named


@pytest.mark.parametrize(
    "text",
    (SETS / "doubtful.txt").read_text(encoding="utf-8").splitlines(),
)
def test_a_word_that_makes_a_period_another_sends_it_to_a_person(text: str) -> None:
    """Each names a period of the set beside a word, or in a case, that it must not be read without."""
    assert read(text) == "person"


@pytest.mark.parametrize(
    "text",
    [
        "Ninelipa kiasi gani tangu 2024?",
        "tangu machi 2025",
        "Bao nhiêu từ tháng 3 năm 2025?",
        "Zenbat ordaindu dugu 2024tik?",
        "כמה שילמנו מאז 2024?",
        "2024 के बाद हमने कितना भुगतान किया?",
        "Wéivill hu mir zënter 2024 bezuelt?",
    ],
)
def test_a_language_without_a_table_goes_to_a_person(text: str) -> None:
    """Nobody here knows which of its words means "since"."""
    assert read(text) == "person"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Quel est mon total par mois en 2024 ?", "2024"),
        ("Combien ai-je payé en 2024 et 2023 ?", "2024 2023"),
        ("Dzień dobry, ile zapłaciłem w zeszłym roku?", "last_year"),
        ("Dobrý den, kolik jsem zaplatil v březnu?", "2025-03"),
        ("Hur mycket betalade vi i mars och april?", "2025-03 2025-04"),
        ("Ile zapłaciłem w czerwcu i w lipcu?", "2025-06 2025-07"),
        ("Combien ai-je payé en fevrier 2025 ?", "2025-02"),
        ("Mennyit fizettünk 2025. márciusban?", "2025-03"),
    ],
)
def test_what_is_said_whole_is_read(text: str, names: str) -> None:
    """Rhythms, greetings and words about now are no periods; accents may be missing."""
    assert read(text) == names


def test_the_same_word_in_two_languages_is_read_in_the_right_one() -> None:
    """ "Listopad" is October in Croatian and November in Polish."""
    assert read("Koliko smo potrošili u listopadu 2024.?") == "2024-10"
    assert read("Ile wydaliśmy w listopadzie 2024?") == "2024-11"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Quel est mon forfait aujourd\u2019hui ?", "Quel est mon forfait"),
        ("What is my plan today?", "What is my plan"),
        ("Jaki mam dzisiaj plan?", "Jaki mam"),
    ],
)
def test_words_that_ask_for_now_are_taken_out(text: str, rest: str) -> None:
    """A field has the value of now, so "today" asks for no other time."""
    assert without_now(text).startswith(rest)
    assert not has_inexpressible_period(without_now(text), TODAY)


@given(st.text(max_size=80), st.sampled_from(sorted(TABLES)))
def test_no_text_breaks_a_reader(text: str, language: str) -> None:
    """Offsets stay within the text, whatever stands in it."""
    reader = spaceless_reader_of(language) if language in SPACELESS else reader_of(language)
    mentions, _ = reader.read(text, TODAY)
    assert all(mention.start < mention.end for mention in mentions)


def test_a_long_hostile_text_is_read_in_time() -> None:
    """Bounded repetitions: a mail of words that stand before periods does not keep a process busy."""
    reader_of("fr")
    started_at = time.process_time()
    for words in ("mars du mois de du mois de ", "et ", "de ", "mars 2024 ", "1 ", "' "):
        reader_of("fr").read(words * (20_000 // len(words)), TODAY)
    assert time.process_time() - started_at < 20
