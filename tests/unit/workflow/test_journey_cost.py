"""What a journey asks of the database: counted, so that it does not creep back to what it was.

A statement costs as much processor time as some hundred lines of Python, and a commit waits for the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, Engine, event

from support_agent.pipeline import handle
from tests.fakes_journey import Office, once, with_agent, write

MACHINE = b"Auto-Submitted: auto-replied\r\n"


@contextmanager
def counted(office: Office) -> Iterator[Counter[str]]:
    """Count the store's statements and commits; those of the company's own database do not count."""
    found: Counter[str] = Counter()
    url = office.store.database._engine.url

    def execute(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        found["statements"] += connection.engine.url == url and not statement.startswith("BEGIN")

    def commit(connection: Connection) -> None:
        found["commits"] += connection.engine.url == url

    event.listen(Engine, "before_cursor_execute", execute)
    event.listen(Engine, "commit", commit)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", execute)
        event.remove(Engine, "commit", commit)


@pytest.mark.parametrize(
    ("head", "text", "outcome", "statements", "commits"),
    [
        (b"", "Can I get a refund?", "answered", 43, 7),
        (b"", "Where does the moon sleep?", "escalated", 54, 10),
        (MACHINE, "I am away.", "filed", 6, 1),
    ],
)
def test_a_journey_asks_little_of_the_database(
    office: Office, head: bytes, text: str, outcome: str, statements: int, commits: int
) -> None:
    """Failure: an answered mail took 60 statements, each composed anew, and 9 commits: half of its processor time."""
    stages = with_agent(office, max_mails_per_hour=1_000_000).stages
    first, second = (office.receive(head + write(text, sender=f"c{n}@example.org", number=n)) for n in range(2))
    assert handle(first, once(), stages) == outcome
    with counted(office) as found:
        handle(second, once(), stages)
    assert 0 < found["statements"] <= statements
    assert 0 < found["commits"] <= commits
