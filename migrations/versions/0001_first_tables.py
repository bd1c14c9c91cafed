"""First tables: mails, cases, plans, letters, versions, outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_mails_and_cases()
    _create_plans()
    _create_letters()
    _create_outbox()


def downgrade() -> None:
    for table in (
        "outbox",
        "letters",
        "query_sets",
        "template_sets",
        "document_versions",
        "tool_calls",
        "plans",
        "cursors",
        "mails",
        "participants",
        "cases",
    ):
        op.drop_table(table)


def _create_mails_and_cases() -> None:
    op.create_table(
        "cases",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("customer_address", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("opened_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cases"),
    )
    op.create_index("ix_cases_customer_address", "cases", ["customer_address"])
    op.create_table(
        "participants",
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("case_id", "address", name="pk_participants"),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name="fk_participants_case_id"),
    )
    op.create_table(
        "mails",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("raw_sha256", sa.Text, nullable=False),
        sa.Column("raw", sa.LargeBinary, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("uid_validity", sa.BigInteger, nullable=False),
        sa.Column("uid", sa.BigInteger, nullable=False),
        sa.Column("received_at", INSTANT, nullable=False),
        sa.Column("case_id", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason_code", sa.Text),
        sa.Column("why", sa.Text),
        sa.Column("handled_at", INSTANT),
        sa.Column("level", sa.Integer),
        sa.Column("sender_why", sa.Text),
        sa.Column("screening_verdict", sa.Text),
        sa.Column("screening_rule", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_mails"),
        sa.UniqueConstraint("raw_sha256", name="uq_mails_raw_sha256"),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name="fk_mails_case_id"),
    )
    for column in ("message_id", "received_at", "case_id", "status"):
        op.create_index(f"ix_mails_{column}", "mails", [column])
    op.create_table(
        "cursors",
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("uid_validity", sa.BigInteger, nullable=False),
        sa.Column("last_uid", sa.BigInteger, nullable=False),
        sa.Column("left_before", INSTANT),
        sa.PrimaryKeyConstraint("folder", name="pk_cursors"),
    )


def _create_plans() -> None:
    op.create_table(
        "plans",
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("planned_at", INSTANT, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("combiner_version", sa.Text, nullable=False),
        sa.Column("company_version", sa.Text, nullable=False),
        sa.Column("index_version", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("forward_passes", sa.Integer, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("trace", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("mail_id", name="pk_plans"),
        sa.ForeignKeyConstraint(["mail_id"], ["mails.id"], name="fk_plans_mail_id"),
    )
    op.create_table(
        "tool_calls",
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("args", sa.JSON, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("threshold", sa.Float, nullable=False),
        sa.Column("votes", sa.JSON, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("mail_id", "seq", name="pk_tool_calls"),
        sa.ForeignKeyConstraint(["mail_id"], ["plans.mail_id"], name="fk_tool_calls_mail_id"),
    )


def _create_letters() -> None:
    op.create_table(
        "letters",
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("templates_version", sa.Text, nullable=False),
        sa.Column("rendered", sa.JSON, nullable=False),
        sa.Column("header_inputs", sa.JSON, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("mail_id", "kind", name="pk_letters"),
        sa.ForeignKeyConstraint(["mail_id"], ["mails.id"], name="fk_letters_mail_id"),
    )
    op.create_table(
        "document_versions",
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("raw", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_document_versions"),
    )
    op.create_table(
        "template_sets",
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_template_sets"),
    )
    op.create_table(
        "query_sets",
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("queries", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_query_sets"),
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("mail_id", sa.Text, nullable=False),
        sa.Column("case_id", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("envelope_from", sa.Text, nullable=False),
        sa.Column("recipient", sa.Text, nullable=False),
        sa.Column("raw", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_try_at", INSTANT, nullable=False),
        sa.Column("last_detail", sa.Text),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("sent_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("mail_id", "kind", name="uq_outbox_mail_id_kind"),
        sa.UniqueConstraint("message_id", name="uq_outbox_message_id"),
        sa.ForeignKeyConstraint(["mail_id"], ["mails.id"], name="fk_outbox_mail_id"),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name="fk_outbox_case_id"),
    )
    for column in ("case_id", "status"):
        op.create_index(f"ix_outbox_{column}", "outbox", [column])
