"""Modes of autonomy, as changes that can be undone."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "mode_changes",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("changed_at", INSTANT, nullable=False),
        sa.Column("undone_at", INSTANT),
        sa.PrimaryKeyConstraint("key", "number", name="pk_mode_changes"),
    )


def downgrade() -> None:
    op.drop_table("mode_changes")
    # An older version knows neither status, and must send none of these.
    op.execute(
        "UPDATE outbox SET status = 'failed', notified_at = created_at WHERE status IN ('proposed', 'cancelled')"
    )
