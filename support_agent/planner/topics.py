"""Turns a topic of the search into an option for the model: its title and the first sentence of its summary.

Checked by tests/unit/planner/test_loop.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from support_agent.company.documents import Document
from support_agent.company.text import split_sentences
from support_agent.errors import PermanentError
from support_agent.planner.choice import Option
from support_agent.tools.base import AccountData


def topic_option(topic: str, documents: Mapping[int, Document], accounts: AccountData) -> Option:
    """A topic as the model sees it: by title, never by number, with the first sentence of its summary.

    On the tuning mails, the rest of the summary cost time and changed no choice.
    """
    kind, _, name = topic.partition(":")
    match kind:
        case "document":
            head = documents[int(name)].head
            title, summary = head.title, head.summary
        case "field":
            field = accounts.fields[name]
            title, summary = f"This customer's own {field.label_for('en').lower()}", field.summary
        case "series":
            series = accounts.series[name]
            title, summary = f"This customer's own {series.label_for('en').lower()} over time", series.summary
        case "record":
            record = accounts.records[name]
            title, summary = f"One {record.label_for('en').lower()} of this customer, by its number", record.summary
        case _:
            raise PermanentError(f"the search found a topic of an unknown kind: {topic!r}", code="topic")
    says = split_sentences(summary)[0].removesuffix(".") if summary else ""
    return Option(key=topic, title=title, summary=says)
