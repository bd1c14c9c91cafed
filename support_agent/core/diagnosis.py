"""What `doctor` reports about one part: its state, the severity, and what to do; with texts that diagnoses share.

Invariant: a diagnosis says what to do exactly if something is wrong. Checked by tests/unit/ops/test_doctor.py and
tests/unit/ops/test_store_health.py.
"""

from __future__ import annotations

from enum import StrEnum

from support_agent.core.frozen import Frozen

NAMED = 5
"""How many cases or mails a diagnosis names; it only counts the rest."""


class Health(StrEnum):
    """Severity: an `error` means that no mail is answered; a `warning` needs a person's attention."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Diagnosis(Frozen):
    """The state of one part, and what to do; `todo` is "" if there is nothing to do."""

    subject: str
    severity: Health
    what: str
    todo: str = ""


def ok(subject: str, what: str) -> Diagnosis:
    """The part works."""
    return Diagnosis(subject=subject, severity=Health.OK, what=what)


def warning(subject: str, what: str, todo: str) -> Diagnosis:
    """The part needs a person's attention."""
    return Diagnosis(subject=subject, severity=Health.WARNING, what=what, todo=todo)


def error(subject: str, what: str, todo: str) -> Diagnosis:
    """The part keeps all mails from being answered."""
    return Diagnosis(subject=subject, severity=Health.ERROR, what=what, todo=todo)


def mails(number: int) -> str:
    """A number of mails in words: "1 mail", "2 mails"."""
    return "1 mail" if number == 1 else f"{number} mails"


def named(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
