"""Errors, named by what happens next; the class decides, the `code` is stable for logs and scripts.

Library errors are mapped to these where the library is called, and nowhere else.
"""

from __future__ import annotations

import traceback
from pathlib import Path


class SupportAgentError(Exception):
    """Base of all errors of this package; `str(error)` is one line that says what, why and what to do."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class ConfigError(SupportAgentError):
    """The configuration or the company's files cannot be used: stop, exit 2."""

    code = "config"


class TransientError(SupportAgentError):
    """It may work later: retry with backoff."""

    code = "transient"


class Postponed(SupportAgentError):
    """It cannot be done yet, as something else must end first: let the mail wait, and begin it anew later."""

    code = "postponed"


class PermanentError(SupportAgentError):
    """It will not work later either: set aside and tell the desk."""

    code = "permanent"


class ToolCallRejected(SupportAgentError):
    """The model's call is not in the catalogue or cannot be done: back to the model, a bounded number of times."""

    code = "tool_call_rejected"


class GateRefused(SupportAgentError):
    """An outgoing mail has a byte without a source: it is not sent, the case escalates."""

    code = "gate_refused"


def raised_at(error: BaseException) -> str:
    """Where an error was raised, as "file.py:12": for a log without its words, where a model may have said them."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"
