"""The page's words: the same in each language, each that is used is there, and each that is there is used."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from support_agent import desk_page
from support_agent.company.front_matter import DocumentDelivery, FrontMatter
from support_agent.core.levels import CUSTOMER, UNKNOWN
from support_agent.core.modes import Mode
from support_agent.desk_page.people import Role
from support_agent.desk_page.site import SECTIONS, STATUSES
from support_agent.desk_page.wording import LANGUAGES, Wording, chosen_tag, words_in
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, OutgoingKind

ROOM = Path(next(iter(desk_page.__path__)))
SOURCES = [path.read_text(encoding="utf-8") for path in (*ROOM.glob("*.py"), *ROOM.glob("templates/*.html"))]
WHOLE = re.compile(r"""\b(?:w|wording)\(f?["']([a-z_0-9]+\.[a-z_0-9]+)["'](?! ?~)""")
"""A word by its whole code."""
PARTLY = re.compile(r"""\b(?:w|wording)\(f?["']([a-z_0-9]+)\.([a-z_0-9]*)(?:["'] ?~|\{)""")
"""A word whose code is computed: its section, and how the code begins."""
LATER = re.compile(r"""["']([a-z_0-9]+\.[a-z_0-9]+)["']""")
"""A code that is chosen first and looked up later: any text like one."""
LOOKED_UP = re.compile(r"""\.of\(["']([a-z_0-9]+)["']""")
"""A word of a section for a stored code, for which there need not be one."""
COMPUTED = {
    "state": {state.value for state in CaseState},
    "status": {status.value for status in OutboxStatus},
    "mail_status": {status.value for status in MailStatus},
    "kind": {kind.value for kind in OutgoingKind},
    "outcome": {outcome.value for outcome in LabelOutcome},
    "mode": {mode.value for mode in Mode},
    "delivery": {delivery.value for delivery in DocumentDelivery},
    "audience": set(get_args(FrontMatter.model_fields["audience"].annotation)),
    "level": {str(level) for level in range(UNKNOWN, CUSTOMER + 1)},
    "role": {role.value for role in Role},
    "source": {"template", "document", "account", "computed"},
    "plain": {
        f"{code}{part}"
        for code in ("by_link", "by_proxy", "not_let_in", "signed_out", *(f"status_{one}" for one in STATUSES))
        for part in ("", "_title")
    },
}
"""All codes that a section with computed codes must have."""


def places(text: str) -> list[str]:
    """The names of the values in a text."""
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


def named(pattern: re.Pattern[str]) -> set[str]:
    return {found for text in SOURCES for found in pattern.findall(text)}


def beginnings() -> tuple[str, ...]:
    """How codes begin that are computed or looked up."""
    computed = [f"{match[1]}.{match[2]}" for text in SOURCES for match in PARTLY.finditer(text)]
    return (*computed, *(f"{section}." for section in named(LOOKED_UP)))


def test_every_language_has_the_same_words_with_the_same_places() -> None:
    first, *others = LANGUAGES
    for other in others:
        assert words_in(other).keys() == words_in(first).keys()
        for code, said in words_in(first).items():
            assert places(words_in(other)[code]) == places(said), code


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_is_empty_or_has_markup(language: str) -> None:
    assert [code for code, said in words_in(language).items() if not said.strip() or set(said) & set("<>&\n")] == []


def test_words_are_found_in_templates_and_modules() -> None:
    """The tests below would prove nothing with patterns that find none."""
    assert len(named(WHOLE)) > 40
    assert {"plain.", "level.", "status."} <= set(beginnings())


def test_every_word_that_is_named_is_there() -> None:
    assert sorted(named(WHOLE) - words_in("en").keys()) == []


@pytest.mark.parametrize("section", sorted(COMPUTED))
def test_a_section_with_computed_codes_has_all_of_them(section: str) -> None:
    there = {code.partition(".")[2] for code in words_in("en") if code.startswith(f"{section}.")}
    assert COMPUTED[section] <= there
    assert f"{section}." in beginnings()


def test_the_sections_at_the_top_have_their_words() -> None:
    assert {f"base.{code}" for _, code in SECTIONS} <= words_in("en").keys()


def test_every_word_is_used() -> None:
    """By its code, or in a section whose codes are computed."""
    used = named(WHOLE) | named(LATER)
    assert sorted(code for code in words_in("en") if code not in used and not code.startswith(beginnings())) == []


@pytest.mark.parametrize(
    ("accepted", "tag"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de-AT"),
        ("fr,it;q=0.9", "en"),
        ("fr,de;q=0.5,en;q=0.4", "de"),
        ("en;q=0.4,de;q=0.5", "de"),
        ("de;q=0,en", "en"),
        ("de;q=x,en", "en"),
        ("de;q=nan", "en"),
        ("*", "en"),
        (";;;,,,=", "en"),
        ("de" * 5_000, "en"),
    ],
)
def test_the_language_is_the_first_that_the_reader_takes(accepted: str, tag: str) -> None:
    assert chosen_tag(accepted) == tag


def test_numbers_and_dates_are_written_as_the_reader_writes_them() -> None:
    at = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
    english, german = Wording("en-US", "Europe/Berlin"), Wording("de-DE", "Europe/Berlin")
    assert (english.number(1234.5), german.number(1234.5)) == ("1,234.5", "1.234,5")
    assert english.percent(0.25) == "25%"
    assert german.instant(at) == "20.11.26, 13:30"
    assert (english.span(timedelta(hours=3)), german.span(timedelta(hours=3))) == ("3 hours", "3 Stunden")
    assert english.span(timedelta(seconds=-5)) == "0 seconds"


@pytest.mark.parametrize("tag", ["de-xx-yy", "de_DE@x", "de-", "en-GB-oed", "de-\u20ac"])
def test_a_strange_tag_of_a_language_is_that_language(tag: str) -> None:
    wording = Wording(tag)
    assert wording.language in LANGUAGES
    assert wording.number(2.5)


@pytest.mark.parametrize("said", ["{0}", "{person.address}", "{", "%s"])
def test_a_value_is_not_a_format(said: str) -> None:
    """What a customer writes cannot reach into the program."""
    assert Wording("en")("said.refused", why=said) == f"Nothing was done: {said}"
