"""What is sent to the sources of the web says what is asked, and not by whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.public_query import MAX_QUERY_CHARACTERS, NamelessSearch, public_query
from tests.fakes_facts import Piece, ScriptedRetriever

NAMES = ("Anna-Marie O'Brien", "anna.keller+shop@mail.example", "Jürgen Müller", "王伟", "J. Østby", "Łukasz")


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("write to anna@mail.example or <mailto:b@x.example?subject=a>, please", "write to or < >, please"),
        ("where is https://shop.example/order?token=abc-def&x=1 now", "where is now"),
        ("see bücher.中国/x?token=SECRET and intranet/reset?token=abc please", "see and please"),
        ("log in at HTTP://10.0.0.7/admin or shop.example/a?b=c#d", "log in at or"),
        ("my site keller-steel.example:8080/x is down", "my site is down"),
        ("the file invoice_keller.pdf does not open", "the file does not open"),
        ("node.Js and e.g. this one. Then that", "node.Js and e.g. this one. Then that"),
    ],
)
def test_no_address_of_mail_or_web_is_sent(said: str, sent: str) -> None:
    """Rule: a link may hold a token, a host or a file the customer's name."""
    assert public_query(said) == sent


@pytest.mark.parametrize(
    "number",
    [
        "10115 Berlin",
        "Karlsplatz 12, 1010 Wien",
        "12 rue de la Paix, 75002 Paris",
        "221b Baker Street, London NW1 6XE",
        "24 Sussex Drive, Ottawa K1A 0B1",
        "7 George St, Sydney NSW 2000",
        "〒150-0002",
        "+49 (0)30 123 45 67",
        "030/12-34",
        "030 --- 12 --- 34",
        "555.01.02",
        "DE89 3704 0044 0532 0130 00",
        "GB29NWBK60161331926819",
        "4111 1111 1111 1111",
        "order 4711",
        "HF-W12",
        "born on 1.2.85",
        "\uff11\uff12\uff13\uff14\uff15",
        "12\u200b34",
        "eyJhbGciOiJIUzI1NiJ9",
        "Room 5, order number four: 4711",
    ],
)
def test_no_digit_of_what_could_be_a_persons_is_sent(number: str) -> None:
    """Addresses, phones, accounts, orders; what is short beside them goes along."""
    sent = public_query(f"I moved to {number}, how do I change that?")
    assert not any(map(str.isdigit, sent))
    assert sent.startswith("I moved to")
    assert sent.endswith("how do I change that?")


@pytest.mark.parametrize("said", ["Refund within 14 days?", "Windows 11 and 2FA", "error 404, twice", "open 24/7?"])
def test_a_short_number_is_part_of_the_question(said: str) -> None:
    """Rule: what has three characters names nobody."""
    assert public_query(said) == said


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("I am ANNA MARIE OBRIEN, how do refunds work?", "I am , how do refunds work?"),
        ("anna-marie's account, o'brien", "- 's account, o'"),
        ("It is Annas plan, and the Kellers' too", "It is plan, and the ' too"),
        ("Jurgen Mueller or JU\u0308RGEN MU\u0308LLER asks", "or asks"),
        ("annakeller, keller_anna, an\u200bna", ", _ ,"),
        ("我是王伟\uff0c怎么退款\uff1f", "我是 ,怎么退款?"),
        ("Ostby, Oestby, ØSTBY: Lukasz or Łukasz?", ", , : or ?"),
        ("the shop in Marienbad", "the in Marienbad"),
        ("Is there a plan that I may pay as J. O'Brien?", "Is there a plan that I may pay as J. O' ?"),
    ],
)
def test_no_name_of_the_mails_people_is_sent(said: str, sent: str) -> None:
    """In any case, with and without accents, as it stands in an address, and with an ending."""
    assert public_query(said, NAMES) == sent


def test_a_short_name_is_known_without_endings() -> None:
    """Else "Al" would take "all" along."""
    assert public_query("Al asks about all plans", ("Al",)) == "asks about all plans"


def test_a_mails_search_passes_everything_through_the_filter() -> None:
    """Rule: the customer's question and a model's rewriting alike."""
    web = ScriptedRetriever([[Piece(source="https://a.example", first=0, last=0, text="x")]])
    search = NamelessSearch(web, NAMES)
    assert search.find("Anna Keller 10115: refund?", 4)[0].source == "https://a.example"
    assert web.history == [(": refund?", 4)]


@given(st.text(max_size=500), st.lists(st.text(max_size=20), max_size=3))
def test_what_is_sent_is_one_short_line_that_can_be_printed(text: str, names: list[str]) -> None:
    query = public_query(text, names)
    assert len(query) <= MAX_QUERY_CHARACTERS
    assert query.isprintable()
    assert query == query.strip()
    assert "@" not in query


@pytest.mark.parametrize(
    "text", ["a" * 5_000, "a." * 5_000, "1 a-" * 2_000, "a-" * 5_000, "@" * 5_000, "\ufdfa" * 5_000, "a1_" * 5_000]
)
def test_no_text_is_too_strange(text: str) -> None:
    """Rule: no pattern goes back and forth in a text that was made for it; a question must not hold up the others."""
    assert len(public_query(text, (text,))) <= MAX_QUERY_CHARACTERS
