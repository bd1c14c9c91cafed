"""Never beside the question: what narrows it must be in what the answer is made of, or a person gets it."""

from __future__ import annotations

from time import perf_counter

import pytest

from support_agent.company.vocabulary import Vocabulary
from support_agent.planner.answer_content import AnswerContent
from support_agent.planner.qualifiers import missing_qualifier, negated_wish
from tests.fakes_reading import read_by
from tests.unit.planner.test_loop import Prefers, near, one, plan

REFUNDS = AnswerContent(
    "Refunds are given within 14 days, also for the storage add-on, on Windows 11. Code HF-M07. EUR euro PayPal",
    Vocabulary(codes=frozenset({"hf-m00"}), names=frozenset({"paypal"})),
    is_value=False,
)
SEATS = AnswerContent("Seats in use. How many seats are used? 12 seats", Vocabulary(), is_value=True)
PAID = AnswerContent(
    "Payments. Sums that were paid. 2025 2025-01 January EUR 120.00 euro euros", Vocabulary(), is_value=True
)

INVOICE = AnswerContent("Invoice HF-2025-0030. How much is open? EUR 19.00", Vocabulary(), is_value=True)

RATES = AnswerContent(
    "In Germany 19 %, in Austria 20 %. The price is net.",
    Vocabulary(),
    is_value=False,
    countries=frozenset({"DE", "AT"}),
)


def never(sentence: str) -> bool:
    """A vote that finds no sentence to ask that has no question mark."""
    return False


@pytest.mark.parametrize(
    ("question", "content", "kind"),
    [
        ("How many of our seats are used by people in Lisbon?", SEATS, "name"),
        ("How many seats are used? Only the ones of the office.", SEATS, "exclusion"),
        ("How many seats are used? Not the ones of guests.", SEATS, "exclusion"),
        ("How many seats are used without the guests?", SEATS, "exclusion"),
        ("How many seats are used without the vacant seats?", SEATS, "exclusion"),
        ("Wie viele Plätze nutzen wir ohne die Gäste?", SEATS, "exclusion"),
        ("Ile miejsc używamy bez gości?", SEATS, "exclusion"),
        ("How many seats does my husband use?", SEATS, "other_person"),
        ("How many seats did we use in 2019?", SEATS, "number"),
        ("How many seats does kim@example.net use?", SEATS, "address"),
        ("What did we pay in 2025 for the key 7731-B?", PAID, "identifier"),
        ("What did we pay in 2025 in dollars?", PAID, "name"),
        ('What did we pay in 2025 for the folder "Archive"?', PAID, "quotation"),
        ("Do I get a refund for the iPad?", REFUNDS, "name"),
        ("Do I get a refund for 3 March?", REFUNDS, "number"),
        ("Do I get the 18.40 back as a refund?", REFUNDS, "number"),
        ("Do I get a refund in pounds?", REFUNDS, "name"),
        ("Do I get a refund without the fee of the bank?", REFUNDS, "exclusion"),
        ("My Mac shows HF-M19. What does it mean?", REFUNDS, "identifier"),
        ("My friend is kim@example.net. Do I get a refund?", REFUNDS, "address"),
        ("Do I get a refund for bilancio.xlsx?", REFUNDS, "quotation"),
        ("Do I get a refund? I mean for the WebDAV add-on.", REFUNDS, "name"),
        ("We run FreeBSD on all of our machines here. Do I get a refund?", REFUNDS, "name"),
        ("The auditor of our customer insists on TISAX. Do I get a refund?", REFUNDS, "name"),
        ("On Monday I sent you the form, reference DSR-219. When is the refund given?", REFUNDS, "identifier"),
        ("We are in Norway. Does the price include it?", RATES, "name"),
        ("How many seats are used with\u043eut the guests?", SEATS, "name"),
        ("What did we pay in Januar\u0443 2025?", PAID, "name"),
        ("Do I get a refund within 14 d\u0430ys?", REFUNDS, "name"),
        ("Apart from HF-2025-0030, what is open?", INVOICE, "exclusion"),
        ('A friend asked me "how many seats are used?" and I told her.', SEATS, "quotation"),
        ("Unser Gast fragte: „Wann ist die refund?“ Ich war ratlos.", REFUNDS, "quotation"),
        ("Not HF-2025-0030 but the other one: how much is it?", INVOICE, "exclusion"),
        ("Nous sommes en Norvège. Le prix est-il net ?", RATES, "name"),
    ],
)
def test_what_narrows_a_question_and_is_not_in_the_answer_is_told(
    question: str, content: AnswerContent, kind: str
) -> None:
    found = missing_qualifier(question, "", content, never)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("My boss, Ms Farrow, flies to Lisbon on 3 March. How many seats are used?", SEATS),
        ("I cannot find it in the app. How many seats are used?", SEATS),
        ("The PDF that you sent us was fine. How many seats are used?", SEATS),
        ("I bought 300 MIB for USD 20 on the S23 of a B2B partner, OK. Do I get a refund?", REFUNDS),
        ("Are 12 seats used or not?", SEATS),
        ("What did we pay in 2025 in euros?", PAID),
        ("What did we pay in January 2025?", PAID),
        ("I have 3 of them, 20GB each, bought 9 days ago. Do I get a refund after 9 days?", REFUNDS),
        ("Why is a refund not given for PayPal?", REFUNDS),
        ("Do I get a refund on Windows 11? HF-M07 came up, too.", REFUNDS),
        ("Wann bekomme ich das Geld für meinen Kauf zurück?", REFUNDS),
        ("CAN I GET A REFUND PLEASE", REFUNDS),
        ("I am Joe McCarthy of Smith GmbH and paid EUR1200 for it. Do I get a refund?", REFUNDS),
        ("1. How many seats are used?", SEATS),
        ('It says "get a refund?" there. Do I get a refund?', REFUNDS),
        ("How much is it? Only HF-2025-0030.", INVOICE),
        ("Two questions: 2) How many seats are used?", SEATS),
        ("We are in Austria. Does the price include it?", RATES),
        ("We are in Norway. Do I get a refund?", REFUNDS),
        ("Do I get a refund? My sister, who is in Florida until May or so, bought two more of them there.", REFUNDS),
    ],
)
def test_what_stands_before_the_question_or_in_the_answer_narrows_nothing(
    question: str, content: AnswerContent
) -> None:
    assert missing_qualifier(question, "", content, never) is None


TOPICS = {
    "cancel": "document:2",
    "renew": "document:2",
    "quitar": "document:2",
    "newsletter": "document:9",
    "llam": "none",
}
wished = read_by(lambda piece: {topic: 0.8 for word, topic in TOPICS.items() if word in piece} or {"field:plan": 0.3})


@pytest.mark.parametrize(
    "question",
    [
        "I want you not to cancel my plan. Please stop the newsletter.",
        "Please don't cancel my plan, I want no newsletter.",
        "No quiero quitar el plan, quiero que me llamen.",
    ],
)
def test_a_wish_that_is_negated_and_set_against_another_is_not_answered(question: str) -> None:
    """The failure's story: "I do not want to cancel my plan, I only want ..." was answered with how to cancel."""
    found = negated_wish(question, (question,), "document:2", wished)
    assert found is not None
    assert found.kind == "exclusion"
    assert negated_wish(question, (question,), "document:9", wished) is None


@pytest.mark.parametrize(
    "question",
    [
        "I want it not to renew.",
        "I want it not to renew. Please cancel my plan.",
        "I do not want the newsletter. How do I cancel?",
        "Please tell me how to cancel. The button does not work.",
        "I want to cancel. I want the newsletter.",
    ],
)
def test_a_negated_wish_alone_or_about_the_same_is_answered(question: str) -> None:
    assert negated_wish(question, (question,), "document:2", wished) is None


def test_nouns_of_a_german_subject_are_no_names() -> None:
    question = "Könnten Sie mir bitte alle Zahlungen in 2025 auflisten? Mir fehlen in der Buchhaltung ein paar Belege."
    assert missing_qualifier(f"Übersicht Zahlungen. {question}", "Übersicht Zahlungen", PAID, never) is None


def test_a_subject_that_names_a_product_narrows_the_question() -> None:
    question = "I bought it on my phone. Can I have a refund for it?"
    found = missing_qualifier(question, "App Store refund", REFUNDS, never)
    assert found is not None
    assert found.text == "App Store"
    assert missing_qualifier(question, "Refund for Lisbon", REFUNDS, never) is None
    assert missing_qualifier(question, "Refund For My Storage Purchase", REFUNDS, never) is None


def test_a_name_of_the_companys_vocabulary_counts_in_small_letters_too() -> None:
    other = AnswerContent("Exports are made at night.", REFUNDS.vocabulary, is_value=False)
    assert missing_qualifier("can i have an export to paypal?", "", other, never) is not None


def test_a_true_value_beside_the_question_goes_to_a_person_with_what_it_lacks() -> None:
    given = one("Which plan does Lisbon have?", near("field:plan", score=0.9))
    made = plan(Prefers("plan"), given)
    assert (made.outcome, made.reason) == ("escalate", "beside")
    assert [found.text for found in given.missing_qualifiers] == ["Lisbon"]


def test_the_same_value_is_sent_where_nothing_narrows_the_question() -> None:
    given = one("We open in Lisbon soon. Which plan do we have?", near("field:plan", score=0.9))
    assert plan(Prefers("plan"), given).outcome == "answer"


def test_the_subject_counts_where_the_mail_has_one_question() -> None:
    given = one("Which one do we have?", near("field:plan", score=0.9), subject="FreeBSD plan")
    assert plan(Prefers("plan"), given).reason == "beside"


def test_of_several_countries_the_same_one_is_told_in_every_process() -> None:
    """What is stored with a call is replayed elsewhere, where sets have another order."""
    told = "We are in Norway, Sweden, Finland, Iceland, Belgium, Denmark, Hungary and Estonia."
    found = missing_qualifier(f"{told} Does the price include it?", "", RATES, never)
    assert found is not None
    assert found.text == "Belgium"


def test_a_word_of_100_000_characters_is_read_in_seconds() -> None:
    """It took 40 where a file's name was looked for from each hyphen on."""
    started = perf_counter()
    assert missing_qualifier("a-" * 50_000, "", REFUNDS, never) is None
    assert perf_counter() - started < 15
