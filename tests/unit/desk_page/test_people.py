"""Who may do what on the desk's page, by the settings."""

from __future__ import annotations

import pytest

from support_agent.config.desk import DeskRoute, DeskSettings, ReminderSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.desk_page.people import Role, check_people, person_of
from support_agent.errors import ConfigError

DESK, ADA, BILLING = "desk@harborfile.example", "ada@harborfile.example", "billing@harborfile.example"
LEAD, AUDIT, NOBODY = "lead@harborfile.example", "audit@elsewhere.example", "nobody@harborfile.example"


def settings(**page: object) -> Settings:
    return Settings(
        desk=DeskSettings(address=DESK, staff=(ADA,), routes=(DeskRoute(address=BILLING),)),
        reminders=ReminderSettings(address=LEAD),
        desk_page=DeskPageSettings.model_validate(
            {"readers": (AUDIT, ADA), "admins": ("Ada@Harborfile.example",), **page}
        ),
    )


@pytest.mark.parametrize(
    ("address", "role"),
    [
        (DESK, Role.ANSWER),
        (BILLING, Role.ANSWER),
        (LEAD, Role.ANSWER),
        (ADA, Role.ADMIN),
        ("ADA@HARBORFILE.EXAMPLE", Role.ADMIN),
        (AUDIT, Role.READ),
        (NOBODY, None),
        ("", None),
        (f"{ADA}\n", None),
        (f" {ADA}", None),
        ("ada@harborfile.example.evil.example", None),
        ("des\u212a@harborfile.example", None),
    ],
)
def test_the_role_of_an_address(address: str, role: Role | None) -> None:
    """Staff answers; a reader who is of the staff answers too; an address counts in any case of its letters."""
    person = person_of(settings(), address)
    assert (person.role if person is not None else None) is role


def test_an_unset_desk_is_nobody() -> None:
    """The settings of a new workspace have an empty address."""
    assert person_of(Settings(), "") is None


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("needed", list(Role))
def test_a_role_covers_itself_and_those_below(role: Role, needed: Role) -> None:
    order = ["read", "answer", "admin"]
    assert role.covers(needed) is (order.index(role) >= order.index(needed))


def test_settings_under_which_people_can_work_are_accepted() -> None:
    check_people(settings())
    check_people(settings(sign_in="proxy", host="0.0.0.0", public_url="https://desk.example.com"))


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ({"admins": (NOBODY,)}, "desk_page.admins are not of the staff"),
        ({"host": "192.0.2.1"}, "can be reached by other machines"),
        ({"sign_in": "oidc", "oidc_client_id": "x"}, "desk_page.oidc_issuer is not set"),
    ],
)
def test_settings_that_would_let_in_nobody_or_others_are_refused(page: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        check_people(settings(**page))


def test_a_link_needs_somebody_whom_it_signs_in() -> None:
    with pytest.raises(ConfigError, match=r"desk\.address is not set"):
        check_people(Settings())
