"""Remember which mails retention deleted, so that a rescan of the mailbox does not answer them again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "forgotten_mails",
        sa.Column("id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_forgotten_mails"),
    )


def downgrade() -> None:
    op.drop_table("forgotten_mails")
