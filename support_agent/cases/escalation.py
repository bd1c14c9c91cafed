"""Reason codes for escalations that no plan decided.

Checked by tests/unit/workflow/test_stages.py.
"""

from __future__ import annotations

from enum import StrEnum


class EscalationReason(StrEnum):
    """Why a mail goes to a person; plans have reasons of their own, and an error gives its code."""

    SCREENING = "screening"
    WITH_PERSON = "with_person"
    UNDELIVERED = "undelivered"
    UNDELIVERED_UNREADABLE = "undelivered_unreadable"
    SUPPRESSED = "suppressed"
    UNPROVEN_OURS = "unproven_ours"
    NOT_PARTICIPANT = "not_participant"
    ABOUT_NO_CASE = "about_no_case"
    UNWRITABLE = "unwritable"
    NOT_PASSED_ON = "not_passed_on"
    NOT_KEPT = "not_kept"
    BREAKER = "breaker"
    UNKNOWN_SENDERS_BREAKER = "strangers_breaker"
    FLOOD = "flood"
    OFF = "off"
    SHADOW = "shadow"
    APPROVE = "approve"
    UNDONE = "undone"
    HELD = "held"
    NOT_CARRIED_OUT = "not_carried_out"
    NOT_ALLOWED = "not_allowed"
    REMINDER = "reminder"
