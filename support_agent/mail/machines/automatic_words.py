"""The words of automatic replies, by language, and the words of people who want something.

Data only; the rules are in `automatic_wording`. A subject prefix is listed if programs write exactly that. Replies that
no list covers are left to the fitted vote (`machine_vote`). Checked by
tests/unit/mail/machines/test_automatic_wording.py, which has a notice in each language.
"""

from __future__ import annotations

from support_agent.mail.text.wording import word_lists, words

_LISTS = word_lists(__file__)

AUTOMATIC_PREFIXES = _LISTS["automatic_prefixes"]
"""Prefixes that programs put before the answered subject, and those of read receipts, in lower case. A prefix is
followed by a colon or nothing, or is in brackets."""

ANSWERED = r"(?:(?:re|aw|antw|sv|vs|rv|r|tr|odp|ynt|res|回复|回覆|答复|返信)\s*[:：]\s*)"  # noqa: RUF001
"""Reply prefixes that programs and people both use."""

SAYS_SO = words(*_LISTS["says_so"])
"""A text says that a machine sent it, or that nobody reads replies."""
MAX_WORDS_BEFORE = 5
"""Words of the sentence before `SAYS_SO` ("Please note that ..."); with more, a person is writing about such a text."""
YOURS = words(*_LISTS["yours"])
"""Before `SAYS_SO`: the sender writes about a reply that came from the reader."""

ABSENT = words(*_LISTS["absent"])
"""The sender is away, or an office is closed."""
REFERS = words(*_LISTS["refers"])
"""The reader should turn to somebody else, or write again; such a sentence asks nothing of us."""
REQUEST = words(*_LISTS["request"])
"""The sender wants something of us: a person wrote it, not an absence program. One `\\b` before the whole group lets
the search skip the inside of words."""
TROUBLE = words(*_LISTS["trouble"])
"""The sender cannot do something, or must: next to an absence, these are a customer's words."""
OF_MAIL = words(*_LISTS["of_mail"])
"""Reading and answering mail: absence notices say that the sender cannot do that."""
OWN_MATTER = words(*_LISTS["own_matter"])
"""A sentence is about its sender: "How do I log in?", but not "Need help sooner?"."""

CHALLENGE = words(*_LISTS["challenge"])
"""A challenge: the mail it answers is held until its sender proves to be a person."""
RECEIPT = words(*_LISTS["receipt"])
"""A receipt, as ticket systems send it."""
