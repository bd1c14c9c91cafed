"""The store's volume is away for a while under a running worker: real processes, a real mailbox and mail server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support_agent.demo.servers import DemoServers
from support_agent.demo.workspace import init
from support_agent.store.records import MailStatus
from support_agent.store.store import Store
from tests.journey.test_pause import Workplace
from tests.servers.tcp_proxy import cutting_proxy

FAILED_ROUNDS = 3


class WithVolume(Workplace):
    """Its store, the engine's records and the keys are on a volume of their own."""

    @property
    def volume(self) -> Path:
        """The folder where the volume is mounted."""
        return self.folder / "volume"

    def _environment(self) -> dict[str, str]:
        return super()._environment() | {"SUPPORT_AGENT__STORE__URL": f"sqlite:///{self.volume / 'store.sqlite3'}"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[WithVolume]:
    """An empty mailbox, and a program that does not run yet."""
    folder = tmp_path / "workspace"
    init(folder, datetime.now(UTC).date())
    (folder / "volume").mkdir()
    with ExitStack() as stack:
        servers = stack.enter_context(DemoServers())
        smtp = stack.enter_context(cutting_proxy(servers.smtp_port))
        store = stack.enter_context(Store.open(f"sqlite:///{folder / 'volume' / 'store.sqlite3'}"))
        store.upgrade()
        place = WithVolume(folder, servers, smtp, store)
        stack.callback(place.kill)
        yield place


@pytest.mark.parametrize("is_left_empty", [False, True], ids=["the folder too", "the files alone"])
def test_a_worker_goes_on_when_the_volume_of_its_store_is_back(place: WithVolume, is_left_empty: bool) -> None:
    """Failure: it ended with exit 2, after which no service manager starts it again; or it made an empty store."""
    place.start()
    before = place.deliver("answered")
    place.wait(lambda: place.status(before) is MailStatus.ANSWERED)
    away = place.folder / "away"
    place.volume.rename(away)
    if is_left_empty:
        place.volume.mkdir()
    failed = place.said("round_failed")
    meanwhile = place.deliver("answered")
    place.wait(lambda: place.said("round_failed") >= failed + FAILED_ROUNDS)
    if is_left_empty:
        assert [*place.volume.iterdir()] == []
        place.volume.rmdir()
    away.rename(place.volume)
    place.wait(lambda: place.status(meanwhile) is MailStatus.ANSWERED)
    place.pass_a_round()
    assert [place.replies_to(raw) for raw in (before, meanwhile)] == [1, 1]
    assert place.stop() == 0
