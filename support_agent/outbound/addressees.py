"""Who at the desk gets the packets of a case.

Invariant: a case keeps the desk of its first packet, unless somebody has the case or that desk is gone. Checked by
tests/journey/test_desk_routes.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from support_agent.cases.decision import Decision
from support_agent.cases.desks import Subject, desk_for, language_in, languages_in
from support_agent.cases.route import RoutedMail, staff_addresses
from support_agent.cases.topics import recorded_topics, topics_for_person
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER, lower_address
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseId
from support_agent.store.store import Store
from support_agent.tools.ending import Reason


@dataclass(frozen=True)
class Addressees:
    """Chooses who gets the packets of a case."""

    store: Store
    settings: Settings
    company: Company

    def of(self, mail: RoutedMail, decision: Decision) -> str:
        """Who gets the case's packets: the staff member who has the case, else its desk.

        The rules of `desk.routes` choose the desk for the case's first packet, and again if its desk is gone.
        """
        case, people = self.store.cases.get_one(mail.route.case_id), staff_addresses(self.settings)
        language = self._language(mail) if case.language is None else None
        who = case.assignee if case.assignee in people else None
        if who is None and case.desk is not None and lower_address(case.desk) in people:
            who = case.desk
        desk = desk_for(self.settings.desk, self._subject(mail, decision)) if who is None else None
        with self.store.database.together():
            if language is not None:
                self.store.cases.note_language(case.id, language)
            if desk is None:
                return who or ""
            return self.store.cases.give_to_desk(case.id, desk.address, desk.why, case.desk).desk or desk.address

    def _language(self, mail: RoutedMail) -> str | None:
        """The language to note with the case; None: the customer's locale decides, and cannot be read now."""
        locale = self._locale(mail.sender)
        if locale is None and len(languages_in(mail.message)) > 1:
            recorded = self.store.mails.get(mail.id)  # without a level: see `Senders.of_notice`
            if mail.sender.level >= CUSTOMER or recorded is None or recorded.level is None:
                return None
        return language_in(mail.message, locale)

    def _subject(self, mail: RoutedMail, decision: Decision) -> Subject:
        """What the rules of `desk.routes` look at."""
        case_id, calls, is_answered = mail.route.case_id, decision.plan.calls, decision.final is not None
        return Subject(
            topics=lambda: topics_for_person(calls, is_answered=is_answered) or self._planned_topics(case_id),
            level=mail.sender.level,
            reason=decision.plan.reason or Reason.NOT_COVERED,
            language=lambda: language_in(mail.message, self._locale(mail.sender)),
        )

    def _planned_topics(self, case_id: CaseId) -> tuple[str, ...]:
        """The topics of the last mail of the case that has any: what did not help was about something."""
        try:
            timeline = self.store.cases.timeline(case_id)
        except ValidationError:  # another version of the program wrote it
            return ()
        for entry in reversed(timeline.mails if timeline is not None else ()):
            calls = entry.plan.calls if entry.plan is not None else ()
            if topics := recorded_topics(call.votes for call in calls):
                return topics
        return ()

    def _locale(self, sender: Sender) -> str | None:
        """The locale of a known customer."""
        customer = self.company.addressee(sender.address, sender.level)
        return None if customer is None else customer.locale
