"""Indexes for the figures of a period, for counts of mails by how they ended, and for the list of cases that wait."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_mails_period": ("mails", ["received_at", "status", "reason_code", "screening_rule"]),
    "ix_mails_reason": ("mails", ["reason_code", "handled_at"]),
    "ix_plans_period": ("plans", ["planned_at", "seconds"]),
    "ix_outbox_period": ("outbox", ["kind", "created_at", "case_id", "mail_id"]),
}


def upgrade() -> None:
    for name, (table, columns) in INDEXES.items():
        op.create_index(name, table, columns)


def downgrade() -> None:
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
