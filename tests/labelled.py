"""The labelled customer mails of `tests/mails`; what the labels mean stands in tests/mails/README.md."""

from __future__ import annotations

from pathlib import Path

from support_agent.ops.evals.mail_labels import MailLabel, read_labels

MAILS = Path(__file__).parent / "mails"


def labels(name: str) -> tuple[MailLabel, ...]:
    """The labels of a set, "tuning" or "labelled"."""
    return read_labels(MAILS / name)
