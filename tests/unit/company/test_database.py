"""The company's database can only be read, in bounded time."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from support_agent.company import database as module
from support_agent.company.database import ReadOnlyDatabase, bind_names, statement_defect
from support_agent.errors import ConfigError, PermanentError, TransientError

WRITES = [
    "INSERT INTO customers (id) VALUES (9)",
    "UPDATE customers SET name = 'x'",
    "DELETE FROM customers",
    "DROP TABLE customers",
    "CREATE TABLE t (x)",
    "CREATE TEMP TABLE t (x)",
    "ALTER TABLE customers ADD COLUMN x",
    "ATTACH DATABASE 'other.sqlite3' AS other",
    "PRAGMA query_only = OFF",
    "PRAGMA user_version = 7",
    "VACUUM INTO 'copy.sqlite3'",
    "REPLACE INTO customers (id) VALUES (1)",
    "WITH x AS (SELECT 1) INSERT INTO customers (id) SELECT 9",
    "SELECT load_extension('x')",
]


@pytest.fixture
def database(shop: Path) -> ReadOnlyDatabase:
    return ReadOnlyDatabase(f"sqlite:///{shop / 'shop.sqlite3'}", timeout_s=2)


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused_by_its_words(database: ReadOnlyDatabase, statement: str) -> None:
    """Before it reaches the database."""
    assert statement_defect(statement)
    with pytest.raises(ConfigError, match="write one SELECT"):
        database.select(statement, {}, 10)


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused_by_the_connection(
    shop: Path, database: ReadOnlyDatabase, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the words were not understood, nothing changes: no row, no table, no new file."""
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in shop.iterdir()}
    monkeypatch.setattr(module, "statement_defect", lambda sql: None)
    monkeypatch.chdir(shop)
    with pytest.raises(ConfigError, match=r"refuses|cannot be run"):
        database.select(statement, {}, 10)
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in shop.iterdir()} == before


def test_the_file_is_opened_read_only_without_the_authorizer(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mode=ro` and `query_only` refuse what the authorizer lets pass."""
    monkeypatch.setattr(module, "_authorize", lambda *action: sqlite3.SQLITE_OK)
    monkeypatch.setattr(module, "statement_defect", lambda sql: None)
    database = ReadOnlyDatabase(f"sqlite:///{shop / 'shop.sqlite3'}", timeout_s=2)
    with pytest.raises(ConfigError, match="readonly"):
        database.select("DELETE FROM customers RETURNING id", {}, 10)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        " select 1 ; ",
        "WITH x AS (SELECT 1 AS a) SELECT a FROM x",
        "-- delete this later\nSELECT 'update; insert' AS \"delete\" /* drop */",
        "SELECT replace(name, 'a', 'b') AS updated_at FROM customers",
    ],
)
def test_one_select_is_accepted(statement: str) -> None:
    """Words in texts, comments and quoted names are not statements."""
    assert statement_defect(statement) is None


def test_parameters_are_read_outside_texts_and_casts() -> None:
    """`:name` in a text is text, `::date` is a cast."""
    sql = "SELECT ':no', x::date, '12:30' FROM t WHERE a = :yes AND b=:also -- :never"
    assert bind_names(sql) == {"yes", "also"}


def test_a_query_that_takes_too_long_is_stopped(shop: Path) -> None:
    """It is transient: the mail is tried again, the mailbox goes on."""
    database = ReadOnlyDatabase(f"sqlite:///{shop / 'shop.sqlite3'}", timeout_s=0.05)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(TransientError, match=r"over 0\.05 s") as error:
        database.select(endless, {}, 10)
    assert error.value.code == "timeout"


def test_a_locked_database_is_transient(shop: Path) -> None:
    """Another program is writing: later it will have finished."""
    database = ReadOnlyDatabase(f"sqlite:///{shop / 'shop.sqlite3'}", timeout_s=0.05)
    with closing(sqlite3.connect(shop / "shop.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TransientError, match="locked"):
            database.select("SELECT id FROM customers", {}, 10)
        other.execute("ROLLBACK")
    assert len(database.select("SELECT id FROM customers", {}, 10).rows) == 4


def test_rows_up_to_the_limit_come_back(database: ReadOnlyDatabase) -> None:
    """At the limit all of them, above it an error."""
    assert len(database.select("SELECT id FROM customers", {}, 4).rows) == 4
    with pytest.raises(PermanentError, match="more than 3 rows"):
        database.select("SELECT id FROM customers", {}, 3)


def test_an_error_repeats_neither_parameters_nor_password(shop: Path) -> None:
    """Addresses and passwords do not belong in a log."""
    database = ReadOnlyDatabase(f"sqlite:///{shop / 'shop.sqlite3'}", timeout_s=2)
    with pytest.raises(ConfigError) as error:
        database.select("SELECT nothing FROM customers WHERE address = :address", {"address": "anna@secret"}, 1)
    assert "anna@secret" not in str(error.value)
    server = ReadOnlyDatabase("postgresql://reader:hunter2@127.0.0.1:1/shop", timeout_s=1)
    with pytest.raises(TransientError) as unreachable:
        server.select("SELECT 1", {}, 1)
    assert "hunter2" not in str(unreachable.value)


def test_a_path_with_odd_characters_is_opened(shop: Path) -> None:
    """A space or a number sign in a path is not part of the URI that opens it read-only."""
    (shop / "shop.sqlite3").rename(shop / "a b#c.sqlite3")
    database = ReadOnlyDatabase(f"sqlite:///{shop / 'a b#c.sqlite3'}", timeout_s=2)
    assert len(database.select("SELECT id FROM customers", {}, 10).rows) == 4


class _Session:
    """A new session of a server, which writes down what it is told."""

    def __init__(self, version: str) -> None:
        self._version = version
        self.told: list[str] = []

    def cursor(self) -> _Session:
        return self

    def execute(self, statement: str) -> None:
        self.told.append(statement)

    def fetchone(self) -> tuple[str]:
        return (self._version,)

    def commit(self) -> None:
        self.told.append("COMMIT")

    def close(self) -> None:
        self.told.append("close")


@pytest.mark.parametrize(
    ("version", "limit"),
    [("8.4.3", "max_execution_time = 1500"), ("11.8.3-MariaDB-ubu2404", "max_statement_time = 1.5")],
)
def test_a_session_is_limited_in_the_words_of_its_server(version: str, limit: str) -> None:
    """MySQL counts milliseconds, MariaDB seconds. With MariaDB itself: test_accounts_on_servers.py."""
    session = _Session(version)
    ReadOnlyDatabase("mysql://reader@127.0.0.1:1/shop", timeout_s=1.5)._restrict_mysql(cast(Any, session), None)
    assert session.told == [
        "SET SESSION TRANSACTION READ ONLY",
        "SET SESSION time_zone = '+00:00'",
        "SELECT VERSION()",
        f"SET SESSION {limit}",
        "close",
        "COMMIT",
    ]


def test_a_session_has_the_days_of_the_companys_time_zone() -> None:
    """Else a query would compare instants with other days than those that its results have."""
    session = _Session("8.4.3")
    database = ReadOnlyDatabase("mysql://reader@127.0.0.1:1/shop", timeout_s=1.5, zone="Asia/Tokyo")
    database._restrict_mysql(cast(Any, session), None)
    assert "SET SESSION time_zone = 'Asia/Tokyo'" in session.told


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT seats FROM customers # WHERE id = :customer_id",
        "SELECT label FROM payments /*! INTO OUTFILE '/tmp/x' */",
        "SELECT label FROM payments WHERE x = 1--1 INTO OUTFILE '/tmp/x'",
        r"SELECT label FROM payments WHERE x <> '\'' INTO OUTFILE '/tmp/x'",
        "SELECT /*+ MAX_EXECUTION_TIME(0) */ label FROM payments",
    ],
)
def test_what_mysql_reads_in_its_own_way_is_refused(statement: str) -> None:
    """A comment that hides the customer's condition, one that is code, an escaped quotation mark, a lifted limit."""
    with pytest.raises(ConfigError, match="write one SELECT"):
        ReadOnlyDatabase("mysql://reader@127.0.0.1:1/shop", timeout_s=0.1).select(statement, {"customer_id": "1"}, 10)


@pytest.mark.parametrize("place", ["/* :address is in lower case */", "-- :address", "AND note <> ' :address'"])
def test_a_parameter_in_a_comment_or_a_text_is_refused(place: str) -> None:
    """A driver that pastes values into the statement would paste a sender's address there, too."""
    assert statement_defect(f"SELECT 1 FROM customers WHERE address = :address {place}")


def test_an_option_that_the_driver_does_not_know_is_the_settings_fault() -> None:
    """PyMySQL refuses it with a TypeError, when it connects."""
    with pytest.raises(ConfigError, match=r"option of .* url"):
        ReadOnlyDatabase("mysql://reader@127.0.0.1:1/shop?foo=bar", timeout_s=0.1).select("SELECT 1", {}, 10)
