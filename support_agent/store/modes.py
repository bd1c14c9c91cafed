"""The modes of autonomy, as changes that are added and can be undone.

Invariant: a change is never replaced or deleted; undoing one only marks it, so that the valid change before it holds
again. The same change twice is one. Checked by tests/contract/store/test_modes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, update
from sqlmodel import col, select

from support_agent.core.modes import Mode
from support_agent.errors import TransientError
from support_agent.store import audit
from support_agent.store.audit import AuditEvent
from support_agent.store.database import Database
from support_agent.store.desk_records import ModeChange, ModeSource
from support_agent.store.records import MailId
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import ModeChangeRow

_ALL = select(ModeChangeRow).order_by(col(ModeChangeRow.key), col(ModeChangeRow.number))
_OF_KEY = _ALL.where(col(ModeChangeRow.key) == bindparam("of"))


@dataclass(frozen=True)
class Modes:
    """`Store.modes`."""

    database: Database

    def change(
        self, key: str, mode: Mode, by: ModeSource, who: str, why: str, at: datetime, mail_id: MailId | None = None
    ) -> ModeChange:
        """Add a change of an item's mode; the same mode from the same source again changes nothing.

        Args:
            mail_id: The mail whose answer a person corrected.
        Returns:
            The valid change of the key.
        Raises:
            TransientError: another process changed the mode of the key at the same time.
        """
        with self.database.write() as connection:
            history = _changes(connection, key)
            valid = next((change for change in reversed(history) if change.undone_at is None), None)
            if valid is not None and (valid.mode, valid.by, valid.mail_id) == (mode, by, mail_id):
                return valid
            number = len(history) + 1
            made = ModeChange(
                key=key, number=number, mode=mode, by=by, who=who, why=why, changed_at=at, mail_id=mail_id
            )
            if not insert_if_new(connection, ModeChangeRow, dict(made)):
                raise TransientError(f"the mode of {key} is being changed by another process", code="number_taken")
            what = {"key": key, "mode": mode.value, "by": by.value, "mail_id": mail_id}
            audit.append(connection, AuditEvent.MODE_CHANGED, who, at, what)
            return made

    def undo(self, key: str, who: str, at: datetime) -> ModeChange | None:
        """Undo the valid change of a key; return it, None: it has none."""
        with self.database.write() as connection:
            valid = [change for change in _changes(connection, key) if change.undone_at is None]
            if not valid:
                return None
            row = update(ModeChangeRow).where(
                col(ModeChangeRow.key) == key, col(ModeChangeRow.number) == valid[-1].number
            )
            affected(connection, row.values(undone_at=at))
            _note_undone(connection, valid[-1], who, at)
            return valid[-1]

    def undo_of_mail(self, mail_id: MailId, who: str, at: datetime) -> None:
        """Undo the valid changes that corrections of a mail's answer made, wherever they stand among the others."""
        made = (col(ModeChangeRow.mail_id) == mail_id, col(ModeChangeRow.undone_at).is_(None))
        with self.database.write() as connection:
            found = connection.execute(select(ModeChangeRow).where(*made)).all()
            affected(connection, update(ModeChangeRow).where(*made).values(undone_at=at))
            for row in found:
                _note_undone(connection, ModeChange.model_validate(row), who, at)

    def history(self, key: str | None = None) -> tuple[ModeChange, ...]:
        """Return the changes of one key, or of all, undone ones too; the oldest of each key first."""
        with self.database.read() as connection:
            return tuple(_changes(connection, key))

    def valid(self) -> dict[str, tuple[ModeChange, ...]]:
        """Return the changes of each key that are not undone, the newest last; keys without one are left out."""
        found: dict[str, tuple[ModeChange, ...]] = {}
        for change in self.history():
            if change.undone_at is None:
                found[change.key] = (*found.get(change.key, ()), change)
        return found


def _note_undone(connection: Connection, change: ModeChange, who: str, at: datetime) -> None:
    what: dict[str, JsonValue] = {"key": change.key, "number": change.number, "mode": change.mode.value}
    audit.append(connection, AuditEvent.MODE_UNDONE, who, at, what)


def _changes(connection: Connection, key: str | None) -> Sequence[ModeChange]:
    query, values = (_ALL, {}) if key is None else (_OF_KEY, {"of": key})
    return [ModeChange.model_validate(row) for row in connection.execute(query, values)]
