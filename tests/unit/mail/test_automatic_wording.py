# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""S2, by wording alone: automatic replies without a mark, and customers who are away and ask."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.mail.automatic_wording import is_automatic_subject, may_match, why_automatic
from support_agent.mail.automatic_words import (
    ABSENT,
    ABSENT_HINTS,
    AUTOMATIC_PREFIXES,
    CHALLENGE,
    CHALLENGE_HINTS,
    RECEIPT,
    RECEIPT_HINTS,
    SAYS_SO,
    SAYS_SO_HINTS,
)


@pytest.mark.parametrize(
    "subject",
    [
        "Automatic reply: Refund",
        "Out of Office: Refund",
        "Re: Out of office",
        "AutoReply: Refund",
        "[Auto-Reply] Refund",
        "Auto: Tom Berg is out of the office",
        "OOO: back on Monday",
        "On annual leave until 23 March",
        "I am on vacation",
        "Automatische Antwort: Erstattung",
        "Abwesenheitsnotiz: Erstattung",
        "Réponse automatique : remboursement",
        "Respuesta automática: reembolso",
        "Risposta automatica: rimborso",
        "Resposta automática: reembolso",
        "Automatisch antwoord: terugbetaling",
        "Autosvar: återbetalning",
        "Автоответ: возврат",
        "自動返信: 返金",
        "We have received your message",
        "Odpowiedź automatyczna: zwrot",
        "Automatyczna odpowiedź: zwrot",
        "Házon kívül: kérdés",
        "Răspuns automat: întrebare",
        "Αυτόματη απάντηση: ερώτηση",
        "Автоматична відповідь: питання",
        "Автоматичен отговор: въпрос",
        "Automatski odgovor: pitanje",
        "Samodejni odgovor: vprašanje",
        "Automaatvastus: küsimus",
        "Automātiska atbilde: jautājums",
        "Automatinis atsakymas: klausimas",
        "ตอบกลับอัตโนมัติ: คำถาม",
        "Trả lời tự động: câu hỏi",
        "Balasan otomatis: pertanyaan",
        "Resposta automàtica: pregunta",
        "תשובה אוטומטית: שאלה",
        "رد تلقائي: سؤال",
        "回复：问题 [自动回复]",
        "Re: question (Out of Office)",
        "Read: question",
        "[example.org #12] AutoReply: question",
    ],
)
def test_s2_a_subject_that_says_so_is_an_automatic_replys(subject: str) -> None:
    assert why_automatic(subject, "")


@pytest.mark.parametrize(
    "text",
    [
        "I am out of the office until 23 March.\nPlease contact tom.berg@example.org.",
        "Thank you for your mail. I am currently on vacation and will be back on Monday.",
        "This is an automated response. Your request has been received.",
        "Please do not reply to this email.",
        "Ich bin bis 23. März nicht im Büro. In dringenden Fällen wenden Sie sich bitte an Tom Berg.",
        "Dies ist eine automatisch generierte Nachricht.",
        "Je suis absente jusqu'au 23 mars.",
        "Estoy fuera de la oficina hasta el 23 de marzo.",
        "Ceci est une réponse automatique.",
        "Ich befinde mich derzeit im Urlaub und bin ab dem 23.03. wieder erreichbar.",
        "Bonjour,\nActuellement en congés, je prendrai connaissance de votre message à mon retour.",
        "Hola, actualmente me encuentro de vacaciones y regresaré el 20 de marzo.",
        "Olá, estarei de férias até 20 de março.",
        "Hej! Jag är på semester och åter på kontoret den 20 mars.",
        "Hei, olen lomalla 20.3. asti.",
        "Dzień dobry, przebywam na urlopie do 20 marca.",
        "您好，我正在休假中，3月20日回来。",
        "I no longer work at Example Inc. Please contact info@example.org.",
        "Please click the link to confirm you are human and your message will be delivered.",
        "Please confirm that you are a person: https://example.org/?id=1 and we deliver your message.",
        "Click here to release your message: https://example.org/?id=1",
        "We have received your request, your ticket number is 4711.",
        "Your request (#12345) has been received and is being reviewed.",
        "Dear customer, your ticket has been created. We answer within 24 hours.",
    ],
)
def test_s2_a_text_that_says_so_is_an_automatic_replys(text: str) -> None:
    assert why_automatic("Re: Refund", text)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("Refund", "How do I get a refund?"),
        ("Change of plan", "I am on holiday until Monday. Can I change my plan from here?"),
        ("Change of plan", "I am on vacation until Monday, please pause my subscription."),
        ("Plan", "Ich bin bis Montag im Urlaub und möchte wissen, ob ich kündigen muss. Können Sie helfen?"),
        ("Vacation hold for my account", "Please hold it."),
        ("I am on vacation and cannot log in", "It says no."),
        ("Re: We have received your message", "And what now?"),
        ("Automatic renewal", "I did not ask for it."),
        ("Office licence", "We need five more."),
        ("Out of office hours support?", "Do you offer it?"),
        ("Auto-reply settings", "My auto reply does not work since the update."),
        ("Away message not shown", "The app does not show my away message."),
        ("Urlaub: Abo pausieren", "Bitte das Abo bis Mai pausieren."),
        ("Thank you for your message", "The file is still missing, see below."),
        ("Thank you for contacting me", "The invoice is still wrong."),
        ("Automatic confirmation mail missing", "I did not get one."),
        ("Abwesenheit im Kalender eintragen", "Der Kalender zeigt meine Abwesenheit nicht."),
        ("Re: Refund", "We have received your message and the invoice is still wrong."),
    ],
)
def test_a_customer_who_is_away_or_writes_of_machines_is_none(subject: str, text: str) -> None:
    assert why_automatic(subject, text) == ""


def test_a_long_mail_is_not_taken_for_a_notice() -> None:
    assert why_automatic("Re: Refund", "I am out of the office until Monday. " + "This is my story. " * 300) == ""


@pytest.mark.parametrize(
    ("pattern", "hints"),
    [(SAYS_SO, SAYS_SO_HINTS), (ABSENT, ABSENT_HINTS)],
)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_each_match_has_a_hint(pattern: re.Pattern[str], hints: tuple[str, ...], data: st.DataObject) -> None:
    """A wording that is added without its hint would never be found."""
    text = data.draw(st.from_regex(pattern, alphabet=st.characters(max_codepoint=127)))

    assert may_match(text, hints)


@pytest.mark.parametrize(
    "text",
    [
        "I am out of town",
        "I'm out of the country",
        "I will be on holiday",
        "I'll be on sabbatical",
        "Ich bin abwesend",
        "Diese Woche bin ich im Urlaub",
        "Heute bin ich auser Haus",
    ],
)
def test_what_is_seldom_made_up_has_a_hint_too(text: str) -> None:
    assert ABSENT.search(text)
    assert may_match(text, ABSENT_HINTS)


@pytest.mark.parametrize(
    ("pattern", "hints", "text"),
    [
        (RECEIPT, RECEIPT_HINTS, "We've received your message, ticket 4711"),
        (RECEIPT, RECEIPT_HINTS, "Your mail was received. Your case: 4711"),
        (RECEIPT, RECEIPT_HINTS, "Your request was registered"),
        (RECEIPT, RECEIPT_HINTS, "Your ticket was logged"),
        (RECEIPT, RECEIPT_HINTS, "Your case was opened"),
        (RECEIPT, RECEIPT_HINTS, "Your ticket has been created"),
        (RECEIPT, RECEIPT_HINTS, "Ihre Anfrage ist eingegangen, Ihr Ticket ist 4711"),
        (RECEIPT, RECEIPT_HINTS, "Ihre Nachricht haben wir erhalten, Ihr Vorgang ist 4711"),
        (RECEIPT, RECEIPT_HINTS, "Votre demande a bien ete prise en compte"),
        (RECEIPT, RECEIPT_HINTS, "Hemos recibido su mensaje"),
        (CHALLENGE, CHALLENGE_HINTS, "Verify that you are a real person to send this message"),
        (CHALLENGE, CHALLENGE_HINTS, "Prove being human, then your mail arrives"),
        (CHALLENGE, CHALLENGE_HINTS, "Authenticate yourself as sender of your e-mail"),
        (CHALLENGE, CHALLENGE_HINTS, "Reply to unblock your message"),
        (CHALLENGE, CHALLENGE_HINTS, "Press here to deliver this message"),
        (CHALLENGE, CHALLENGE_HINTS, "Klicken Sie hier, dann wird Ihre E-Mail zugestellt"),
        (CHALLENGE, CHALLENGE_HINTS, "Klicken Sie hier, dann wird Ihre Nachricht freigegeben"),
    ],
)
def test_a_receipt_and_a_challenge_have_a_hint(pattern: re.Pattern[str], hints: tuple[str, ...], text: str) -> None:
    assert pattern.search(text)
    assert may_match(text, hints)


@pytest.mark.parametrize("prefix", AUTOMATIC_PREFIXES)
def test_s2_a_programs_prefix_is_followed_by_a_colon_or_by_nothing(prefix: str) -> None:
    """The same words within a subject are a person's."""
    assert all(map(is_automatic_subject, (f"{prefix.title()}: Refund", prefix, f"Re: Refund [{prefix}]")))
    assert not is_automatic_subject(f"{prefix} in my calendar")
    assert not is_automatic_subject(f"My question about {prefix}: what is it?")
