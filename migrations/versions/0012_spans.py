"""The spans of a rendered mail are called what they are."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("rendered", "spans")


def downgrade() -> None:
    _rename("spans", "rendered")


def _rename(old: str, new: str) -> None:
    with op.batch_alter_table("rendered_mails") as mails:
        mails.alter_column(old, new_column_name=new, existing_type=sa.JSON, existing_nullable=False)
