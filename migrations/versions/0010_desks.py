"""Which desk has a case, and the rule that gave it the case."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("cases") as cases:
        cases.add_column(sa.Column("desk", sa.Text))
        cases.add_column(sa.Column("desk_why", sa.Text))


def downgrade() -> None:
    with op.batch_alter_table("cases") as cases:
        cases.drop_column("desk_why")
        cases.drop_column("desk")
