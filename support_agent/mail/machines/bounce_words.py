"""The words of bounces, by language: failure, delay, status, and where the returned mail begins.

Data only; the rules are in `bounce_wording`. The lists hold words that servers share, never one server's whole notice.
Checked by tests/unit/mail/machines/test_bounce_wording.py.
"""

from __future__ import annotations

from support_agent.mail.text.wording import word_lists, words, words_at_start

_LISTS = word_lists(__file__)

BOUNCE_SUBJECT = words_at_start(*_LISTS["bounce_subject"], anywhere=_LISTS["bounce_subject_anywhere"])
"""Words in the subject of a bounce."""

FAILED_WORDS = words_at_start(*_LISTS["failed_words"], anywhere=_LISTS["failed_words_anywhere"])
"""A notice says that a mail or a recipient failed, or that the mail is delayed."""

DELAY_WORDS = words(*_LISTS["delay_words"])
FINAL_WORDS = words(*_LISTS["final_words"])
"""The server has given up."""
CONDITION = words(*_LISTS["condition"])
"""A condition ("if ..."), up to the end of its sentence."""

STATUS_WORDS = {name.removeprefix("status "): words(*_LISTS[name]) for name in _LISTS if name.startswith("status ")}
"""Subject and detail of a status code (RFC 3463), and the wording that means it where no code is given."""

RETURNED = words(*_LISTS["returned"])
"""Where the notice ends and the returned mail begins."""
