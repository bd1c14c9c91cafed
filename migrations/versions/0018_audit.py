"""The audit log, entries in a chain of hashes; and indexes of the mails whose bytes retention has not emptied."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BODIES = {"mails": "received_at", "outbox": "created_at"}
HAS_BYTES = sa.text("length(raw) > 0")


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


def downgrade() -> None:
    for table in BODIES:
        op.drop_index(f"ix_{table}_bodies", table)
    op.drop_index("ix_audit_act", "audit")
    op.drop_table("audit")
