"""Which desk gets a case: rules are data, the first that fits decides, and each list that is not empty must fit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from support_agent.cases.desks import Subject, desk_for, is_covered, language_in
from support_agent.config.desk import DeskRoute, DeskSettings
from support_agent.mail.message import parse
from tests.fakes_journey import DESK, write

BILLING, BERLIN, PLAIN = "billing@harborfile.example", "berlin@harborfile.example", "desk.address"
NONE_FITS = "desk.address, as no rule of desk.routes fits"
GERMAN = "Guten Tag, ich habe eine Frage zu meiner Rechnung und würde gern mit jemandem darüber sprechen."


def settings(*routes: Mapping[str, object]) -> DeskSettings:
    return DeskSettings.model_validate({"address": DESK, "routes": routes})


def subject(*topics: str, level: int = 3, reason: str = "not_covered", language: str = "en") -> Subject:
    return Subject(lambda: topics, level, reason, lambda: language)


def test_without_rules_the_desk_gets_it() -> None:
    assert desk_for(settings(), subject("document:1")) == (DESK, PLAIN)


@pytest.mark.parametrize(
    ("route", "why"),
    [
        ({"topics": ["field:plan", "document:1"]}, "rule 1 of desk.routes: topic document:1"),
        ({"topics": ["document:*"]}, "rule 1 of desk.routes: topic document:1"),
        ({"levels": [2, 3]}, "rule 1 of desk.routes: level 3"),
        ({"languages": ["de", "en"]}, "rule 1 of desk.routes: language en"),
        ({"reasons": ["not_covered"]}, "rule 1 of desk.routes: reason not_covered"),
        (
            {"topics": ["document:1"], "levels": [3], "reasons": ["not_covered"], "languages": ["en"]},
            "rule 1 of desk.routes: topic document:1, level 3, reason not_covered, language en",
        ),
        ({}, "rule 1 of desk.routes"),
        ({"topics": ["document:2"]}, None),
        ({"levels": [0]}, None),
        ({"languages": ["de"]}, None),
        ({"reasons": ["unsure"]}, None),
        ({"topics": ["document:1"], "levels": [0]}, None),
    ],
)
def test_a_rule_fits_where_each_of_its_lists_does(route: dict[str, object], why: str | None) -> None:
    found = desk_for(settings({"address": BILLING, **route}), subject("series:payments", "document:1"))
    assert found == ((BILLING, why) if why is not None else (DESK, NONE_FITS))


def test_the_first_rule_that_fits_decides() -> None:
    routes = ({"address": BILLING, "topics": ["document:1"]}, {"address": BERLIN, "languages": ["de"]})
    assert desk_for(settings(*routes), subject("document:1", language="de")).address == BILLING
    assert desk_for(settings(*routes), subject("document:2", language="de")).address == BERLIN


def test_topics_are_looked_for_only_if_a_rule_names_any() -> None:
    """Failure: each case's first packet read the whole case, also where there was no rule."""

    def never() -> tuple[str, ...]:
        raise AssertionError

    asked = Subject(never, 3, "unsure", lambda: "de")
    assert desk_for(settings(), asked).address == DESK
    assert desk_for(settings({"address": BERLIN, "languages": ["de"]}), asked).address == BERLIN


def test_a_language_is_looked_for_only_where_all_else_fits() -> None:
    """Failure: each packet loads the detector, for a rule on another topic."""

    def never() -> str:
        raise AssertionError

    asked = Subject(lambda: (), 3, "unsure", never)
    route = {"address": BERLIN, "topics": ["document:1"], "languages": ["de"]}
    assert desk_for(settings(route), asked).address == DESK


@pytest.mark.parametrize(
    ("pattern", "by", "is_so"),
    [
        ("document:10", "document:1*", True),
        ("document:10", "document:1", False),
        ("document:1*", "document:*", True),
        ("document:*", "document:1*", False),
        ("field:plan", "document:*", False),
    ],
)
def test_a_star_stands_for_any_rest_of_a_name(pattern: str, by: str, is_so: bool) -> None:
    assert is_covered(pattern, by) is is_so


@pytest.mark.parametrize("topic", ["document", "document:", "*", "invoice:1", "document:*1", "document:1 "])
def test_what_is_no_topic_is_refused(topic: str) -> None:
    with pytest.raises(ValidationError):
        DeskRoute.model_validate({"address": BILLING, "topics": [topic]})


def test_the_language_of_a_known_customer_counts_where_it_is_likely() -> None:
    assert language_in(parse(write(GERMAN)), None) == "de"
    assert language_in(parse(write(GERMAN)), "fr-FR") == "de"
    likely = language_in(parse(write("Total de 2023, por favor")), "pt-BR")
    assert likely == "pt"


def test_a_mail_without_words_has_the_language_of_its_subject_or_none() -> None:
    assert language_in(parse(write("", subject=GERMAN)), None) == "de"
    assert language_in(parse(write("", subject="[b344xy4s6n] claim 5PLMXXZWN5HMXZYXX2442G24DQ")), None) == ""
    assert language_in(parse(write("", subject="")), None) == ""
