"""Alarms that the desk was told of, and when certificates and tokens end."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alarms",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "expiries",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    # An older program does not know this kind of mail.
    op.execute("DELETE FROM delivery_updates WHERE outbox_id IN (SELECT id FROM outbox WHERE kind = 'alarm')")
    op.execute("DELETE FROM outbox WHERE kind = 'alarm'")
    op.execute("DELETE FROM rendered_mails WHERE kind = 'alarm'")
    op.drop_table("expiries")
    op.drop_table("alarms")
