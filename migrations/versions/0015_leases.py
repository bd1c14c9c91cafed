"""Leases of the workers on one store, which worker claimed a mail of the outbox, and indexes for each round."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    with op.batch_alter_table("outbox") as outbox:
        outbox.add_column(sa.Column("claimed_by", sa.Text))
    with op.batch_alter_table("cases") as cases:
        cases.create_index("ix_cases_opened_at", ["opened_at"])
    with op.batch_alter_table("mails") as mails:
        mails.create_index("ix_mails_place", ["folder", "uid_validity", "uid"])


def downgrade() -> None:
    with op.batch_alter_table("mails") as mails:
        mails.drop_index("ix_mails_place")
    with op.batch_alter_table("cases") as cases:
        cases.drop_index("ix_cases_opened_at")
    with op.batch_alter_table("outbox") as outbox:
        outbox.drop_column("claimed_by")
    op.drop_table("leases")
