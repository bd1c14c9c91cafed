"""Which journeys run in this process, and keeping it still."""

from __future__ import annotations

import threading

from support_agent.engine.hands import Hands

WAIT_S = 20.0


def test_it_is_still_only_when_the_running_journeys_have_ended() -> None:
    hands, may_end, began = Hands(), threading.Event(), threading.Event()

    def journey() -> None:
        with hands.holding("", "mail"):
            began.set()
            may_end.wait(WAIT_S)

    thread = threading.Thread(target=journey)
    thread.start()
    assert began.wait(WAIT_S)
    with hands.still("", 0) as is_still:
        assert not is_still
    with hands.still("shop", 0) as is_still:
        assert is_still
    may_end.set()
    with hands.still("", WAIT_S) as is_still:
        assert is_still
    thread.join()
    assert hands.all() == frozenset()


def test_no_journey_begins_while_it_is_kept_still_and_all_begin_after() -> None:
    """One that waits is in hand all the same: its record says that it runs here."""
    hands, order = Hands(), list[str]()

    def journey() -> None:
        with hands.holding("", "mail"):
            order.append("journey")

    thread = threading.Thread(target=journey)
    with hands.still("", 0) as is_still:
        assert is_still
        thread.start()
        while "mail" not in hands.all():
            pass
        order.append("still")
    thread.join()
    assert order == ["still", "journey"]
