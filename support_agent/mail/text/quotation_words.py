"""The words that mail programs write around a quotation, by language: copied headers, separators, attributions.

Data only; the rules are in `quotation` and `signatures`. A word is listed because a mail program writes it, never
because a person does. Checked by tests/unit/mail/text/test_quotation_words.py, which has a reply in each language.
"""

from __future__ import annotations

from support_agent.mail.text.wording import word_lists

_LISTS = word_lists(__file__)

FROM_LABELS = _LISTS["from_labels"]
"""The sender: the first line of Outlook's copied header. All lists here are in lower case."""
SENT_LABELS = _LISTS["sent_labels"]
"""The date, with a label that only programs use: a person who writes about a journey has a date, but no "Sent"."""
DATE_LABELS = _LISTS["date_labels"]
TO_LABELS = _LISTS["to_labels"]
OTHER_LABELS = _LISTS["other_labels"]
SUBJECT_LABELS = _LISTS["subject_labels"]
RULER_WORDS = _LISTS["ruler_words"]
"""Phrases between dashes above the old mail (Outlook, Gmail, Thunderbird, Lotus Notes, QQ Mail); patterns."""
FORWARD_LINES = _LISTS["forward_lines"]
"""The line that Apple Mail puts above a forwarded mail."""
REPLY_ABOVE = _LISTS["reply_above"]
"""The line that help desks put on top of their mails; everything below it is theirs; patterns."""
WROTE = _LISTS["wrote"]
"""The verb of an attribution ("On <date>, <name> wrote:") where it ends its line; patterns."""
WROTE_BEFORE_NAME = _LISTS["wrote_before_name"]
"""The same verb in languages that put the name after it."""
WROTE_SUFFIXES = _LISTS["wrote_suffixes"]
"""The same verb in scripts that join it to the name."""
FOLLOWING = _LISTS["following"]
"""Words between the verb and the colon."""
ATTRIBUTION_STARTS = _LISTS["attribution_starts"]
"""Words that begin the date of an attribution."""

DEVICES = _LISTS["devices"]
"""The whole line that a phone or a mail program puts under a mail; patterns."""
PERSONAL = _LISTS["personal"]
"""Words of a person's sentence; no program writes them in that line."""
WISHING = _LISTS["wishing"]
"""Words of people about themselves or their wishes; they do not occur in contact data."""
CLOSINGS = _LISTS["closings"]
"""Closing formulas above the name; patterns."""
