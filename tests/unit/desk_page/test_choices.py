"""The closed lists of the page: only what this customer may be sent today, each entry a choice that can be made."""

from __future__ import annotations

import pytest

from support_agent.core.levels import Level
from support_agent.desk_page.choices import Parts, Recipient, groups, parts
from support_agent.mail.senders.identity import Sender
from support_agent.tools.person_choice import PersonChoice
from tests.fakes_journey import ANNA, NOON, STRANGER, Office


def recipient(office: Office, address: str = ANNA, level: Level = 3, locale: str = "en") -> Recipient:
    sender = Sender(address=address, level=level, why="")
    return Recipient(sender, office.decider.company.known_customer(sender.address, sender.level), locale, NOON.date())


def listed(office: Office, to: Recipient) -> dict[str, list[str]]:
    return {group.code: [entry.choice for entry in group.entries] for group in groups(office.decider.company, to)}


def test_a_known_customer_may_be_sent_documents_and_the_account(office: Office) -> None:
    found = listed(office, recipient(office))
    assert set(found) == {"document", "field", "series", "record"}
    assert "document:1" in found["document"]
    assert "field:plan" in found["field"]
    assert all(PersonChoice.read(choice) is not None for choices in found.values() for choice in choices)


def test_records_are_the_customers_own(office: Office) -> None:
    anna, james = (listed(office, recipient(office, who))["record"] for who in (ANNA, "james.okafor@example.org"))
    assert anna
    assert not set(anna) & set(james)


@pytest.mark.parametrize(("address", "level"), [(STRANGER, 3), (ANNA, 2), (ANNA, 1)])
def test_whoever_is_no_proven_customer_is_offered_documents_only(office: Office, address: str, level: Level) -> None:
    assert set(listed(office, recipient(office, address, level))) == {"document"}


def chosen_parts(office: Office, text: str) -> Parts:
    choice = PersonChoice.read(text)
    assert choice is not None
    found = parts(office.decider.company, choice, recipient(office))
    assert found is not None
    return found


def test_each_section_is_a_link_that_adds_it_or_takes_it_away(office: Office) -> None:
    entries = chosen_parts(office, "document:1@2").entries
    assert entries[0].choice == "document:1@1,2"
    assert entries[1].choice == "document:1"
    assert chosen_parts(office, "document:1@2").chosen == (entries[1].choice,)


def test_a_series_offers_the_periods_and_shows_which_one_is_chosen(office: Office) -> None:
    found = chosen_parts(office, "series:payments")
    assert found.chosen == ("series:payments@all_time",)
    assert "series:payments@last_year" in [entry.choice for entry in found.entries]


@pytest.mark.parametrize("text", ["field:plan", "record:invoices@HF-2025-0030", "document:777", "series:none"])
def test_other_choices_have_no_parts(office: Office, text: str) -> None:
    choice = PersonChoice.read(text)
    assert choice is not None
    assert parts(office.decider.company, choice, recipient(office)) is None
