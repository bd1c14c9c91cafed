"""Which languages a text is likely in."""

from __future__ import annotations

import pytest

from support_agent.company.languages import likely_languages


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How much did I pay last year?", "en"),
        ("Wie viel habe ich bezahlt?", "de"),
        ("Combien ai-je payé l'année dernière ?", "fr"),
        ("Ile zapłaciłem w zeszłym roku?", "pl"),
        ("Hva betalte jeg forrige måned?", "no"),
        ("先月いくら払いましたか", "ja"),
        ("Ninataka kujua nimelipa kiasi gani", "sw"),
    ],
)
def test_a_question_is_in_its_language(text: str, language: str) -> None:
    assert likely_languages(text)[0] == language


def test_near_relatives_are_all_likely() -> None:
    """ "Total de 2023, por favor" is Portuguese and Spanish."""
    assert {"pt", "es"} <= set(likely_languages("Total de 2023, por favor"))


@pytest.mark.parametrize("text", ["", "03/2025", "   ", "!?"])
def test_a_text_without_words_tells_no_language(text: str) -> None:
    assert likely_languages(text) == ()
