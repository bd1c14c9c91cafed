"""Tables and columns get the words that the program uses: rendered mails, delivery updates, and who was notified."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _rename("letters", "rendered_mails", ["mail_id", "kind", "number"], ("mail_id", "mails"))
    _rename("settlements", "delivery_updates", ["outbox_id", "number"], ("outbox_id", "outbox"))
    with op.batch_alter_table("delivery_updates") as updates:
        updates.alter_column("settled_at", new_column_name="updated_at", existing_type=INSTANT, existing_nullable=False)
    with op.batch_alter_table("outbox") as outbox:
        outbox.alter_column("told_at", new_column_name="notified_at", existing_type=INSTANT)


def downgrade() -> None:
    with op.batch_alter_table("outbox") as outbox:
        outbox.alter_column("notified_at", new_column_name="told_at", existing_type=INSTANT)
    with op.batch_alter_table("delivery_updates") as updates:
        updates.alter_column("updated_at", new_column_name="settled_at", existing_type=INSTANT, existing_nullable=False)
    _rename("delivery_updates", "settlements", ["outbox_id", "number"], ("outbox_id", "outbox"))
    _rename("rendered_mails", "letters", ["mail_id", "kind", "number"], ("mail_id", "mails"))


def _rename(old: str, new: str, key: list[str], reference: tuple[str, str]) -> None:
    """Rename a table, and its constraints, whose names begin with the table's."""
    column, parent = reference
    op.rename_table(old, new)
    with op.batch_alter_table(new) as table:
        table.drop_constraint(f"fk_{old}_{column}", type_="foreignkey")
        table.drop_constraint(f"pk_{old}", type_="primary")
        table.create_primary_key(f"pk_{new}", key)
        table.create_foreign_key(f"fk_{new}_{column}", parent, [column], ["id"])
