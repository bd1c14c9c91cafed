"""Identifiers in a mail: the customer's own are found however they are written, and nothing like one is overlooked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.planner.identifiers import FoundIdentifier, Identifiers

OWN = ("HF-2025-0030", "HF-2025-0104", "HF-2026-0007")
LABELS = ("Invoice", "Rechnung")


def known(*own: str, **kinds: tuple[str, ...]) -> Identifiers:
    return Identifiers({"invoices": own or OWN, **kinds}, LABELS, ("number",))


def told(text: str, *own: str) -> list[tuple[str, tuple[str, ...]]]:
    """The outcome of each identifier in a text, with the own ones that it is or may be."""
    return [(one.outcome, tuple(name for _, name in one.records)) for one in known(*own).found_in(text)]


def nobody(text: str) -> list[str]:
    """The same for a customer without records."""
    return [one.outcome for one in Identifiers({"invoices": ()}, LABELS).found_in(text)]


@pytest.mark.parametrize(
    "written",
    [
        "HF-2025-0030",
        "hf-2025-0030",
        "HF 2025 0030",
        "HF20250030",
        "hf 20250030",
        "HF2025-0030",
        "HF_2025_0030",
        "HF/2025/0030",
        "HF-2025- 0030",
        "HF - 2025 - 0030",
        "HF\u20132025\u20130030",
        "HF\u22122025\u22120030",
        "HF\u20112025\u20110030",
        "\uff28\uff26\uff0d\uff12\uff10\uff12\uff15\uff0d\uff10\uff10\uff13\uff10",
        "HF\u00ad-2025-00\u200b30",
        "HF-\u0662\u0660\u0662\u0665-\u0660\u0660\u0663\u0660",
        "#HF-2025-0030",
        "No. HF-2025-0030",
        "(HF-2025-0030)",
        "HF-2025-0030.pdf",
        "HF-2025-0030's",
        "Rechnung_HF-2025-0030",
        "HF-2025-0030-Rechnung",
        "https://app.example/invoices/HF-2025-0030/pdf",
        "2025-0030",
        "20250030",
        "0030",
        "no. 0030",
        "#0030",
    ],
)
def test_an_own_identifier_is_found_however_it_is_written(written: str) -> None:
    assert told(f"What was the amount of invoice {written} again?") == [("own", ("HF-2025-0030",))]


@pytest.mark.parametrize(
    "written",
    [
        "HF-2025-0031",  # another character
        "HF-2025-003",  # one fewer
        "HF-2025-00300",  # one more
        "HF-2025-0300",  # two swapped
        "HF-2O25-0030",  # a letter for a digit
        "F-2025-0030",
        "2025-0031",
        "\u041dF-2025-0030",  # a Cyrillic letter
    ],
)
def test_one_character_off_is_near_and_never_taken_for_it(written: str) -> None:
    assert told(f"The amount of {written}, please", "HF-2025-0030") == [("near", ("HF-2025-0030",))]


@pytest.mark.parametrize(
    "written",
    [
        "HF-2025-0999",
        "hf 2025 0999",
        "HF-2024-1234",
        "XY-2025-0999",
        "2025-0999",
        "0999",
        "HF-2025-99",
        "HF-2025-0030-77",  # more hangs on it
        "77-HF-2025-0030",
        "XY 2025-0030",
        "HF-2025-0030/0031",  # a second one, in short
        "invoice 30",
        "Invoice no. 30",
        "invoice number 30",
        "invoices 30",
        "Rechnung Nr. 30",
        "Rechnungen 30",
        "Rechnungsnummer: 30",
        "#4711",
        "No. 12",
        "invoice A17",
    ],
)
def test_what_looks_like_an_identifier_and_is_no_own_one_is_unknown(written: str) -> None:
    assert {outcome for outcome, _ in told(f"What about {written}?")} == {"unknown"}


@pytest.mark.parametrize(
    "text",
    [
        "How much was my last invoice?",
        "How much did I pay in 2025?",
        "My invoices 2024, please",
        "Rechnungen 2025",
        "How much did I pay from 2024-03-01 to 2024-05-31, or in 2024-06?",
        "The invoice of 12.03.2025 and the one of 3/4/2026",
        "Payments 2024-2025 and 2024/25",
        "Why was I charged 1200 EUR, 1,200.00 USD, \u20ac1200, $1200 and 1200.50?",
        "Invoice 19.00 is too high",
        "Rechnung 30 EUR",
        "The error HF-W12 comes up, and HF-1042 too",
        "Call me at 14:30",
        "We ordered 30 seats and invoiced 12 people",
        "Do you support Windows 11, iOS 17.4 and 2FA for 12345 users?",
        "The #1 reason",
        "Write to anna2025-0030@example.net",
        "I paid a 1234 fee",
        "",
    ],
)
def test_years_dates_amounts_and_codes_of_another_shape_are_no_identifiers(text: str) -> None:
    assert told(text) == []


def test_identifiers_are_told_in_the_order_of_the_text_and_a_number_alone_beside_them() -> None:
    assert told("HF-2026-0007 and 0104, please, and HF-2031-0001") == [
        ("own", ("HF-2026-0007",)),
        ("own", ("HF-2025-0104",)),
        ("unknown", ()),
    ]


def test_a_number_that_several_own_identifiers_end_with_is_near_to_each() -> None:
    assert told("invoice 0030?", "HF-2025-0030", "HF-2026-0030") == [("near", ("HF-2025-0030", "HF-2026-0030"))]


def test_two_own_identifiers_that_read_alike_are_near() -> None:
    assert told("The state of A-1234?", "A-1234", "A1234") == [("near", ("A-1234", "A1234"))]


def test_the_same_identifier_in_two_kinds_is_both() -> None:
    found = known("A-1234", orders=("A-1234",)).found_in("a-1234?")
    assert found == (
        FoundIdentifier(written="a-1234", outcome="own", records=(("invoices", "A-1234"), ("orders", "A-1234"))),
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("What about 100234?", "own"),
        ("invoice 100234", "own"),
        ("100 234", "own"),
        ("What about 100235?", "near"),
        ("What about 104711?", "unknown"),
        ("invoice 17", "unknown"),
    ],
)
def test_numbers_without_letters_are_compared_whole(text: str, outcome: str) -> None:
    assert [one for one, _ in told(text, "100234", "100999")] == [outcome]


@pytest.mark.parametrize("text", ["I have 25 seats", "since 2019", "I paid 100234 EUR", "the year 2024"])
def test_other_numbers_are_not_taken_for_numbers_of_records(text: str) -> None:
    assert told(text, "100234") == []


def test_a_short_number_is_own_only_behind_a_mark_or_a_label() -> None:
    assert told("ticket #7, invoice 12, and 12 seats", "7", "12") == [("own", ("7",)), ("own", ("12",))]
    assert told("I have 7 seats", "7", "12") == []


def test_a_year_is_no_record_of_the_same_number_unless_a_mark_says_so() -> None:
    """Rule: "in 2025" asks about a year, also of a customer who has an invoice 2025."""
    assert told("How much did I pay in 2025?", "2025", "2026") == []
    assert told("How much were my invoices 2025?", "2025", "2026") == []
    assert told("How much was #2025?", "2025", "2026") == [("own", ("2025",))]


def test_the_last_digits_of_a_record_are_its_name_only_where_they_look_like_one() -> None:
    """Rule: a number in passing that happens to end a record's number does not name it; a label or a zero does."""
    assert told("I have 1234 files, how many may I have?", "HF-2025-1234") == []
    assert told("What about invoice 1234?", "HF-2025-1234") == [("own", ("HF-2025-1234",))]
    assert told("What about 0234?", "HF-2025-0234") == [("own", ("HF-2025-0234",))]


@pytest.mark.parametrize("text", ["What is the amount of invoice 7?", "What about #7?", "invoice no. 7"])
def test_one_digit_behind_a_label_names_a_record_where_records_have_one_digit(text: str) -> None:
    """Failure of overlooking it: the latest invoice would be a true value beside the question."""
    assert [one for one, _ in told(text, "R-1", "R-2")] == ["unknown"]
    assert [one for one, _ in told(text, "1", "2")] == ["unknown"]


@pytest.mark.parametrize(
    "text",
    ["HF-2025-0030", "hf20250030?", "2025-0030", "RE/2025/7", "0x80070005", "order ABC-1234-X", "invoice 30", "#77"],
)
def test_a_customer_without_records_names_one_by_digits_beside_letters_or_dashes(text: str) -> None:
    assert nobody(text) == ["unknown"]


@pytest.mark.parametrize(
    "text", ["My plan?", "in 2025", "2025-03-01", "1234 GB", "HF-W12", "1,200.00 EUR", "2024-2025"]
)
def test_a_customer_without_records_names_none_by_a_date_or_an_amount(text: str) -> None:
    assert nobody(text) == []


@pytest.mark.parametrize("text", ["1 " * 2000, "1-" * 2000, "HF-2031-0001 " * 300, "no. " * 1000, "invoice 30, " * 300])
def test_a_long_mail_is_read_at_once(text: str) -> None:
    """Failure: each number looked back to the beginning of the mail."""
    many = known(*(f"HF-{2000 + place // 400}-{place % 400:04d}" for place in range(1000)))
    started = time.process_time()
    many.found_in(text)
    assert time.process_time() - started < 5


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_own_identifier_is_never_overlooked(before: str, after: str) -> None:
    """Whatever stands around it: it is found, or what it stands in is told as another one."""
    text = f"{before} HF-2025-0030 {after}"
    assert any(one.outcome != "own" or ("invoices", "HF-2025-0030") in one.records for one in known().found_in(text))


@given(st.sampled_from(OWN), st.integers(0, 11), st.sampled_from("0123456789XQ-"))
def test_another_character_anywhere_is_never_an_own_identifier_but_itself(own: str, place: int, other: str) -> None:
    changed = own[:place] + other + own[place + 1 :]
    exact = [name for one in known(own).found_in(changed) if one.outcome == "own" for _, name in one.records]
    is_same = changed.replace("-", "") == own.replace("-", "")
    assert exact == ([own] if is_same else [])
