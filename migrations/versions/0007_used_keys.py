"""The keys of the desk's commands that were used; each works once."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "used_keys",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("slot", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_used_keys"),
        sa.UniqueConstraint("slot", name="uq_used_keys_slot"),
    )


def downgrade() -> None:
    op.drop_table("used_keys")
