"""A topic of the search as the model sees it: by its title, and in the first words of its summary.

Checked by tests/unit/planner/test_loop.py.
"""

from __future__ import annotations

from support_agent.company.text import split_sentences
from support_agent.errors import PermanentError
from support_agent.planner.choice import Option
from support_agent.tools.base import Context, Match


def topic_option(match: Match, context: Context) -> Option:
    """A topic of the search as the model sees it: by title, never by number, with the first sentence of its summary.

    What follows in a summary sets a topic off from its neighbours; shown to the model it costs time and, measured on
    the tuning mails, changes nothing.
    """
    kind, _, name = match.topic.partition(":")
    match kind:
        case "document":
            head = context.documents[int(name)].head
            title, summary = head.title, head.summary
        case "field":
            field = context.accounts.fields[name]
            title, summary = f"This customer's own {field.label_for('en').lower()}", field.summary
        case "series":
            series = context.accounts.series[name]
            title, summary = f"This customer's own {series.label_for('en').lower()} over time", series.summary
        case "record":
            record = context.accounts.records[name]
            title, summary = f"One {record.label_for('en').lower()} of this customer, by its number", record.summary
        case _:
            raise PermanentError(f"the search found a topic of no known kind: {match.topic!r}", code="topic")
    says = split_sentences(summary)[0].removesuffix(".") if summary else ""
    return Option(key=match.topic, title=title, summary=says)
