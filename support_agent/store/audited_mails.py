"""Audit entries about mails to customers: which bytes left or were decided about, and which documents are in them.

Invariant: an entry has ids, a digest and versions, and nothing of a person; mails to the desk have none. If a mail
cannot be read any more, because its key is gone, the digest is null, and no documents are named. Checked by
tests/contract/store/test_audit.py and tests/integration/store/test_unreadable_mails.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy
from pydantic import JsonValue
from sqlalchemy import Connection, bindparam
from sqlmodel import col

from support_agent.store import audit
from support_agent.store.audit import AuditEvent
from support_agent.store.keys import unless_key_is_gone
from support_agent.store.records import CUSTOMER_KINDS, OutboxId
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import OutboxRow, RenderedMailRow

_IDS: Any = sqlalchemy.select(col(OutboxRow.mail_id), col(OutboxRow.case_id), col(OutboxRow.kind)).where(
    col(OutboxRow.id) == bindparam("of"), col(OutboxRow.kind).in_(CUSTOMER_KINDS)
)
_TO_CUSTOMER = _IDS.add_columns(col(OutboxRow.raw), col(RenderedMailRow.payload)).outerjoin(
    RenderedMailRow, is_its_rendered_mail()
)


def append(
    connection: Connection, act: AuditEvent, who: str, outbox_id: OutboxId, at: datetime, **more: JsonValue
) -> None:
    """Add an entry about a mail, if it goes to a customer; as `audit.append`, call it last."""
    of = {"of": outbox_id}
    rows: Sequence[Any] | None = unless_key_is_gone(lambda: connection.execute(_TO_CUSTOMER, of).all())
    if rows is None:
        rows = [(*ids, None, None) for ids in connection.execute(_IDS, of)]
    if not rows:
        return
    *ids, raw, payload = rows[0]
    documents: list[JsonValue] = [
        {name: item.get(name) for name in ("number", "language", "version")}
        for answer in (payload or {}).get("answers", ())
        for item in answer["items"]
        if item.get("kind") == "document"
    ]
    said: dict[str, JsonValue] = dict(zip(("mail_id", "case_id", "kind"), ids, strict=True))
    digest = None if raw is None else hashlib.sha256(raw).hexdigest()
    what = {"outbox_id": outbox_id, **said, "sha256": digest, "documents": documents, **more}
    audit.append(connection, act, who, at, what)
