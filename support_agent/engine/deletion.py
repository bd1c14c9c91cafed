"""Deletes the engine's records of mails, for `forget`: from the tables, and from the files of a SQLite database.

Invariant: the record of a mail that is being handled is never deleted. Checked by
tests/integration/engine/test_deletion.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from dbos import DBOSClient

from support_agent.config.database_url import normalise_url
from support_agent.core.size_limits import batches
from support_agent.engine.database import BUSY_TIMEOUT_S, mapped_errors
from support_agent.engine.records import ACTIVE
from support_agent.errors import PermanentError


@mapped_errors()
def delete_records(url: str, workflow_ids: Sequence[str]) -> int:
    """Delete the records of mails; return how many there were.

    Args:
        url: As of `Engine`; a file that does not exist, or is empty as after a restore, has no records.
        workflow_ids: The mails' ids, those of a brand behind its name and ":".
    Raises:
        PermanentError: a mail is being handled (code `unfinished`). TransientError: the database is away.
    """
    parsed = normalise_url(url)
    path = Path(parsed.database or "") if parsed.drivername == "sqlite" else None
    if not workflow_ids or (path is not None and not (path.is_file() and path.stat().st_size)):
        return 0
    client = DBOSClient(system_database_url=url, retry_connection_errors=False)
    try:
        parts = list(batches(workflow_ids))
        found = [
            status
            for part in parts
            for status in client.list_workflows(workflow_ids=part, load_input=False, load_output=False)
        ]
        if active := [status.workflow_id for status in found if status.status in ACTIVE]:
            raise PermanentError(f"mail {active[0]} is still being handled", code="unfinished")
        for part in parts:
            client.delete_workflows(part)
    finally:
        client.destroy()
    if path is not None:
        _purge(path)
    return len(found)


def _purge(path: Path) -> None:
    """Write the file anew: SQLite leaves deleted rows in it, and in the write-ahead log."""
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
