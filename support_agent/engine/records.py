"""How the engine's records are written and read: all are JSON, and ids name the brand that a mail belongs to.

Invariant: no record is ever a pickle. Checked by tests/integration/engine/test_engine.py, in every cell of every table.
"""

from __future__ import annotations

import json
from typing import Any

from dbos import Serializer, WorkflowStatus

from support_agent.engine.steps import ERROR_CLASSES, known_error
from support_agent.errors import PermanentError, SupportAgentError

QUEUE = "mails"
ACTIVE = ["ENQUEUED", "PENDING"]
"""DBOS's words for a mail that is queued or running."""
FAILED = ["ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
FINISHED = ["SUCCESS", *FAILED]
BATCH = 500
"""Most records that are deleted in one statement."""


class JsonSerializer(Serializer):
    """DBOS stores `{"value": ...}`, or `{"error": {...}}` for an error, with this; never a pickle."""

    def name(self) -> str:
        return "support_agent_json"

    def serialize(self, data: Any) -> str:
        if isinstance(data, Exception):
            error = known_error(data, "the engine")
            data = {"error": {"class": type(error).__name__, "code": error.code, "message": str(error)}}
        else:
            data = {"value": data}
        try:
            # ASCII, because every database stores an escaped lone surrogate or NUL.
            return json.dumps(data, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise PermanentError(f"only JSON can be recorded: {error}", code="not_json") from error

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(serialized_data)
        if "error" in data:
            error = data["error"]
            return ERROR_CLASSES[error["class"]](error["message"], code=error["code"])
        return data["value"]


def id_of(brand: str, mail_id: str) -> str:
    """The workflow's id; that of a mail of the first mailbox is the mail's, as before there were brands."""
    return f"{brand}:{mail_id}" if brand else mail_id


def brand_and_mail(workflow_id: str) -> tuple[str, str]:
    """The brand and the mail of a workflow."""
    brand, _, mail_id = workflow_id.rpartition(":")
    return brand, mail_id


def brand_logged(brand: str) -> dict[str, str]:
    """What the log says of a brand."""
    return {"brand": brand} if brand else {}


def queue_of(brand: str) -> str:
    """The name of a brand's queue."""
    return f"{QUEUE}-{brand}" if brand else QUEUE


def failure_of(status: WorkflowStatus) -> SupportAgentError:
    """Why a mail failed, as one of our errors."""
    if isinstance(status.error, SupportAgentError):
        return status.error
    return PermanentError(
        f"given up after {interruptions_of(status)} interruptions: each time the program died or was stopped "
        "while it handled this mail",
        code="interrupted",
    )


def interruptions_of(status: WorkflowStatus) -> int:
    """How often a process died while it handled the mail."""
    return int((status.attributes or {}).get("interruptions", 0))
