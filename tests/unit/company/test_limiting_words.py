"""The function words that narrow a question, in every language that has a table."""

from __future__ import annotations

import tomllib

import pytest

from support_agent.company.limiting_words import FILE, words_for

ONLY_AND_WITHOUT = {
    "en": ("How many seats do we use, only in the office?", "What did we pay without the tax last year?"),
    "de": ("Wie viele Plätze nutzen wir nur im Büro?", "Was haben wir letztes Jahr ohne die Steuer bezahlt?"),
    "fr": ("Combien de places utilisons-nous seulement au bureau ?", "Combien avons-nous payé sans la taxe ?"),
    "es": ("¿Cuántas plazas usamos solamente en la oficina?", "¿Cuánto hemos pagado sin los impuestos?"),
    "it": ("Quanti posti usiamo soltanto in ufficio?", "Quanto abbiamo pagato senza le tasse?"),
    "nl": ("Hoeveel plekken gebruiken we alleen op kantoor?", "Wat hebben we zonder de belasting betaald?"),
    "pt": ("Quantos lugares usamos apenas no escritório?", "Quanto pagámos sem os impostos no ano passado?"),
    "pl": ("Ile miejsc używamy tylko w biurze?", "Ile zapłaciliśmy bez podatku w zeszłym roku?"),
    "sv": ("Hur många platser använder vi bara på kontoret?", "Vad har vi betalat utan skatten förra året?"),
    "ru": ("Сколько мест мы используем только в офисе?", "Сколько мы заплатили без налога в прошлом году?"),
    "ja": ("事務所だけで使っている席はいくつですか。", "税金を除いて去年いくら支払いましたか。"),
}


@pytest.mark.parametrize("language", ONLY_AND_WITHOUT)
def test_what_keeps_alone_and_what_leaves_out_are_told_in_each_language(language: str) -> None:
    only, without = ONLY_AND_WITHOUT[language]
    assert any(words.only.search(only) for words in words_for(only))
    assert any(words.without.search(without) for words in words_for(without))
    assert not any(words.without.search(only) for words in words_for(only))


def test_a_negation_counts_where_it_sets_one_thing_against_another() -> None:
    """Behind a comma or at the start; "I can not find it" negates what is told."""
    (words,) = words_for("Which invoice was the largest of all of them, not the last one?")[:1]
    assert words.not_.search("The first invoice, not the last one")
    assert words.not_.search("Not the last one")
    assert not words.not_.search("I did not find the invoice")


def test_every_table_has_every_list() -> None:
    """A list that is missing would be a limit that nobody sees."""
    assert len(words_for("Hello there, how do I reset my password?")) >= 1
    assert FILE.read_text(encoding="utf-8").count("\nwithout = ") == FILE.read_text(encoding="utf-8").count("\n[")


def test_a_text_in_which_no_language_can_be_told_is_read_as_english() -> None:
    assert words_for("?")[0].only.search("only")


def test_no_phrase_keeps_alone_and_leaves_out_in_one_language() -> None:
    """It would be read as an exclusion where it is none."""
    for language, lists in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        phrases = [{part.strip() for part in lists[name].split("|")} for name in ("only", "without", "not", "others")]
        assert sum(map(len, phrases)) == len(set.union(*phrases)), language
