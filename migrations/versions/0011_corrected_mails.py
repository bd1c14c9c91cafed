"""Which mail a correction of an item's mode is about."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

CHANGES = sa.table(
    "mode_changes",
    *(sa.column(name, sa.Text) for name in ("key", "by", "why", "mail_id")),
    sa.column("number", sa.Integer),
)


def upgrade() -> None:
    with op.batch_alter_table("mode_changes") as changes:
        changes.add_column(sa.Column("mail_id", sa.Text))
    # Until now the reason alone named the mail, at its end.
    query = sa.select(CHANGES.c.key, CHANGES.c.number, CHANGES.c.why).where(CHANGES.c.by == "corrected")
    for key, number, why in op.get_bind().execute(query).all():
        _, found, mail_id = why.rpartition(", mail ")
        if found:
            row = sa.and_(CHANGES.c.key == key, CHANGES.c.number == number)
            op.execute(CHANGES.update().where(row).values(mail_id=mail_id))


def downgrade() -> None:
    with op.batch_alter_table("mode_changes") as changes:
        changes.drop_column("mail_id")
