"""Indexes for the figures of a period, for counts of mails by how they ended, and for the list of cases that wait."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_mails_period": ("mails", ["status", "received_at", "reason_code"]),
    "ix_mails_reason": ("mails", ["reason_code", "handled_at"]),
    "ix_plans_period": ("plans", ["planned_at", "seconds"]),
    "ix_outbox_period": ("outbox", ["created_at", "kind", "case_id", "mail_id"]),
    "ix_outbox_case": ("outbox", ["case_id", "kind", "created_at", "status", "mail_id"]),
}
OLD = {
    "ix_mails_status": ("mails", ["status"]),
    "ix_outbox_created_at": ("outbox", ["created_at"]),
    "ix_outbox_case_id": ("outbox", ["case_id"]),
}
"""The new ones begin with the same columns."""


def upgrade() -> None:
    for name, (table, columns) in INDEXES.items():
        op.create_index(name, table, columns)
    for name, (table, _) in OLD.items():
        op.drop_index(name, table)


def downgrade() -> None:
    for name, (table, columns) in OLD.items():
        op.create_index(name, table, columns)
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
