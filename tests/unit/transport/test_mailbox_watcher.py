"""Keeping the mailbox in sight: one connection, growing waits, IDLE where it works, and an alarm; row S33."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest
from structlog.testing import capture_logs

from support_agent.config.mail_servers import ImapSettings
from support_agent.errors import ConfigError, TransientError
from support_agent.transport.mailbox_watcher import Watch
from tests.fakes_journey import NOON, Clock, Office
from tests.fakes_worker import FakeMailbox, Shift, with_imap

AWAY = TransientError("imap.example.com:993 cannot be used now: refused")


class Line:
    """`IdleMailbox`: whether the server offers IDLE, and what its next waits end with."""

    def __init__(self, *, offers_idle: bool = True) -> None:
        self.offers_idle = offers_idle
        self.told: list[bool | TransientError] = []
        self.waits: list[float] = []

    @property
    def can_idle(self) -> bool:
        return self.offers_idle

    def wait(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        """The next of `told`, else silence."""
        self.waits.append(timeout_s)
        told = self.told.pop(0) if self.told else False
        if isinstance(told, TransientError):
            raise told
        return told


class NoWait(Event):
    """Keeps the times it is to wait, and makes them pass at once."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def wait(self, timeout: float | None = None) -> bool:
        self.world.slept.append(timeout or 0.0)
        self.world.now_s += timeout or 0.0
        return self.is_set()


class World:
    """A clock, a server, and a watch of it; `errors` are those of the next tries to open the mailbox."""

    def __init__(self, line: Line | None = None, **changes: object) -> None:
        self.now_s = 1000.0
        self.line = line or Line()
        self.errors: list[TransientError | ConfigError] = []
        self.opened = self.closed = 0
        self.slept: list[float] = []
        self.random = 1.0
        self.settings = ImapSettings.model_validate(changes)
        self.stop = NoWait(self)
        self.watch = Watch(self.settings, self.open, lambda: self.now_s, lambda: self.random)

    @contextmanager
    def open(self) -> Iterator[Line]:
        if self.errors:
            raise self.errors.pop(0)
        self.opened += 1
        try:
            yield self.line
        finally:
            self.closed += 1

    def round(self, mails: int = 0) -> None:
        """One round of the loop."""
        self.watch.fetch(lambda _: mails)
        self.watch.wait(self.stop)


def test_one_connection_serves_many_rounds() -> None:
    """It ends with the watch."""
    world = World()
    with world.watch:
        for _ in range(3):
            world.round()
        assert (world.opened, world.closed) == (1, 0)
    assert (world.opened, world.closed) == (1, 1)


def test_s33_idle_ends_at_the_poll_interval() -> None:
    """Poll as the safety net: a server that forgets to tell is asked all the same."""
    world = World(poll_interval_s=30)
    world.round()
    assert (world.line.waits, world.slept) == ([30.0], [])


def test_s33_idle_is_said_anew_before_29_minutes() -> None:
    """RFC 2177; however rarely the folder is to be looked at."""
    world = World(poll_interval_s=3600)
    world.round()
    assert world.line.waits == [1500.0]
    with pytest.raises(ValueError, match="1740"):
        ImapSettings(idle_max_s=1741)


@pytest.mark.parametrize(("offers_idle", "idle"), [(False, True), (True, False)])
def test_s33_without_idle_the_folder_is_polled(offers_idle: bool, idle: bool) -> None:
    """Where the server does not offer it, or the settings forbid it."""
    world = World(Line(offers_idle=offers_idle), idle=idle, poll_interval_s=30)
    world.round()
    world.round()
    assert (world.line.waits, world.slept, world.opened) == ([], [30.0, 30.0], 1)


def test_s33_idle_that_breaks_is_left_alone_for_a_while() -> None:
    """Some servers only say that they can: a new connection polls, and `imap.idle_pause_s` later it is tried again."""
    world = World(poll_interval_s=30, idle_pause_s=90)
    world.line.told = [AWAY]
    with capture_logs() as logs:
        for _ in range(5):
            world.round()
    assert [entry["event"] for entry in logs] == ["idle_failed"]
    assert (world.opened, world.slept) == (2, [30.0, 30.0, 30.0])
    assert world.line.waits == [30.0, 30.0, 30.0]


def test_server_that_tells_of_mail_where_none_is_does_not_keep_us_running() -> None:
    """After an empty round the next wait is a plain one; mail that comes makes IDLE trusted again."""
    world = World(poll_interval_s=30)
    world.line.told = [True, True, True]
    for mails in (0, 0, 0, 1):
        world.round(mails)
    assert (len(world.line.waits), world.slept) == (3, [30.0])


def test_s33_waits_between_connections_grow_to_their_longest() -> None:
    """The folder is not tried while one is not over; the loop goes round meanwhile, as mails go out."""
    world = World(poll_interval_s=30, reconnect_base_s=1, reconnect_max_s=60)
    world.errors = [AWAY] * 8
    with capture_logs() as logs:
        while world.errors:
            world.round()
    assert [entry["wait_s"] for entry in logs] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert max(world.slept) == 30
    world.now_s += 60
    world.round()
    world.watch.fetch(_away)
    assert world.watch._wait_s() == 1


def _away(_: Line) -> int:
    raise AWAY


@pytest.mark.parametrize(("random", "waits_s"), [(0.0, [2, 4, 5]), (0.5, [3, 6, 7.5]), (1.0, [4, 8, 10])])
def test_s33_waits_differ_between_clients(random: float, waits_s: list[float]) -> None:
    """A server that comes back is not run down by all at once, also where all wait the longest, which is a bound."""
    world = World(reconnect_base_s=4, reconnect_max_s=10)
    world.random = random
    world.errors = [AWAY] * 3
    with capture_logs() as logs:
        while world.errors:
            world.round()
    assert [entry["wait_s"] for entry in logs] == waits_s


def test_s33_a_time_of_day_that_goes_back_delays_no_alarm(office: Office) -> None:
    """The mailbox was away for hours, and nobody heard of it: waits and alarms have a clock of their own."""
    office = with_imap(office, poll_interval_s=100, reconnect_base_s=100, reconnect_max_s=100, alarm_after_s=300)
    world, tries = World(), []

    def set_back() -> None:
        office.clock = Clock(NOON - timedelta(days=1))
        tries.append(world.now_s)
        if len(tries) > 5:
            world.stop.set()

    mailbox = FakeMailbox([], is_away=True, on_open=set_back)
    with capture_logs() as logs:
        replace(Shift(office, mailbox, world.stop).agent, clock=lambda: world.now_s).run(world.stop)
    alarms = [entry["seconds_since_last_fetch"] for entry in logs if entry["event"] == "mailbox_not_read"]
    assert len(alarms) == 1
    assert 300 <= alarms[0] < 500


def test_connection_that_fails_in_a_round_is_closed() -> None:
    world = World()
    with capture_logs():
        world.watch.fetch(_away)
    assert (world.opened, world.closed) == (1, 1)


def test_settings_that_never_worked_end_the_program() -> None:
    """A wrong password at the start is for the operator, now."""
    world = World()
    world.errors = [ConfigError("check imap.password")]
    with pytest.raises(ConfigError):
        world.round()


def test_settings_that_worked_before_are_tried_again_with_an_alarm() -> None:
    """A server that refuses everybody for an hour; mails go out meanwhile."""
    world = World()
    world.round()
    with capture_logs() as logs:
        world.watch.fetch(_refused)
        world.now_s += 10
        world.round()
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("poll_failed", "critical")]
    assert world.opened == 2


def _refused(_: Line) -> int:
    raise ConfigError("check imap.password", code="imap_login")


def test_s33_silence_is_an_alarm_again_and_again_and_its_end_is_told() -> None:
    """`seconds_since_last_fetch` counts from the last round that came to its end."""
    world = World(alarm_after_s=900, reconnect_base_s=200, reconnect_max_s=200, poll_interval_s=200)
    world.round()
    assert world.watch.seconds_since_last_fetch() == 0
    world.now_s += 100
    assert world.watch.seconds_since_last_fetch() == 100
    world.errors = [AWAY] * 10
    with capture_logs() as logs:
        world.watch.fetch(_away)
        world.watch.wait(world.stop)
        while world.errors:
            world.round()
        world.round()
    told = [entry for entry in logs if entry["event"] != "poll_failed"]
    assert [entry["event"] for entry in told] == ["mailbox_not_read"] * 2 + ["mailbox_read_again"]
    assert [entry["seconds_since_last_fetch"] for entry in told] == [900, 1900, 2300]
    assert told[0]["log_level"] == "critical"
    assert world.watch.seconds_since_last_fetch() == 0


def test_mailbox_that_was_never_read_is_an_alarm_too() -> None:
    """Counted from the start."""
    world = World(alarm_after_s=60, reconnect_base_s=100, reconnect_max_s=100)
    world.errors = [AWAY, AWAY]
    with capture_logs() as logs:
        while world.errors:
            world.round()
    assert "mailbox_not_read" in [entry["event"] for entry in logs]
