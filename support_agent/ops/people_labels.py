"""Writes what people did as labelled mails, in the format of `eval mails` and `calibrate --mails`.

Invariant: only the owner may read the mails, and only what is exact is written: an approved answer by its calls,
another document, field or canned question as that, own words and nothing as a mail for a person. A mail of several
questions is written only if its answer was approved. The folder is named by what it was made from, and nothing else is
changed. Checked by tests/unit/ops/test_people_labels.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from support_agent.core.frozen import Frozen
from support_agent.core.levels import CUSTOMER
from support_agent.errors import ConfigError
from support_agent.ops.evals.mail_labels import ASKED_BACK, ESCALATED, LABELS, topic_of
from support_agent.planner.plan import call_text
from support_agent.store.desk_records import Label, LabelOutcome
from support_agent.store.records import PlanRecord, ToolCallStatus
from support_agent.store.store import Store

VERSION_DIGITS = 12
PRIVATE_FOLDER = 0o700


class Exported(Frozen):
    """A folder of labelled mails; `version` names the labels that it was made from."""

    folder: Path
    version: str
    mails: int
    left_out: int


def export(store: Store, folder: Path) -> Exported:
    """Write the labelled mails below a folder, in one that is named by its version.

    Raises:
        ConfigError: nothing was judged yet, or the folder cannot be written.
    """
    labels = store.labels.valid()
    rows = [(label, row) for label in labels if (row := _row(store, label)) is not None]
    if not rows:
        raise ConfigError("no mail has a label that is exact: people must approve or correct some answers first")
    text = "".join(json.dumps(row) + "\n" for _, row in rows)
    version = f"people-{hashlib.sha256(text.encode()).hexdigest()[:VERSION_DIGITS]}"
    target = folder / version
    try:
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(PRIVATE_FOLDER)
        for label, row in rows:
            (target / str(row["file"])).write_bytes(store.mails.raw(label.mail_id))
        (target / LABELS).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{target}: {error.strerror}: name a folder that can be written") from error
    return Exported(folder=target, version=version, mails=len(rows), left_out=len(labels) - len(rows))


def _row(store: Store, label: Label) -> dict[str, object] | None:
    """One line of the labels; None: it is not known exactly what was right for each question."""
    mail, plan = store.mails.get(label.mail_id), store.plans.get(label.mail_id)
    if mail is None or plan is None or mail.level is None or not store.mails.raw(mail.id):
        return None
    expected = list(_expected(label, plan))
    if not expected:
        return None
    row: dict[str, object] = {"file": f"{label.mail_id}.eml", "level": mail.level, "expected": expected}
    return {**row, "customer": mail.sender_address} if mail.level == CUSTOMER else row


def _expected(label: Label, plan: PlanRecord) -> Iterator[list[str]]:
    if label.outcome is LabelOutcome.SAME:
        done = [call_text(call.tool, call.args) for call in plan.calls if call.status is ToolCallStatus.DONE]
        yield from ([outcome] for outcome in done if topic_of(outcome) is not None)
    elif _questions(plan) == 1 and (outcome := _outcome(label)) is not None:
        yield [outcome]


def _outcome(label: Label) -> str | None:
    """What was right instead of the answer, as one outcome; None: a series or a record alone is not a whole call."""
    if label.choice is None:
        return ESCALATED if label.outcome in (LabelOutcome.OWN_WORDS, LabelOutcome.NOTHING) else None
    kind, _, name = label.choice.partition(":")
    return {
        "document": f"send_document({name})",
        "field": f"send_account_field({name})",
        "question": ASKED_BACK,
    }.get(kind)


def _questions(plan: PlanRecord) -> int:
    trace = plan.trace
    planned = trace.get("plan") if isinstance(trace, dict) else None
    asked = planned.get("asked") if isinstance(planned, dict) else None
    return asked if isinstance(asked, int) else 0
