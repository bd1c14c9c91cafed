"""Labels: what people did with the mails that the machine decided.

Invariant: a label is never replaced; undoing one only marks it, so that the valid one before it holds again. The same
label twice is one, and a mail's labels go with the mail. Checked by tests/contract/store/test_labels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, update
from sqlmodel import col, select

from support_agent.store import mails
from support_agent.store.database import Database
from support_agent.store.desk_records import Label
from support_agent.store.records import MailId
from support_agent.store.rows import affected, equal
from support_agent.store.tables import LabelRow


@dataclass(frozen=True)
class Labels:
    """`Store.labels`."""

    database: Database

    def add(self, label: Label) -> Label:
        """Add a label with the next number of its mail; what the valid label says already is not added."""
        with self.database.write() as connection:
            mails.lock(connection, label.mail_id)
            labels = _labels(connection, label.mail_id)
            valid = next((one for one in reversed(labels) if one.undone_at is None), None)
            if valid is not None and (valid.outcome, valid.choice) == (label.outcome, label.choice):
                return valid
            numbered = label.model_copy(update={"number": len(labels) + 1})
            connection.execute(insert(LabelRow), {**numbered.model_dump(), "keys": list(numbered.keys)})
            return numbered

    def undo(self, mail_id: MailId, at: datetime) -> Label | None:
        """Undo the valid label of a mail; return it, None: it has none."""
        with self.database.write() as connection:
            valid = [label for label in _labels(connection, mail_id) if label.undone_at is None]
            if not valid:
                return None
            row = update(LabelRow).where(col(LabelRow.mail_id) == mail_id, col(LabelRow.number) == valid[-1].number)
            affected(connection, row.values(undone_at=at))
            return valid[-1]

    def of(self, mail_id: MailId) -> tuple[Label, ...]:
        """Return the labels of a mail, undone ones too, the oldest first."""
        with self.database.read() as connection:
            return tuple(_labels(connection, mail_id))

    def valid_of(self, mail_id: MailId) -> Label | None:
        """Return the valid label of a mail; None: it has none."""
        return next((label for label in reversed(self.of(mail_id)) if label.undone_at is None), None)

    def valid(self) -> tuple[Label, ...]:
        """Return the valid label of each mail, the oldest first."""
        with self.database.read() as connection:
            last = {label.mail_id: label for label in _labels(connection) if label.undone_at is None}
        return tuple(sorted(last.values(), key=lambda label: (label.made_at, label.mail_id)))


def _labels(connection: Connection, mail_id: MailId | None = None) -> Sequence[Label]:
    query = (
        select(LabelRow)
        .where(*equal((LabelRow.mail_id, mail_id)))
        .order_by(col(LabelRow.mail_id), col(LabelRow.number))
    )
    return [Label.model_validate(row) for row in connection.execute(query)]
