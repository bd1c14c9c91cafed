"""Who has a case, and every change of that which a person ordered."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("cases") as cases:
        cases.add_column(sa.Column("assignee", sa.Text))
    op.create_table(
        "case_changes",
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("assignee", sa.Text),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("case_id", "number", name="pk_case_changes"),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name="fk_case_changes_case_id"),
    )


def downgrade() -> None:
    op.drop_table("case_changes")
    with op.batch_alter_table("cases") as cases:
        cases.drop_column("assignee")
    # An older version does not know a closed case; a person has it.
    op.execute("UPDATE cases SET state = 'with_person' WHERE state = 'closed'")
