"""Mails that a lost store may have handled before this one was restored, and the program that made the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("mails") as mails:
        mails.add_column(sa.Column("in_doubt", sa.Boolean, nullable=False, server_default=sa.false()))
    with op.batch_alter_table("cursors") as cursors:
        cursors.add_column(sa.Column("in_doubt_until", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "programs",
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_programs"),
    )


def downgrade() -> None:
    op.drop_table("programs")
    with op.batch_alter_table("cursors") as cursors:
        cursors.drop_column("in_doubt_until")
    with op.batch_alter_table("mails") as mails:
        mails.drop_column("in_doubt")
