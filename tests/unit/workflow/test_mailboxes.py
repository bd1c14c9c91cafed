"""The mailboxes of several brands run beside each other in one process."""

from __future__ import annotations

from threading import Barrier, Event

import pytest

from support_agent.errors import ConfigError, TransientError
from support_agent.workflow.mailboxes import run_all

WAIT_S = 10.0


def until_stopped(stop: Event) -> None:
    assert stop.wait(WAIT_S)


def test_mailboxes_run_beside_each_other() -> None:
    """Each waits for the other, so one after the other would never end."""
    together = Barrier(2, timeout=WAIT_S)

    def run(_: Event) -> None:
        together.wait()

    run_all({"": run, "shop": run}, Event())


def test_all_stop_when_they_are_asked_to() -> None:
    stop = Event()
    stop.set()
    run_all({"": until_stopped, "shop": until_stopped}, stop)


def test_one_that_cannot_go_on_stops_the_others_and_is_named() -> None:
    """A process that serves only some of its mailboxes would look healthy."""

    def broken(_: Event) -> None:
        raise ConfigError("imap.host is unknown: correct it", code="mailbox")

    with pytest.raises(ConfigError, match=r"^shop: imap\.host is unknown: correct it") as refused:
        run_all({"": until_stopped, "shop": broken}, Event())
    assert refused.value.code == "mailbox"


def test_a_defect_in_one_stops_the_others() -> None:
    def broken(_: Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_all({"": until_stopped, "shop": broken}, Event())


def test_a_mailbox_that_cannot_be_reached_stops_no_other() -> None:
    """With `run --once` the others' mails are handled to the end."""
    stop, ended = Event(), Event()

    def unreachable(_: Event) -> None:
        raise TransientError("the server does not answer")

    def slow(stop: Event) -> None:
        assert not stop.wait(0.2)
        ended.set()

    with pytest.raises(TransientError, match=r"^the server does not answer"):
        run_all({"": unreachable, "shop": slow}, stop)
    assert ended.is_set()
