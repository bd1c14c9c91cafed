"""`send_document` where the document has been translated: the fact room judges the one, the customer gets the other."""

from __future__ import annotations

from datetime import date

import pytest

from support_agent.answer.final_answer import DocumentItem
from support_agent.company.documents import Document
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import SendDocument
from support_agent.tools.base import Context
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from tests.fakes_room import ScriptedRoom, says
from tests.unit.tools.fakes import FakeSearch, context, document

GERMAN = """
## Frist

Erstattet wird innerhalb von 14 Tagen.

## Ausnahmen

Im App-Store gekauft? Fragen Sie dort.
"""
STRANGER = {"level": 2, "customer": None}


def in_language(text: Document, language: str) -> Document:
    return text.model_copy(update={"language": language})


def mail(translation: Document | None = None, **changes: object) -> Context:
    """A mail in German about document 1, of which there is a translation."""
    given = translation or in_language(document(1, GERMAN, title="Erstattung"), "de")
    original = in_language(document(1), "en")
    return context(documents={1: original}, **{"translations": {1: given}, "locale": "de", **changes})


def sent(of: Context) -> DocumentItem:
    item = SendDocument(number=1).run(of).item
    assert isinstance(item, DocumentItem)
    return item


def test_the_version_of_the_mails_language_is_sent_whole_by_itself() -> None:
    """Its own title, hash, sentences and language; the nearest section is looked for in it."""
    search = FakeSearch(scores={"App-Store": 0.9})
    item = sent(mail(search=search))
    assert (item.number, item.title, item.language) == (1, "Erstattung", "de")
    assert item.version == in_language(document(1, GERMAN, title="Erstattung"), "de").version
    assert [excerpt.text for excerpt in item.excerpts] == ["Im App-Store gekauft?", "Fragen Sie dort."]


def test_without_a_translation_the_document_says_its_own_language() -> None:
    assert sent(mail(translations={})).language == "en"


def test_the_fact_room_judges_by_the_document_itself() -> None:
    """Its sentences are those of the document; which sections of a translation go out, similarity says."""
    answered = RetrievalResult(reason=FindingReason.ANSWERED, evidence=(says(1, 7, grade=None),), index_version="1")
    room = ScriptedRoom({})
    item = sent(mail(room=room, findings={1: answered}, search=FakeSearch(scores={"Frist": 0.9})))
    assert [excerpt.heading for excerpt in item.excerpts] == ["Frist"]
    with pytest.raises(ToolCallRejected) as refused:
        SendDocument(number=1).run(mail(room=room))
    assert refused.value.code == "no_evidence"


@pytest.mark.parametrize("late", ["original", "translation"])
def test_neither_may_be_out_of_date(late: str) -> None:
    """A translation of a document that no longer holds is as wrong as the document."""
    today = date(2026, 1, 1)
    expired = in_language(document(1, valid_until="2025-12-31"), "en")
    held = mail(today=today, **({"translation": expired} if late == "translation" else {}))
    if late == "original":
        held.documents = {1: expired}
    with pytest.raises(ToolCallRejected) as refused:
        SendDocument(number=1).run(held)
    assert refused.value.code == "not_valid"


def test_what_is_for_customers_in_one_language_is_for_customers_in_all() -> None:
    """Such files are refused at load; the tool does not rely on it."""
    for_customers = in_language(document(1, GERMAN, audience="customers"), "de")
    with pytest.raises(ToolCallRejected) as refused:
        SendDocument(number=1).run(mail(for_customers, **STRANGER))
    assert refused.value.code == "level"
