"""What the documents name, told from how they are written."""

from __future__ import annotations

from support_agent.company.vocabulary import Vocabulary, vocabulary_of
from tests.unit.tools.fakes import document

MAC = "Open Harborfile. If Gatekeeper stops it, allow Gatekeeper once. Then Gatekeeper is quiet. Error HF-M07 ends it."
LINUX = "Start Harborfile from a shell. The error HF-L03 means that a watch is missing."


def test_a_word_of_most_documents_goes_without_saying() -> None:
    made = vocabulary_of([document(1, MAC), document(2, LINUX), document(3, LINUX)])
    assert "harborfile" in made.common
    assert "harborfile" not in made.names


def test_of_two_documents_nothing_goes_without_saying() -> None:
    assert vocabulary_of([document(1, MAC), document(2, LINUX)]).common == frozenset()


def test_a_language_with_capital_nouns_shows_no_names() -> None:
    german = "Ein Konto hat ein Passwort. Das Konto bleibt. Wer ein Konto hat, kann das Konto und ein Passwort ändern."
    assert vocabulary_of([document(1, german), document(2, german)]).names == frozenset()


def test_a_word_that_always_has_a_capital_within_sentences_is_a_name() -> None:
    made = vocabulary_of([document(1, MAC), document(2, LINUX), document(3, "Nothing of the kind.")])
    assert "gatekeeper" in made.names
    assert "error" not in made.names


def test_the_kinds_of_codes_are_known() -> None:
    assert vocabulary_of([document(1, MAC)]).codes == {"hf-m00"}


def test_a_company_without_documents_names_nothing() -> None:
    assert vocabulary_of([]) == Vocabulary()
