"""Recognise a mail that only withdraws a request, or says that all is well: it asks nothing, so it needs no answer.

Invariant: such a mail goes to a person and is never filed, and apart from the closing words it contains no question,
wish, denial or exception. Checked by tests/unit/mail/text/test_closing.py.
"""

from __future__ import annotations

import re

from support_agent.mail.machines.automatic_wording import QUOTED, asks
from support_agent.mail.machines.automatic_words import ANSWERED
from support_agent.mail.text.wording import has_question_mark, word_lists, words

_LISTS = word_lists(__file__)
MAX_CHARACTERS = 1_500
MAX_WORDS = 40
"""Such mails are short; a longer one has something to say."""
MAX_THANKS_WORDS = 8
"""Words of a thank-you reply besides the thanks: a name, a wish for the weekend."""

CLOSES = words(*_LISTS["closes"])
"""Something is over, solved, or not wanted any more; by language."""
THANKS = words(*_LISTS["thanks"])
OPEN = words(*_LISTS["open"])
"""Something is not over, is denied, or is to be replaced."""
NEWS = re.compile(
    r"\d|https?:|\b(?:is|are|was|has|send|ist|sind|hat|habe|schick\w*|est|envoy\w+|es|son|env[íi]\w+)\b", re.IGNORECASE
)
"""A number or a statement; next to thanks it may be an answer or a complaint."""
REPLY = re.compile(rf"^\W{{0,3}}{ANSWERED}", re.IGNORECASE)
WORD = re.compile(r"\w+")


def why_closing(subject: str, text: str) -> str:
    """Why a mail no longer asks for anything, or "".

    Args:
        subject: Thanks alone count only in a reply, because they close an earlier request.
        text: The sender's own new text.
    """
    if len(text) > MAX_CHARACTERS or has_question_mark(text):
        return ""
    plain = " ".join(QUOTED.sub(" ", text).split())
    closing = CLOSES.search(plain)
    rest = CLOSES.sub(" ", plain)
    if len(WORD.findall(plain)) > MAX_WORDS or OPEN.search(rest) or asks(rest):
        return ""
    if closing:
        return f"the mail withdraws or closes what was asked: {closing[0].strip()[:80]!r}"
    besides = WORD.findall(THANKS.sub(" ", plain))
    is_thanks = THANKS.search(plain) is not None and len(besides) <= MAX_THANKS_WORDS and not NEWS.search(plain)
    return "the mail says thanks and asks for nothing" if is_thanks and REPLY.match(subject) else ""
