"""The closed lists from which a person chooses what a customer gets instead: documents, fields, series, records.

Invariant: only what this customer may be sent today is listed, and each entry is a `PersonChoice`. Checked by
tests/unit/desk_page/test_choices.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from support_agent.company.company import Company
from support_agent.company.periods.recognition import periods
from support_agent.company.values import Customer
from support_agent.errors import SupportAgentError
from support_agent.mail.senders.identity import Sender
from support_agent.ops.explain import MailStory
from support_agent.tools.person_choice import EVER, PersonChoice

LEAST_SHARE = 0.005
"""Smaller probabilities would be shown as 0%."""
MOST_RECORDS = 50
"""Of one kind; the newest first, as the company's query gives them."""


class Choosable(NamedTuple):
    """One entry: the choice as text, and what it is called. `probability` is the machine's, None if it has none."""

    choice: str
    title: str
    probability: float | None = None


class Group(NamedTuple):
    """Entries of one kind; `code` names it in the page's words."""

    code: str
    entries: tuple[Choosable, ...]


class Parts(NamedTuple):
    """The parts of the item that is previewed, as links: sections of a document, periods of a series."""

    code: str
    entries: tuple[Choosable, ...]
    chosen: tuple[str, ...]


class Recipient(NamedTuple):
    """Whom an answer goes to, in which language, and on which day."""

    sender: Sender
    customer: Customer | None
    locale: str
    today: date


def groups(company: Company, to: Recipient) -> tuple[Group, ...]:
    """Everything that may be sent to this customer, by kind; kinds with nothing are left out."""
    today, level, accounts = to.today, to.sender.level, company.accounts
    found = [
        Group(
            "document",
            tuple(
                Choosable(f"document:{one.number}", f"{one.number} {one.head.title}")
                for one in company.documents
                if one.may_be_sent(today, level)
            ),
        )
    ]
    if to.customer is not None:
        fields = ((name, spec) for name, spec in accounts.fields.items() if spec.level <= level)
        series = ((name, spec) for name, spec in accounts.series.items() if spec.level <= level)
        found += [
            Group("field", tuple(Choosable(f"field:{name}", spec.label_for(to.locale)) for name, spec in fields)),
            Group("series", tuple(Choosable(f"series:{name}", spec.label_for(to.locale)) for name, spec in series)),
            Group("record", tuple(_records(company, to, to.customer))),
        ]
    return tuple(group for group in found if group.entries)


def _records(company: Company, to: Recipient, customer: Customer) -> Iterator[Choosable]:
    for kind, spec in company.accounts.records.items():
        if spec.level > to.sender.level:
            continue
        try:
            own = company.accounts.own_records(kind, customer, to.locale)
        except SupportAgentError:  # `doctor` says more; the other lists are there
            continue
        for record in own[:MOST_RECORDS]:
            choice = PersonChoice(f"record:{kind}", record.identifier)
            if PersonChoice.read(choice.text) is not None:
                yield Choosable(choice.text, f"{spec.label_for(to.locale)} {record.identifier}")


def parts(company: Company, choice: PersonChoice, to: Recipient) -> Parts | None:
    """The parts of a choice that a person may change; None: it has none."""
    kind, _, name = choice.key.partition(":")
    if kind == "document" and name.isdigit() and int(name) in company.by_number:
        return _sections(company, choice, int(name), to)
    if kind == "series" and name in company.accounts.series:
        names = [period.name for period in periods(to.today)]
        entries = tuple(Choosable(PersonChoice(choice.key, one).text, one.replace("_", " ")) for one in names)
        return Parts("period", entries, (PersonChoice(choice.key, choice.part or EVER).text,))
    return None


def _sections(company: Company, choice: PersonChoice, number: int, to: Recipient) -> Parts:
    """Each section as a link that adds it to those that are chosen, or takes it away."""
    translated = company.in_language(to.locale, to.today)
    document = translated.get(number, company.by_number[number])
    chosen = {int(one) for one in choice.part.split(",") if one.isdigit()}
    entries, on = list[Choosable](), list[str]()
    for place, section in enumerate(document.sections, start=1):
        kept = sorted(chosen ^ {place})
        link = PersonChoice(choice.key, ",".join(map(str, kept))).text
        entries.append(Choosable(link, section[0].heading or section[0].text[:60]))
        on += [link] if place in chosen else []
    return Parts("section", tuple(entries), tuple(on))


def considered(company: Company, mail: MailStory | None, to: Recipient) -> tuple[Choosable, ...]:
    """What the machine considered for a mail, the likeliest first, without what it gave no chance."""
    known = {entry.choice: entry for group in groups(company, to) for entry in group.entries}
    found: dict[str, float] = {}
    for call in mail.plan.calls if mail is not None and mail.plan is not None else ():
        for vote in call.considered:
            found[vote.key] = max(found.get(vote.key, 0.0), vote.probability)
    ranked = sorted(((key, share) for key, share in found.items() if key in known), key=lambda entry: -entry[1])
    return tuple(known[key]._replace(probability=share) for key, share in ranked if share >= LEAST_SHARE)
