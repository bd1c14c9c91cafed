"""Errors by what happens next: the class decides that, and the `code` is stable for logs and scripts.

The code that calls a library maps the library's errors to these.
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
    """Something else must end first: let the mail wait, and start its journey again later."""

    code = "postponed"


class PermanentError(SupportAgentError):
    """It will not work later either: set the mail aside and notify the desk."""

    code = "permanent"


class ToolCallRejected(SupportAgentError):
    """The model's call is not in the catalogue or cannot be done: ask the model again, a bounded number of times."""

    code = "tool_call_rejected"


class GateRefused(SupportAgentError):
    """An outgoing mail has a byte without a source: do not send it, escalate the case."""

    code = "gate_refused"


def raised_at(error: BaseException) -> str:
    """Where an error was raised, as "file.py:12"; for logs that must not repeat its text, which may be a model's."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"
