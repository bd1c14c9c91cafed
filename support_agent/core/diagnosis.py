"""What `doctor` says of one part: how it is, how bad that is, and what to do; with the words that diagnoses share.

Invariant: there is something to do exactly where something is wrong. Checked by tests/unit/ops/test_doctor.py and
tests/unit/ops/test_store_health.py.
"""

from __future__ import annotations

from enum import StrEnum

from support_agent.core.frozen import Frozen

NAMED = 5
"""Cases and mails that a diagnosis names; the rest is a number."""


class Health(StrEnum):
    """How bad it is: with an `error` no mail is answered, a `warning` wants a person's look."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Diagnosis(Frozen):
    """How one part is, and what to do; `todo` is "" where there is nothing to do."""

    subject: str
    severity: Health
    what: str
    todo: str = ""


def ok(subject: str, what: str) -> Diagnosis:
    """It is well."""
    return Diagnosis(subject=subject, severity=Health.OK, what=what)


def warning(subject: str, what: str, todo: str) -> Diagnosis:
    """A person should look."""
    return Diagnosis(subject=subject, severity=Health.WARNING, what=what, todo=todo)


def error(subject: str, what: str, todo: str) -> Diagnosis:
    """No mail is answered like this."""
    return Diagnosis(subject=subject, severity=Health.ERROR, what=what, todo=todo)


def mails(number: int) -> str:
    """So many mails, in words."""
    return "1 mail" if number == 1 else f"{number} mails"


def named(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
