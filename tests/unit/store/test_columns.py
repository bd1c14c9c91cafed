"""Column types: what every database can hold, and what an index can."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from support_agent.store.columns import MAX_KEY_BYTES, UtcDateTime, index_key, storable

ANY_TEXT = st.text(st.characters(exclude_categories=()))
DIALECTS: list[Dialect] = [SQLiteDialect_pysqlite(), PGDialect_psycopg()]  # type: ignore[no-untyped-call]
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


@given(ANY_TEXT)
def test_storable_text_can_be_encoded_and_has_no_nul(text: str) -> None:
    """Rule: PostgreSQL takes UTF-8 without NUL; the length stays, so that positions do."""
    clean = storable(text)
    assert "\x00" not in clean.encode().decode()
    assert len(clean) == len(text)
    assert storable(clean) == clean


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_ordinary_text_is_stored_as_it_is(text: str) -> None:
    """Rule: only what cannot be stored is replaced."""
    assert storable(text) == text


@given(st.text(st.characters(exclude_categories=()), min_size=MAX_KEY_BYTES - 400))
def test_a_key_fits_an_index_and_is_its_own_key(text: str) -> None:
    """Rule: never over the limit, and the key of a key is itself, so a stored value is found again."""
    key = index_key(text)
    assert len(key.encode()) <= MAX_KEY_BYTES
    assert index_key(key) == key


def test_long_texts_have_keys_of_their_own() -> None:
    """Rule: a long text is not cut, or two Message-IDs with the same start would be one."""
    longest = "a" * MAX_KEY_BYTES
    assert index_key(longest) == longest
    assert len({index_key(longest), index_key(longest + "a"), index_key(longest + "b")}) == 3


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_instants_go_in_and_come_out_in_utc(dialect: Dialect) -> None:
    """Rule: SQLite gives back no zone, PostgreSQL the session's; both mean the same instant."""
    column = UtcDateTime()
    bound = column.process_bind_param(NOON.astimezone(timezone(timedelta(hours=-5))), dialect)
    assert bound is not None
    assert (bound, bound.tzinfo) == (NOON, UTC)
    for stored in (NOON.replace(tzinfo=None), NOON.astimezone(timezone(timedelta(hours=2)))):
        loaded = column.process_result_value(stored, dialect)
        assert loaded is not None
        assert (loaded, loaded.tzinfo) == (NOON, UTC)
    assert column.process_bind_param(None, dialect) is None
    assert column.process_result_value(None, dialect) is None


def test_an_instant_without_a_zone_is_refused() -> None:
    """Rule: nobody guesses a zone."""
    with pytest.raises(ValueError, match="no time zone"):
        UtcDateTime().process_bind_param(NOON.replace(tzinfo=None), DIALECTS[0])
