"""The demo company's documents: complete, of the right size, and of one mind about prices and limits."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest

from support_agent.company.document_languages import check_translations, load_library
from support_agent.company.documents import Document
from support_agent.company.front_matter import DocumentDelivery
from support_agent.company.questions import load_questions
from support_agent.demo.seed import ACCOUNTS, PRICES_CENTS, Plan
from tests.unit.demo.conftest import POLICIES

LIBRARY = load_library(POLICIES, "en")
TITLES = {
    1: "Refund policy",
    2: "Cancellation policy",
    3: "Installation on Windows",
    4: "Installation on macOS",
    5: "Installation on Linux",
    6: "Password reset and sign-in problems",
    7: "Two-factor authentication",
    8: "Changing plan: upgrade and downgrade",
    9: "Payment methods and failed payments",
    10: "Invoices, VAT and tax",
    11: "Data export",
    12: "Account deletion and privacy",
    13: "Team seats: invite and remove members",
    14: "API keys and rate limits",
    15: "Service status and outages",
    16: "Sync problems: files do not upload",
    17: "Storage limits and file size",
    18: "Security overview and certifications",
    19: "Education and non-profit discounts",
    20: "Sharing links and permissions",
}
GERMAN = {
    "ich",
    "wie",
    "mein",
    "meine",
    "wir",
    "der",
    "das",
    "gibt",
    "unter",
    "ihre",
    "für",
    "auf",
    "seit",
    "haben",
}
SPANISH = {"el", "la", "los", "mi", "mis", "un", "una", "de", "del", "para", "cuánto", "qué", "cómo", "somos"}


def words_of(document: Document) -> int:
    """Words of the body as a reader counts them: what has a letter or a digit."""
    body = document.path.read_text("utf-8").split("---\n", 2)[2]
    return sum(any(c.isalnum() for c in word) for word in body.split())


def table_of(document: Document, header: str) -> dict[str, list[str]]:
    """The table whose header row begins with `header`: first cell to the other cells."""
    rows = [sentence for sentence in document.sentences if sentence.kind == "row"]
    start = next(row for row in rows if row.text.startswith(header))
    cells = [row.text.split(" | ") for row in rows if row.paragraph == start.paragraph]
    return {first: rest for first, *rest in cells}


def cents(text: str) -> int:
    return int(text.replace(",", "").replace(".", ""))


def amounts_in(document: Document, beginning: str) -> list[int]:
    """The amounts, in cents, of the sentence that begins so."""
    sentence = next(sentence.text for sentence in document.sentences if sentence.text.startswith(beginning))
    return [cents(amount) for amount in re.findall(r"\d+\.\d\d", sentence)]


def speaks(question: str, words: set[str]) -> bool:
    return len(words & set(re.findall(r"\w+", question.lower()))) > 0


def test_numbers_and_titles_are_the_demo_companys(documents: dict[int, Document]) -> None:
    """Numbers 1 to 20 stand once each, with the titles that the demo and its evaluations refer to."""
    assert {number: document.head.title for number, document in documents.items()} == TITLES


def test_documents_have_the_length_of_a_help_page(documents: dict[int, Document]) -> None:
    """Each body has 200 to 800 words, under at least three headings."""
    assert {n: w for n, d in documents.items() if not 200 <= (w := words_of(d)) <= 800} == {}
    assert {n: h for n, d in documents.items() if len(h := {s.heading for s in d.sentences}) < 3} == {}


def test_summaries_are_short(documents: dict[int, Document]) -> None:
    """A summary is read by the model with each mail, so it has at most 40 words."""
    assert {n: w for n, d in documents.items() if (w := len(d.head.summary.split())) > 40} == {}


def test_questions_are_many_and_belong_to_one_document(documents: dict[int, Document]) -> None:
    """18 to 22 examples a document, at least two each in German and Spanish, none in two documents."""
    for document in documents.values():
        questions = document.head.questions
        assert 18 <= len(questions) <= 22, document.path.name
        assert sum(speaks(question, GERMAN) for question in questions) >= 2, document.path.name
        assert sum(speaks(question, SPANISH) for question in questions) >= 2, document.path.name
    every = [question for document in documents.values() for question in document.head.questions]
    assert len(set(every)) == len(every)


def test_links_lead_to_the_help_pages(documents: dict[int, Document]) -> None:
    """Each document has its own page under the company's help address."""
    urls = {document.head.url for document in documents.values()}
    assert len(urls) == len(documents)
    assert all(url.startswith("https://harborfile.example/help/") for url in urls)


def test_documents_were_valid_before_the_demo_was_written(documents: dict[int, Document]) -> None:
    """All documents are in force, since a day from 2024 to May 2026, without an end."""
    for document in documents.values():
        assert date(2024, 1, 1) <= document.head.valid_from < date(2026, 6, 1), document.path.name
        assert document.head.valid_until is None


def test_only_the_shortest_documents_are_sent_in_full(documents: dict[int, Document]) -> None:
    """A full document must fit a mail: the two shortest are full, two are links, the rest excerpts."""
    by_delivery = {d: [n for n, x in documents.items() if x.head.delivery is d] for d in DocumentDelivery}
    shortest = sorted(documents, key=lambda number: words_of(documents[number]))[:2]
    assert sorted(by_delivery[DocumentDelivery.FULL]) == sorted(shortest)
    assert len(by_delivery[DocumentDelivery.LINK]) == 2


@pytest.mark.parametrize("number", TITLES)
def test_sentences_can_be_quoted_alone(documents: dict[int, Document], number: int) -> None:
    """An excerpt sends single sentences, so none leans on the one before it."""
    leaning = re.compile(r"(it|its|this|that|these|those|they|he|she|then|otherwise|however|also)\b", re.I)
    units = documents[number].sentences
    assert [s.text for s in units if s.kind == "sentence" and leaning.match(s.text)] == []
    assert [s.text for s in units if s.kind != "row" and not s.text.endswith((".", ":"))] == []


def test_plan_prices_are_what_customers_are_billed(documents: dict[int, Document]) -> None:
    """The price table of document 8 and the prices of the seeded invoices are the same."""
    table = table_of(documents[8], "Plan |")
    billed: dict[str, list[int]] = {}
    for (plan, _), prices in PRICES_CENTS.items():
        billed.setdefault(plan, []).extend(prices)
    del table["Plan"]
    assert {row.split(",")[0]: [cents(c) for c in cells[:4]] for row, cells in table.items()} == billed


def test_seat_prices_agree_with_the_price_table(documents: dict[int, Document]) -> None:
    """Document 13 repeats the price of a seat, in both currencies and cycles."""
    plans: tuple[Plan, ...] = ("Team", "Business")
    for plan in plans:
        (eur_month, eur_year), (usd_month, usd_year) = PRICES_CENTS[plan, "EUR"], PRICES_CENTS[plan, "USD"]
        amounts = amounts_in(documents[13], f"One {plan} seat costs")
        assert amounts == [eur_month, usd_month, eur_year, usd_year]


def test_education_price_is_half_the_pro_price(documents: dict[int, Document]) -> None:
    """Document 19 states the discounted price, and the student among the customers pays it."""
    amounts = amounts_in(documents[19], "With the education discount")
    assert amounts == [PRICES_CENTS["Pro", "EUR"][1] // 2, PRICES_CENTS["Pro", "USD"][1] // 2]
    student = next(account for account in ACCOUNTS if account.discount_percent)
    assert student.price_cents(0) == amounts[1]


def test_storage_is_the_same_in_both_tables(documents: dict[int, Document]) -> None:
    """Document 8 and document 17 both say how much storage a plan has."""
    plans = ["Free", "Pro", "Team", "Business"]
    prices = table_of(documents[8], "Plan |")
    in_prices = [next(c for row, c in prices.items() if row.split(",")[0] == plan)[4] for plan in plans]
    in_limits = table_of(documents[17], "Limit |")["Storage"]
    assert [text.removesuffix(", shared") for text in in_prices] == in_limits


def test_document_files_are_read_in_the_order_of_their_numbers(documents: dict[int, Document]) -> None:
    """File names sort like the numbers."""
    names = [documents[number].path.name for number in sorted(documents)]
    assert all(left < right for left, right in pairwise(names))


TRANSLATED = [("de", 1), ("de", 10), ("fr", 1)]


@pytest.mark.parametrize(("language", "number"), TRANSLATED, ids=str)
def test_a_translation_says_what_the_document_says(documents: dict[int, Document], language: str, number: int) -> None:
    """Sentence by sentence: the same form, and the same numbers, addresses and names of buttons."""
    (translation,) = (text for text in LIBRARY.translations if (text.language, text.number) == (language, number))
    document = documents[number]
    assert len(translation.sentences) == len(document.sentences)
    told = re.compile(r"\d+|[\w.]+@[\w.]+\w|Billing > [A-Z]\w+|W-\w+|Free\b")
    for ours, theirs in zip(translation.sentences, document.sentences, strict=True):
        assert (ours.kind, ours.paragraph, ours.number) == (theirs.kind, theirs.paragraph, theirs.number)
        assert sorted(told.findall(ours.text)) == sorted(told.findall(theirs.text)), ours.text
    assert 8 <= len(translation.head.questions) <= 22
    assert not set(translation.head.questions) & set(document.head.questions)
    assert len(translation.head.summary.split()) <= 45


def test_these_are_all_translations_and_check_finds_nothing_wrong_with_them() -> None:
    assert [(str(text.language), int(text.number)) for text in LIBRARY.translations] == [
        (language, number) for number in (1, 10) for language, other in TRANSLATED if other == number
    ]
    assert list(check_translations(POLICIES, "en", date(2026, 6, 1))) == []


def test_clarification_questions_exist_in_english_german_and_french() -> None:
    """Canned questions are numbered without a gap, each in the locales of the templates."""
    questions = load_questions(POLICIES / "questions.toml")
    assert [question.number for question in questions] == list(range(1, 10))
    for question in questions:
        assert set(question.text) == {"en", "de", "fr"}
        assert all("?" in text for text in question.text.values()), question.number
