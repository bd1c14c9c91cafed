"""What the sender wrote now, what is quoted, what is a signature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.quotation import split_quotation

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
    "outlook, bold": "New.\n\n*From:* Support\n*Sent:* Monday\n*To:* Anna\n*Subject:* x\n\n" + OLD,
    "outlook german": "New.\n\nVon: Support\nGesendet: Montag, 9. März 2026 10:00\nAn: Anna\nBetreff: x\n\n" + OLD,
    "outlook spanish": "New.\n\nDe: Support\nEnviado el: lunes, 9 de marzo\nPara: Anna\nAsunto: x\n\n" + OLD,
    "outlook french": "New.\n\nDe : Support\nEnvoyé : lundi 9 mars\nÀ : Anna\nObjet : x\n\n" + OLD,
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


@given(st.lists(st.sampled_from(["", "> q", "x", "-- ", "On 1.1.26 10:00 wrote:", "From: a@b", "Subject: s", "To: x"])))
def test_no_line_is_lost_or_doubled(lines: list[str]) -> None:
    """Each line lands in exactly one of the three parts."""
    split = split_quotation("\n".join(lines))
    found = [line for part in split for line in part.split("\n") if line]
    assert sorted(found) == sorted(line.rstrip() for line in lines if line.rstrip())
