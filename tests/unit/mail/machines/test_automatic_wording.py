# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""S2, by wording alone: automatic replies without a mark, and customers who are away and ask."""

from __future__ import annotations

import pytest

from support_agent.mail.machines.automatic_wording import is_automatic_subject, why_automatic
from support_agent.mail.machines.automatic_words import AUTOMATIC_PREFIXES


@pytest.mark.parametrize(
    "subject",
    [
        "Automatic reply: Refund",
        "Out of Office: Refund",
        "Re: Out of office",
        "AutoReply: Refund",
        "[Auto-Reply] Refund",
        "OOO: back on Monday",
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
        "Diese E-Mail wurde automatisch versandt.",
        "Cet e-mail a été envoyé automatiquement.",
        "Este correo se ha enviado automáticamente.",
        "Questa e-mail è stata inviata automaticamente.",
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


@pytest.mark.parametrize(
    "text",
    [
        "I am out of the office until 23 March. Urgent? Please contact tom.berg@example.org.",
        "I am on leave until Monday. Need help sooner? Call +49 30 5550123.",
        "I am on parental leave. Could you please send it again to accounts@example.org?",
        'Your mail "Was ist mit meiner Rechnung?" came while I am on vacation.',
        "Ich bin bis 23. März nicht im Büro. Eilt es? Wenden Sie sich bitte an Tom Berg.",
        "Je suis en congé jusqu'au 23 mars. C'est urgent ? Merci de contacter tom.berg@example.org.",
        "Estoy de vacaciones hasta el 23. ¿Es urgente? Escriba a tom.berg@example.org.",
        "Sono in ferie fino al 23 marzo. Urgente? Contatti tom.berg@example.org.",
        "Ik ben met vakantie tot 23 maart. Haast? Mail naar tom.berg@example.org.",
        "Jag har semester. Brådskar det? Kontakta tom.berg@example.org.",
        "Przebywam na urlopie. Pilne? Proszę o kontakt: tom.berg@example.org.",
        "Я в отпуске до 23 марта. Срочно? Пишите: tom.berg@example.org.",
        "休暇をいただいております。お急ぎですか？ tom.berg@example.org までご連絡ください。",
        "Is it about an invoice? Then have its number ready.\n\nThis is an automatic reply.",
        "Haben Sie die Rechnung beigelegt?\n\nHinweis: Dies ist eine automatische Antwort.",
        "Ich bin im Urlaub. Dringend? Bitte Frau Meier anrufen.",
        "I am out of the office. Is it urgent? Tom Berg will help you.",
        "I'm on annual leave. Could you please wait until Monday?",
        "This is an automatic reply." + " Confidential, for its reader alone." * 120,
        "This message was generated automatically. Need help?",
    ],
)
def test_who_is_sent_to_somebody_else_is_asked_for_nothing(text: str) -> None:
    """The failure's story: 72 of 72 notices with a question mark or a polite request in them were answered."""
    assert why_automatic("Re: Refund", text)


def test_a_reply_that_quotes_its_own_subject_is_a_programs() -> None:
    """In any language; a customer who quotes a message of the program did not get it from our subject."""
    assert why_automatic("Re: Wo ist mein Ordner?", "Tap „Wo ist mein Ordner?“ kaydedildi.")
    assert why_automatic("Wo ist mein Ordner?", "Tap „Wo ist mein Ordner?“ kaydedildi.") == ""
    assert why_automatic("Re: Upload", 'It says "Upload" and nothing happens.') == ""
    assert why_automatic("Re: Upload failed", 'It says "Upload failed". What do I do?') == ""


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("Automatische Antwort", "Ihre automatische Antwort nützt mir nichts. Wo bleibt mein Geld?"),
        ("Automatic reply", "I keep getting your automatic reply. Could you tell me where my invoice is?"),
        ("Réponse automatique", "Votre réponse automatique est arrivée. Où est ma facture ?"),
        ("Out of office next week", "I'm out of the office from Monday. Can I give my deputy my rights?"),
        ("Urlaub", "Ich bin ab Montag im Urlaub. Wie lange bleiben meine Dateien erhalten?"),
        ("Re: Log files", "I am away until the 9th. Will the ticket stay open that long?"),
        ("Seat", "Anna Kell has left the company. Her seat should go to Tom Hall."),
        ("Compte", "Mon collègue ne travaille plus chez nous, supprimez son compte."),
        ("Konto", "Ich bin im Urlaub und komme nicht in mein Konto."),
        ("Accesso", "Sono in ferie e non riesco ad accedere."),
        ("Pause", "We are closed from 1 to 14 August; pause our subscription."),
        ("Mails", "Ich bekomme automatisch E-Mails von Ihnen. Wie stelle ich das ab?"),
        ("Mails", "Automatische E-Mails will ich nicht mehr. Wie stelle ich das ab?"),
    ],
)
def test_a_customer_who_asks_beside_such_words_is_none(subject: str, text: str) -> None:
    assert why_automatic(subject, text) == ""


def test_a_long_mail_is_not_taken_for_a_notice() -> None:
    assert why_automatic("Re: Refund", "I am out of the office until Monday. " + "This is my story. " * 300) == ""


@pytest.mark.parametrize("prefix", AUTOMATIC_PREFIXES)
def test_s2_a_programs_prefix_is_followed_by_a_colon_or_by_nothing(prefix: str) -> None:
    """The same words within a subject are a person's."""
    assert all(map(is_automatic_subject, (f"{prefix.title()}: Refund", prefix, f"Re: Refund [{prefix}]")))
    assert not is_automatic_subject(f"{prefix} in my calendar")
    assert not is_automatic_subject(f"My question about {prefix}: what is it?")
