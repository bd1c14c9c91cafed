"""Sessions end by themselves, cannot be brought back, and nobody can end another person's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support_agent.config.desk_page import DeskPageSettings
from support_agent.desk_page.sessions import MOST_OF_ONE, Sessions
from tests.fakes_journey import Clock

DESK, ADA = "desk@harborfile.example", "ada@harborfile.example"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions:
    return Sessions(DeskPageSettings(idle_min=60, session_h=12, max_sessions=15), clock)


def test_every_session_has_its_own_id_and_its_own_key(sessions: Sessions) -> None:
    tokens = [sessions.open(DESK) for _ in range(5)]
    found = [sessions.of(token) for token in tokens]
    assert len({*tokens, *(one.form_key for one in found if one)}) == 10


def test_ids_are_kept_as_digests_alone(sessions: Sessions) -> None:
    token = sessions.open(DESK)
    assert token not in repr(sessions)


@pytest.mark.parametrize("token", ["", "x", "\ud800", "A" * 43])
def test_an_id_that_nobody_made_is_no_session(sessions: Sessions, token: str) -> None:
    sessions.open(DESK)
    assert sessions.of(token) is None


def test_a_session_ends_after_a_time_without_requests(sessions: Sessions, clock: Clock) -> None:
    token = sessions.open(DESK)
    clock.instant += timedelta(minutes=59)
    assert sessions.of(token) is not None
    clock.instant += timedelta(minutes=59)
    assert sessions.of(token) is not None, "a request begins the time anew"
    clock.instant += timedelta(minutes=61)
    assert sessions.of(token) is None
    clock.instant -= timedelta(minutes=61)
    assert sessions.of(token) is None, "it does not come back with the clock"


def test_what_a_page_does_by_itself_keeps_no_session(sessions: Sessions, clock: Clock) -> None:
    token = sessions.open(DESK)
    for _ in range(3):
        clock.instant += timedelta(minutes=25)
        found = sessions.of(token, is_active=False)
    assert found is None


def test_a_session_ends_after_a_time_in_any_case(sessions: Sessions, clock: Clock) -> None:
    token = sessions.open(DESK)
    for _ in range(23):
        clock.instant += timedelta(minutes=31)
        assert sessions.of(token) is not None
    clock.instant += timedelta(minutes=31)
    assert sessions.of(token) is None


def test_a_closed_session_is_over(sessions: Sessions) -> None:
    token, other = sessions.open(DESK), sessions.open(DESK)
    sessions.close(token)
    sessions.leave_notice(token, "late", is_error=False)
    assert sessions.of(token) is None
    assert sessions.take_notice(token) is None
    assert sessions.of(other) is not None


def test_the_key_of_a_form_is_that_of_its_session(sessions: Sessions) -> None:
    one, two = (sessions.of(sessions.open(DESK)) for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.is_form_key(one.form_key)
    assert not any(one.is_form_key(key) for key in (two.form_key, "", "\ud800", one.form_key + "x"))


def test_a_notice_is_shown_once(sessions: Sessions) -> None:
    token = sessions.open(DESK)
    sessions.leave_notice(token, "Approved.", is_error=False)
    notice = sessions.take_notice(token)
    assert notice is not None
    assert notice.said == "Approved."
    assert sessions.take_notice(token) is None


def test_a_further_session_ends_the_one_that_was_idle_for_the_longest_time(sessions: Sessions) -> None:
    tokens = [sessions.open(f"p{n}@harborfile.example") for n in range(15)]
    sessions.of(tokens[0])
    sessions.open(DESK)
    assert sessions.of(tokens[0]) is not None
    assert sessions.of(tokens[1]) is None


def test_a_person_with_many_sessions_ends_only_own_ones(sessions: Sessions) -> None:
    token = sessions.open(DESK)
    for _ in range(15 + MOST_OF_ONE):
        sessions.open(ADA)
    assert sessions.of(token) is not None
