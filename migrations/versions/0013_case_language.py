"""The language of a case, and an index for the list of cases that wait."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("cases") as cases:
        cases.add_column(sa.Column("language", sa.Text))
        cases.create_index("ix_cases_state", ["state"])


def downgrade() -> None:
    with op.batch_alter_table("cases") as cases:
        cases.drop_index("ix_cases_state")
        cases.drop_column("language")
