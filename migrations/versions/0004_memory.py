"""What is known of a case after a mail was planned, kept with its plan."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("plans") as plans:
        plans.add_column(sa.Column("memory", sa.Text))


def downgrade() -> None:
    with op.batch_alter_table("plans") as plans:
        plans.drop_column("memory")
