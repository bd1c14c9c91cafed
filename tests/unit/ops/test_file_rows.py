"""Rows of a SQLite file as PostgreSQL takes them; whole stores are moved in tests/integration/backup."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import BigInteger, Column, DateTime, MetaData, Table, Text

from support_agent.ops.backup.file_rows import columns_of, opened, rows_of

TABLE = Table("t", MetaData(), Column("at", DateTime), Column("ms", BigInteger), Column("words", Text))
LARGEST = 2**63 - 1


def test_instants_get_their_zone(tmp_path: Path) -> None:
    """All other values stay as they are, NULL too."""
    path = tmp_path / "store.sqlite3"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE t (at TIMESTAMP, ms INTEGER, words TEXT)")
        rows = [("2026-11-27 20:00:00", 7, "1.5"), (None, LARGEST, None), (None, -1, "")]
        file.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    with opened(path) as read:
        found = list(rows_of(read, TABLE, columns_of(read, TABLE)))
    assert found == [("2026-11-27 20:00:00+00", 7, "1.5"), (None, LARGEST, None), (None, -1, "")]
