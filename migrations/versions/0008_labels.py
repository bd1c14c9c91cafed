"""What people did with the mails that the machine decided."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("choice", sa.Text),
        sa.Column("keys", sa.JSON, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("made_at", INSTANT, nullable=False),
        sa.Column("undone_at", INSTANT),
        sa.PrimaryKeyConstraint("mail_id", "number", name="pk_labels"),
        sa.ForeignKeyConstraint(["mail_id"], ["mails.id"], name="fk_labels_mail_id"),
    )
    op.create_index("ix_labels_made_at", "labels", ["made_at"])


def downgrade() -> None:
    op.drop_table("labels")
