"""The audit log, entries in a chain of hashes; indexes of the mails whose bytes retention has not emptied, and on
PostgreSQL of senders by bytes: the order of its language serves no search for the names before a "+" tag.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BODIES = {"mails": "received_at", "outbox": "created_at"}
HAS_BYTES = sa.text("length(raw) > 0")
SENDERS = ("ix_mails_sender_address", "mails", ["sender_address"])
BY_BYTES = {"sender_address": "text_pattern_ops"}


def _index_senders(operators: dict[str, str]) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index(*SENDERS[:2])
        op.create_index(*SENDERS, postgresql_ops=operators)


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_act", "audit", ["act", "number"])
    for table, column in BODIES.items():
        op.create_index(f"ix_{table}_bodies", table, [column], sqlite_where=HAS_BYTES, postgresql_where=HAS_BYTES)
    _index_senders(BY_BYTES)


def downgrade() -> None:
    _index_senders({})
    for table in BODIES:
        op.drop_index(f"ix_{table}_bodies", table)
    op.drop_index("ix_audit_act", "audit")
    op.drop_table("audit")
