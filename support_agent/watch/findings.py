"""What is wrong now with a running agent."""

from __future__ import annotations

from enum import StrEnum


class AlarmKind(StrEnum):
    """What may be wrong; the desk gets one mail at a time about each."""

    MAILBOX_UNREACHABLE = "mailbox_unreachable"
    MAILBOX_SILENT = "mailbox_silent"
    BACKLOG = "backlog"
    STOPPED = "stopped"
    UNCERTAIN = "uncertain"
    MODEL = "model"
    CERTIFICATE = "certificate"
    TOKEN = "token"
