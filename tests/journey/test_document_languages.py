"""A document in several languages, from a mail to what is sent, and back: `show`, `why` and `replay`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.answer.verification import Verifier
from support_agent.core.findings import Severity
from support_agent.errors import GateRefused
from support_agent.facts.topics import topics_of
from support_agent.ops.check import check
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import replay
from support_agent.outbound.rendered_mail import answer_mail
from support_agent.store.records import MailId, OutgoingKind
from tests.fakes_journey import ANNA, JAMES, TODAY, Office, make_company, office_in, write
from tests.fakes_room import LikelyRooms

CAMILLE = "camille.laurent@example.com"
"""Of the locale fr-FR."""
GERMAN_LINE = "Dieses Dokument gibt es nicht in Ihrer Sprache: Es ist auf Englisch verfasst."
FRENCH_LINE = "Ce document n'est pas disponible dans votre langue\u00a0: il est rédigé en anglais."


@pytest.fixture
def office(empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    with office_in(tmp_path, make_company(tmp_path), empty_store) as opened:
        yield opened.with_rooms(LikelyRooms())


def answered(office: Office, text: str, sender: str) -> MailId:
    mail_id, outcome = office.handle(write(text, sender=sender))
    assert outcome == "answered"
    return mail_id


def bodies(office: Office, mail_id: MailId) -> tuple[str, str]:
    """Text and HTML of the answer to a mail."""
    mail = message_from_bytes(office.sent(mail_id)[OutgoingKind.ANSWER].raw, policy=policy.default)
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    return plain.get_content(), html.get_content().replace("&#39;", "'")


def item_of(office: Office, mail_id: MailId) -> DocumentItem:
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    (answer,) = FinalAnswer.model_validate(record.payload).answers
    (item,) = answer.items
    assert isinstance(item, DocumentItem)
    return item


@pytest.mark.parametrize(
    ("sender", "language", "title", "greeting"),
    [
        (CAMILLE, "fr", "Politique de remboursement", "Bonjour Camille Laurent"),
        (ANNA, "de", "Rückerstattungen", "Guten Tag Anna Keller"),
        (JAMES, "en", "Refund policy", "Hello James Okafor"),
    ],
)
def test_customers_get_the_document_in_the_language_of_their_mail(
    office: Office, sender: str, language: str, title: str, greeting: str
) -> None:
    """One number and one call for all of them; each version has its own title, address and hash."""
    mail_id = answered(office, "refund?", sender)
    item = item_of(office, mail_id)
    texts = {text.language: text for text in office.decider.company.texts if text.number == 1}
    assert (item.number, item.language, item.version) == (1, language, texts[language].version)
    for body in bodies(office, mail_id):
        assert greeting in body
        assert title in body
        assert texts[language].head.url in body
        assert not {GERMAN_LINE, FRENCH_LINE} & set(body.splitlines())


@pytest.mark.parametrize(("sender", "line"), [(ANNA, GERMAN_LINE), (CAMILLE, FRENCH_LINE)])
def test_what_is_not_translated_says_its_language(office: Office, sender: str, line: str) -> None:
    """Document 2 is in English alone: a fixed line of the template names the language, in text and HTML."""
    mail_id = answered(office, "How do I cancel?", sender)
    assert item_of(office, mail_id).language == "en"
    for body in bodies(office, mail_id):
        assert "Cancellation policy" in body
        assert line in body


def test_a_reader_of_the_documents_own_language_is_told_nothing(office: Office) -> None:
    for body in bodies(office, answered(office, "How do I cancel?", JAMES)):
        assert "in your language" not in body


def test_every_version_is_stored_and_replays_to_the_same_bytes(office: Office) -> None:
    """Also after the translations are gone: what was sent is what is stored."""
    office.keep_company()
    ids = [answered(office, text, CAMILLE) for text in ("refund?", "How do I cancel?")]
    shutil.rmtree(office.settings.company.policies, ignore_errors=True)
    assert [entry.problems for entry in replay(office.store, ids)] == [(), ()]
    assert all(entry.is_identical for entry in replay(office.store, ids))


def test_an_answer_without_a_language_replays_as_it_was_sent(office: Office) -> None:
    """Those that were stored before documents had one say none, in no template."""
    mail_id = answered(office, "How do I cancel?", ANNA)
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    final = FinalAnswer.model_validate(record.payload)
    old = final.model_dump(mode="json")
    del old["answers"][0]["items"][0]["language"]
    loaded = FinalAnswer.model_validate(old)
    verifier = Verifier(
        {text.version: text.model_copy(update={"language": None}) for text in office.decider.company.texts}.get
    )
    rendered = answer_mail(loaded, office.decider.templates, verifier)
    assert GERMAN_LINE not in rendered.text
    assert rendered.text == answer_mail(final, office.decider.templates, verifier).text.replace(f"{GERMAN_LINE}\n", "")


def test_show_and_why_say_the_language(office: Office) -> None:
    office.keep_company()
    mail_id = answered(office, "refund?", CAMILLE)
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    item = item_of(office, mail_id)
    (sent,) = timeline(office.store, mail.case_id).mails[0].sent
    assert sent.items[0].source.startswith(f"document 1 (fr), version {item.version[:12]} of 2026-01-01")
    (explained,) = why(office.store, mail.case_id)
    sources = [source for line in explained.lines for source in line.sources if source.kind == "document"]
    assert {source.language for source in sources} == {"fr"}
    assert all(source.what.startswith("document 1 (fr), version ") for source in sources)


@pytest.mark.parametrize("language", ["en", None])
def test_the_gate_refuses_a_wrong_language(office: Office, language: str | None) -> None:
    """It is the folder's, which nothing else may say."""
    mail_id = answered(office, "refund?", CAMILLE)
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    final = FinalAnswer.model_validate(record.payload)
    forged = item_of(office, mail_id).model_copy(update={"language": language})
    answers = (final.answers[0].model_copy(update={"items": (forged,)}),)
    verifier = Verifier.of(office.decider.company)
    with pytest.raises(GateRefused, match="or language than the answer says"):
        answer_mail(final.model_copy(update={"answers": answers}), office.decider.templates, verifier)


def test_a_template_that_hides_the_language_is_refused(office: Office) -> None:
    """Whoever gets a text that they cannot read is told why."""
    mail_id = answered(office, "How do I cancel?", ANNA)
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    files = office.decider.templates.as_files()
    for name in ("de/document.txt.j2", "de/document.html.j2"):
        files[name] = files[name].replace("item.foreign_language %}", "item.foreign_language and false %}")
    templates = type(office.decider.templates).from_files(files)
    with pytest.raises(GateRefused, match="does not say document answer=0 item=0 number=2 part=language"):
        answer_mail(FinalAnswer.model_validate(record.payload), templates, Verifier.of(office.decider.company))


def test_a_question_finds_a_document_by_its_words_in_any_language(office: Office) -> None:
    """All of them are one topic: the number is what a call names."""
    (topic,) = [topic for topic in topics_of(office.decider.company) if topic.key == "document:1"]
    titles = {section.partition(":")[0] for section in topic.sections}
    assert {"Refund policy", "Rückerstattungen", "Politique de remboursement"} <= titles


def test_check_names_documents_of_a_language_without_templates(office: Office) -> None:
    """Answers are in the language of the templates, so nobody would be sent them."""
    company = office.settings.company
    shutil.rmtree(company.templates / "fr")
    findings = [f for f in check(office.settings, TODAY) if f.path == company.policies / "fr"]
    assert [(f.severity, f.what) for f in findings] == [
        (Severity.WARNING, "there are no templates for 'fr', so no customer gets the documents in it")
    ]
