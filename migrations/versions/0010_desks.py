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
    # An older version does not know these kinds.
    op.execute(
        "DELETE FROM delivery_updates WHERE outbox_id IN (SELECT id FROM outbox WHERE kind IN ('reminder', 'digest'))"
    )
    op.execute("DELETE FROM outbox WHERE kind IN ('reminder', 'digest')")
    op.execute("DELETE FROM rendered_mails WHERE kind IN ('reminder', 'digest')")
    with op.batch_alter_table("cases") as cases:
        cases.drop_column("desk_why")
        cases.drop_column("desk")
