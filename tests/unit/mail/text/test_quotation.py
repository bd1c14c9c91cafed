# ruff: noqa: E501 - mails as they come, words in Cyrillic and other letters
"""What the sender wrote now, what is quoted, what is a signature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.addresses import Address
from support_agent.mail.text.quotation import split_quotation

OLD = "Dear Anna,\n\nthe old text.\n"

REPLIES = {
    "gmail": "New.\n\nOn Mon, 9 Mar 2026 at 10:00, Support <s@harborfile.example> wrote:\n\n> "
    + OLD.replace("\n", "\n> "),
    "gmail, wrapped": "New.\n\nOn Mon, 9 Mar 2026 at 10:00, Support\n<s@harborfile.example> wrote:\n\n> old",
    "glued to the text": "New.\nOn Mar 9, 2026, at 10:00 AM, Support wrote:\n> old",
    "without marks": "New.\n\nOn Mar 9, 2026, at 10:00 AM, Support wrote:\n\n" + OLD,
    "german": "New.\n\nAm Mo., 9. März 2026 um 10:00 Uhr schrieb Support <s@harborfile.example>:\n\n> alt",
    "german thunderbird": "New.\n\nAm 09.03.26 um 10:00 schrieb Support:\n> alt",
    "spanish": "New.\n\nEl lun, 9 mar 2026 a las 10:00, Support (<s@h.example>) escribió:\n\n> viejo",
    "french": "New.\n\nLe lun. 9 mars 2026 à 10:00, Support <s@harborfile.example> a écrit :\n\n> vieux",
    "date first": "New.\n\n2026-03-09 10:00 GMT+01:00 Support <s@harborfile.example>:\n\n> old",
    "original message": "New.\n\n-----Original Message-----\nFrom: Support\nSent: Monday\n\n" + OLD,
    "urspruengliche nachricht": "New.\n\n-----Ursprüngliche Nachricht-----\nVon: Support\n\n" + OLD,
    "mensaje original": "New.\n\n----- Mensaje original -----\nDe: Support\n\n" + OLD,
    "outlook": "New.\n\nFrom: Support <s@h.example>\nSent: Monday, 9 March 2026\nTo: Anna\nSubject: x\n\n" + OLD,
    "outlook, ruler": "New.\n________________________________\nFrom: Support\nSent: Monday\nSubject: x\n\n" + OLD,
    "outlook, bold": "New.\n\n*From:* Support\n*Sent:* Monday, 9 March 2026\n*To:* Anna\n*Subject:* x\n\n" + OLD,
    "outlook german": "New.\n\nVon: Support\nGesendet: Montag, 9. März 2026 10:00\nAn: Anna\nBetreff: x\n\n" + OLD,
    "outlook spanish": "New.\n\nDe: Support\nEnviado el: lunes, 9 de marzo de 2026\nPara: Anna\nAsunto: x\n\n" + OLD,
    "outlook french": "New.\n\nDe : Support\nEnvoyé : lundi 9 mars 2026\nÀ : Anna\nObjet : x\n\n" + OLD,
    "hotmail": "New.\n\nDate: Mon, 9 Mar 2026 10:00\nSubject: x\nFrom: s@h.example\nTo: a@b.example\n\n" + OLD,
    "forward": "New.\n\n---------- Forwarded message ---------\nFrom: Bob\n\n" + OLD,
    "apple forward": "New.\n\nBegin forwarded message:\n\n> From: Bob\n",
    "bare marks": "New.\n\n> old\n>> older\n",
}


@pytest.mark.parametrize("client", REPLIES)
def test_the_new_text_above_a_quotation_is_all_that_is_visible(client: str) -> None:
    split = split_quotation(REPLIES[client])
    assert split.visible == "New."
    assert split.quoted
    assert split.signature == ""


def test_answers_between_and_below_quoted_lines_are_visible() -> None:
    text = "On 9 Mar 2026 at 10:00 Support wrote:\n> Which plan?\n\nTeam.\n\n> Since when?\nMarch.\n"
    split = split_quotation(text)
    assert split.visible.split() == ["Team.", "March."]
    assert split.quoted.split("\n")[0].endswith("wrote:")


@pytest.mark.parametrize(
    "text",
    [
        "On 3 March your colleague wrote:\n\nYou can have a refund.\n\nIs that still so?",
        "From: Berlin\nTo: Paris\nDate: 3 May\n\nCan I sync on the train?",
        "On 3 March I paid.\nYour colleague said no.\nWho is right?",
        "See the error below:\n-----\nE42\n-----\nWhat is it?",
        "From what I see, I paid twice.\nTo be sure, please check.",
        "Sent from my desk, is much easier than my phone.",
        "The price is > 5 EUR, isn't it?",
        "I wrote:\nhello",
        "Sent from my phone I get an error.\nWhat now?",
        "a -- b\n-- c",
    ],
)
def test_what_only_resembles_a_quotation_stays_visible(text: str) -> None:
    """A customer's words taken for a quotation would be left unanswered in silence."""
    assert split_quotation(text).visible == text


@pytest.mark.parametrize(
    "signature",
    [
        "-- \nAnna Keller\nKeller GmbH",
        "--\nAnna",
        "Sent from my iPhone",
        "Sent from my Verizon Wireless BlackBerry",
        "Get Outlook for iOS",
        "Get Outlook for Android <https://aka.ms/x>",
        "Von meinem iPhone gesendet",
        "Gesendet von Mail für Windows",
        "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet",
        "Enviado desde mi iPhone",
        "Envoyé de mon iPhone",
        "Sent from Mail for Windows",
    ],
)
@pytest.mark.parametrize("rest", ["", "\n\nOn Mar 9, 2026, at 10:00, Support wrote:\n> old"])
def test_signatures_are_taken_off(signature: str, rest: str) -> None:
    split = split_quotation(f"New.\n\n{signature}{rest}")
    assert split.visible == "New."
    assert split.signature.split("\n")[-1] == signature.split("\n")[-1]
    assert ("> old" in split.quoted) == bool(rest)


def test_a_line_of_dashes_high_up_in_a_long_mail_is_no_signature() -> None:
    text = "Hello\n--\n" + "\n".join(f"line {number}" for number in range(20))
    assert split_quotation(text).visible == text


ANNA = Address(name="Anna Keller", addr="anna.keller@example.net")


@pytest.mark.parametrize(
    "signature",
    [
        "Anna Keller\nKeller GmbH\n+49 30 1234567",
        "Dr. Anna Keller\nHead of Sales\nKeller GmbH\nwww.keller.example",
        "Anna Keller\nHead of Sales | Keller GmbH\nTel. +49 30 1234567\nanna.keller@example.net",
        "Anna Keller\n\nKeller GmbH\nHauptstr. 1, 10115 Berlin\ntel. +49 30 1234567\nGeschäftsführer: Max Muster. HRB 1.",
        "Anna Keller\nvia mobile",
        "- Anna",
        "--\nAnna K.",
        "--\nanna keller\n+49 30 1234567",
        "__\nKeller GmbH\nwww.keller.example",
        "\u2014\nHerzlich\nAnna",
        "Keller, Anna\nanna.keller@example.net",
        "Anna K.\nKeller GmbH\nanna.keller@example.net",
        "----------------\n\nKeller GmbH\n\nAnna Keller\n\nhttps://keller.example",
        "_____________________\nusers mailing list\nusers@lists.example\nhttps://lists.example/users",
        "-Anna Keller",
    ],
)
def test_signatures_without_a_mark_are_known_by_the_sender(signature: str) -> None:
    assert split_quotation(f"How do I cancel?\n\n{signature}", ANNA) == ("How do I cancel?", "", signature)


@pytest.mark.parametrize(
    "text",
    [
        "How do I cancel?\n\nKind regards\nAnna",
        "How do I cancel?\n\nThanks,\nAnna Keller",
        "Hello\n\nAnna Keller\nKeller GmbH\n\nPS: Can I get a refund?",
        "Hello\n\nAnna Keller\nis on my invoice. That is not my name.",
        "I need:\n- Team\n- Pro\n\n-Pro",
        "Who is this?\n\nBob Miller\nMiller Ltd\n+49 30 1234567",
        "Please change it to\nanna.keller@example.net",
        "Sent from my phone I get an error",
        "I use Outlook on iOS and it fails",
        "On 3 March at 10:00 you wrote that I must wait:\n\nfor what?",
        "Error log:\n2026-03-09 10:00 login failed for a@b.example:\n\nWhat is it?",
        "Name: Anna\nEmail: a@b.example\nSubject: refund\nMessage: How do I cancel?",
        "How do I cancel?\n--\nAnd how do I get my money back?\nAnna",
        "Question 1: price\n--\nQuestion 2: cancel my plan please",
        "Question 1: price\n--\nQuestion 2: refund",
        "\u2014\ncancel my account\nand the other one",
        "I want this\n\u2014\ncancel the account\n\u2014\nrefund the invoice",
        "First part\n--\nThe invoice is wrong.\nAnna",
        "The log-in fails.\n--\nError 500",
        "How shall you call me?\n\nvia mobile",
        "First part\n--\nIch brauche eine Rechnung",
        "First part\n--\nDas war meine letzte bezahlte Rechnung.",
        "Account holder\nAnna Keller\nplease cancel my plan\nI want my money back",
        "Hello, the name is\nAnna Keller\ncancel the plan\nrefund the last invoice",
        "New delivery address\n\nAnna Keller\nHauptstr. 5\n10115 Berlin",
        "Please change the name to:\n\nAnna Keller\nHauptstr. 5\n10115 Berlin",
        "Anna Keller\nHauptstr. 5\n10115 Berlin",
        "How do I cancel?\n\nAnna Keller\nBerlin\nKeller GmbH",
        "Please register this contact as second user:\n\nTom Berg\nanna.keller@example.net\n+49 30 1234567",
        "Second user\n\nTom Berg\nanna.keller@example.net\n+49 30 1234567",
        "I need:\n\n- Refund",
        "I need two things.\n\n- Refund",
        "Please delete:\n\n-Anna Keller",
        "Your mails end in:\n\nSent from my iPhone",
        "Hi,\nyesterday at 10:30 your colleague Tom wrote:\nYou can get a refund within 14 days.\nIs that true?",
        "The log says at 10:15:22 user anna wrote:\nERROR\n\nHow do I fix that?",
        "On 3.3.2026 you wrote:\nWe will refund.\nWhere is my money?",
        "On 3 March 2026 your colleague tom@us.example wrote:\nYou can get a refund.\n\nIs that true?",
        "On 09.03.26 you wrote:\nWe will refund.\nWhere is my money?",
        "Reply above this line is what I see. How do I remove it?",
        "Please resend this invoice\n\nFrom: billing@us.example\nSubject: Invoice 33\nDate: 3 March\n\nI lost it. How can I download it?",
        "Change it\n\nFrom: 3 May\nTo: 5 May\nSubject: room 4\n\nCan you do that?",
        "Change it\n\nFrom: Berlin\nTo: Paris\nDate: 3.5.2026\n\nCan you do that?",
        "Change it\n\n__________\nFrom: here I go on\nTo: be continued\nSubject: can I get a refund?",
    ],
)
def test_what_is_written_by_hand_stays_visible(text: str) -> None:
    """A sign-off and a name, a list, a form: where in doubt, the planner reads it."""
    assert split_quotation(text, ANNA).visible == text


def test_a_very_long_quotation_is_split_in_one_pass() -> None:
    """A hang guard only: 6,000 lines that nearly are attributions, headers and signatures."""
    lines = [
        "On 1.1.2026 10:00 a@b.example",
        "From: x",
        "-- Anna",
        "Sent from my",
        "____________",
        "Anna Keller",
    ] * 7_000
    assert split_quotation("\n".join(lines), ANNA).visible.startswith("On 1.1.2026")


def test_a_very_long_name_is_read_once() -> None:
    """A hang guard only: the name of the sender is compared with each of many short texts."""
    sender = Address(name="Anna Keller " * 8_000, addr=ANNA.addr)
    text = "- Anna\n\n> q\nAnna Keller\n+49 30 1234567\n> q\n" * 20_000
    assert split_quotation(text, sender).quoted.startswith("> q")


@given(st.lists(st.sampled_from(["", "> q", "x", "-- ", "On 1.1.26 10:00 wrote:", "From: a@b", "Subject: s", "To: x"])))
def test_no_line_is_lost_or_doubled(lines: list[str]) -> None:
    """Each line lands in exactly one of the three parts."""
    split = split_quotation("\n".join(lines))
    found = [line for part in split for line in part.split("\n") if line]
    assert sorted(found) == sorted(line.rstrip() for line in lines if line.rstrip())


@pytest.mark.parametrize("text", ["First part.\n\n-- \nAnd how do I pay?", "The name is:\n-- \nAnna"])
def test_the_exact_mark_of_a_signature_is_one_by_definition(text: str) -> None:
    """RFC 3676, section 4.3: what stands below "-- " is the signature, whatever it says."""
    assert split_quotation(text, ANNA).visible == text.partition("-- ")[0].strip()


def test_an_item_of_a_list_is_no_name_also_where_the_address_alone_is_known() -> None:
    sender = Address(name="", addr="anna.keller@example.net")
    assert split_quotation("I need two things.\n\n- Refund", sender).signature == ""
    assert split_quotation("Thank you.\n\n- Anna", sender).signature == "- Anna"


@pytest.mark.parametrize(
    "attribution",
    ["Harborfile Support wrote:", "Harborfile Support schrieb:", "Anna Keller a écrit :", "Anna escribió:"],
)
def test_a_bare_attribution_directly_above_a_quotation_is_not_the_senders_words(attribution: str) -> None:
    assert split_quotation(f"And now?\n\n{attribution}\n> Please sign in.\n").visible == "And now?"
    assert split_quotation(f"And now?\n\n{attribution}\n| Please sign in.\n").visible == "And now?"
    assert attribution in split_quotation(f"{attribution}\nIt fails at 80 per cent.\n").visible


def test_copied_header_lines_directly_above_a_quotation_are_not_the_senders_words() -> None:
    labels = "From: Harborfile Support\nSubject: Re: Refund"
    assert split_quotation(f"And now?\n\n{labels}\n> Please sign in.\n").visible == "And now?"
    assert split_quotation("And now?\n\nSubject: Re: Refund\n> Please sign in.\n").visible == "And now?"


@pytest.mark.parametrize(
    "text",
    [
        "Your price page wrote:\n| Plan | Fee |\n| Pro | 9 |\nIs that right?",
        "In the log the client wrote:\n\tERROR 17\n\tWhat does it mean?",
        "First: how do I cancel?\n\n---\n\nSecond: how do I get my files?",
        "Two things\n---\nRemove seat tom@example.net\nAdd seat eva@example.net",
        "Please note\n---\nTom Hall is to be removed",
        "To: please send all invoices to new@example.net",
    ],
)
def test_words_of_the_sender_that_look_like_a_quotation_or_signature_stay(text: str) -> None:
    """Lost words would be silently unanswered."""
    assert split_quotation(text).visible == text


def test_answers_between_the_lines_of_a_quotation_stay_whatever_they_begin_with() -> None:
    text = "> 1. What is your number?\nSubject: 4711\n> 2. When?\nDate: 5 May\n> 3. Why?\nBecause."
    assert split_quotation(text).visible.split("\n") == ["Subject: 4711", "Date: 5 May", "Because."]


def test_a_question_with_an_attributions_verb_is_the_senders() -> None:
    assert "How do I cancel?" in split_quotation("How do I cancel? That is what Anna wrote:\n> cancel us\n").visible


@pytest.mark.parametrize("dashes", ["---", "----", "___", "***"])
def test_a_signature_may_stand_below_longer_dashes_where_it_begins_with_a_name(dashes: str) -> None:
    found = split_quotation(f"And now?\n\n{dashes}\nAnna Keller\nanna@example.net\n+49 30 5550123\n")
    assert found.visible == "And now?"
    assert "Anna Keller" in found.signature
