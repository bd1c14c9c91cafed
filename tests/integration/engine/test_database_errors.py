"""What becomes of the database's errors while the engine runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import event, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from support_agent.engine.database import mapped_errors
from support_agent.engine.journeys import Journeys
from support_agent.errors import TransientError
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Launch

USES: dict[str, Callable[[Journeys], object]] = {
    "start": lambda journeys: journeys.start("other", "case"),
    "failed": lambda journeys: journeys.failed(),
    "ended": lambda journeys: journeys.ended(["mail"]),
    "delete_records": lambda journeys: journeys.delete_records(["mail"]),
    "delete_finished": lambda journeys: journeys.delete_finished(datetime.now(UTC)),
    "wait_until_idle": lambda journeys: journeys.wait_until_idle(IDLE_TIMEOUT_S),
}


@contextmanager
def full_disk() -> Iterator[None]:
    """Every statement fails as SQLite's do on a full disk, of whichever connection."""

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    event.listen(sqlalchemy.Engine, "do_execute", fail)
    try:
        yield
    finally:
        event.remove(sqlalchemy.Engine, "do_execute", fail)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_whatever_the_engine_is_asked_for_on_a_full_disk_may_be_asked_again(
    use: Callable[[Journeys], object], sqlite_url: str, launch: Launch
) -> None:
    """Failure: the library's own error went through the agent's loop, which survives what may pass, and ended it."""
    journeys = launch(sqlite_url, lambda _mail_id, _steps: "answered")
    journeys.start("mail", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    with full_disk(), pytest.raises(TransientError, match="database or disk is full") as refused:
        use(journeys)
    assert refused.value.code == "engine_database"
    use(journeys)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (IntegrityError("INSERT", {}, Exception("duplicate key\nDETAIL: (a@example.net)")), "(duplicate key)"),
        (IntegrityError("INSERT", {}, Exception()), "(Exception)"),
        (PoolTimeout("QueuePool limit"), "(QueuePool limit)"),
    ],
)
def test_an_error_of_the_database_is_told_without_the_row(error: SQLAlchemyError, told: str) -> None:
    """PostgreSQL quotes it below the first line."""
    with pytest.raises(TransientError) as refused, mapped_errors():
        raise error
    assert told in str(refused.value)
    assert "example.net" not in str(refused.value)


def test_no_empty_file_takes_the_place_of_one_that_is_away(sqlite_url: str, launch: Launch) -> None:
    """Failure: SQLite made an empty one, deleted the log beside it, and some connections stayed with the empty one."""
    path = Path(str(make_url(sqlite_url).database))
    journeys = launch(sqlite_url, lambda _mail_id, _steps: "answered")
    journeys.start("mail", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    path.rename(path.with_name("elsewhere"))
    assert journeys.engine.queues._dbos is not None
    journeys.engine.queues._dbos._sys_db.engine.dispose()  # so that new connections are needed
    for _ in range(3):
        with pytest.raises(TransientError, match="bring its file back"):
            journeys.failed()
    assert not path.exists()
    path.with_name("elsewhere").rename(path)
    journeys.start("other", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert journeys.ended(["mail", "other"]) == {"mail": True, "other": True}
