"""What limits, settlements and notices are kept in: who sent a mail, what was found out about one of ours, what the
desk was told of it, and which addresses are left alone.

A mail of ours that was lost may be told to the desk more than once, so its notices, alone of all letters, are numbered.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    with op.batch_alter_table("mails") as mails:
        mails.add_column(sa.Column("sender_address", sa.Text))
        mails.create_index("ix_mails_sender_address", ["sender_address"])
    with op.batch_alter_table("cursors") as cursors:
        cursors.add_column(sa.Column("rescan_until", sa.BigInteger, nullable=False, server_default="0"))
        cursors.add_column(sa.Column("fetched_at", INSTANT))
    with op.batch_alter_table("letters") as letters:
        letters.add_column(sa.Column("number", sa.Integer, nullable=False, server_default="1"))
        letters.drop_constraint("pk_letters", type_="primary")
        letters.create_primary_key("pk_letters", ["mail_id", "kind", "number"])
    with op.batch_alter_table("outbox") as outbox:
        outbox.add_column(sa.Column("number", sa.Integer, nullable=False, server_default="1"))
        outbox.add_column(sa.Column("copied_at", INSTANT))
        outbox.add_column(sa.Column("told_at", INSTANT))
        outbox.drop_constraint("uq_outbox_mail_id_kind", type_="unique")
        outbox.create_unique_constraint("uq_outbox_mail_id_kind_number", ["mail_id", "kind", "number"])
        outbox.create_index("ix_outbox_created_at", ["created_at"])
        outbox.create_index("ix_outbox_sent_at", ["sent_at"])
    _create_settlements()
    _remember_what_was_told()


def downgrade() -> None:
    op.drop_table("suppressions")
    op.drop_table("settlements")
    for table in ("outbox", "letters"):  # 0002 has room for one notice of a mail
        op.execute(f"DELETE FROM {table} WHERE number > 1")
    with op.batch_alter_table("outbox") as outbox:
        outbox.drop_index("ix_outbox_sent_at")
        outbox.drop_index("ix_outbox_created_at")
        outbox.drop_constraint("uq_outbox_mail_id_kind_number", type_="unique")
        outbox.create_unique_constraint("uq_outbox_mail_id_kind", ["mail_id", "kind"])
        outbox.drop_column("told_at")
        outbox.drop_column("copied_at")
        outbox.drop_column("number")
    with op.batch_alter_table("letters") as letters:
        letters.drop_constraint("pk_letters", type_="primary")
        letters.create_primary_key("pk_letters", ["mail_id", "kind"])
        letters.drop_column("number")
    with op.batch_alter_table("cursors") as cursors:
        cursors.drop_column("fetched_at")
        cursors.drop_column("rescan_until")
    with op.batch_alter_table("mails") as mails:
        mails.drop_index("ix_mails_sender_address")
        mails.drop_column("sender_address")


def _create_settlements() -> None:
    op.create_table(
        "settlements",
        sa.Column("outbox_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("settled_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("outbox_id", "number", name="pk_settlements"),
        sa.ForeignKeyConstraint(["outbox_id"], ["outbox.id"], name="fk_settlements_outbox_id"),
    )
    op.create_table(
        "suppressions",
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("outbox_id", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("since", INSTANT, nullable=False),
        sa.Column("until", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("address", name="pk_suppressions"),
    )


def _remember_what_was_told() -> None:
    """Until now a loss counted as told once its mail had a failure letter; the desk must not hear of it again."""
    op.execute(
        "UPDATE outbox SET told_at = (SELECT MIN(notice.created_at) FROM outbox AS notice"
        " WHERE notice.mail_id = outbox.mail_id AND notice.kind = 'failure')"
        " WHERE status IN ('failed', 'uncertain') AND kind NOT IN ('packet', 'failure')"
    )
