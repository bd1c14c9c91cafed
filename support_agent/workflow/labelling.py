"""Keeps what people did with the answers that waited for them, as labels.

Invariant: only an answer that still waits is judged by what a person sends instead, and where none waits a label that
a mail has is never replaced. Call this before the answer is moved, so that a process that dies in between loses no
label. Checked by tests/journey/test_labels.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.sources import RenderedAnswer
from support_agent.cases.autonomy import Autonomy
from support_agent.company.company import Company
from support_agent.desk.judging import Done, sent, wrote
from support_agent.store.desk_records import LabelOutcome, LabelSource
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.tools.person_choice import PersonChoice


class ProposedAnswer(NamedTuple):
    """An answer that waits for a person, as data and as rendered."""

    final: FinalAnswer
    rendered: RenderedAnswer


@dataclass(frozen=True)
class Labelling:
    """Adds labels; `now` is the clock."""

    store: Store
    company: Company
    autonomy: Autonomy
    now: Callable[[], datetime]

    def sent_nothing(self, mail_id: MailId, who: str) -> None:
        """A person decided that nothing is sent."""
        self._keep(mail_id, self._waiting(mail_id), Done(LabelOutcome.NOTHING), who, LabelSource.COMMAND)

    def sent(self, mail_id: MailId, choice: PersonChoice, made: FinalAnswer, who: str) -> None:
        """A person sent what they chose."""
        waiting = self._waiting(mail_id)
        done = sent(choice, made, waiting.final if waiting is not None else None)
        self._keep(mail_id, waiting, done, who, LabelSource.COMMAND)

    def wrote(self, mail_id: MailId, words: str, who: str, how: LabelSource) -> None:
        """A person wrote these words to the customer; nothing is judged if no answer waits."""
        if (waiting := self._waiting(mail_id)) is not None:
            done = wrote(words, waiting.final, waiting.rendered, self.company.texts)
            self._keep(mail_id, waiting, done, who, how)

    def _keep(self, mail_id: MailId, waiting: ProposedAnswer | None, done: Done, who: str, how: LabelSource) -> None:
        if waiting is None and self.store.labels.valid_of(mail_id) is not None:
            return  # what waited is judged already, by another command or before the process died
        final = waiting.final if waiting is not None else None
        self.autonomy.judge(mail_id, final, done.outcome, done.choice, who, how, self.now())

    def _waiting(self, mail_id: MailId) -> ProposedAnswer | None:
        """The answer to a mail that waits for a person."""
        if (found := self.store.outbox.proposed(mail_id)) is None:
            return None
        _, record = found
        return ProposedAnswer(FinalAnswer.model_validate(record.payload), RenderedAnswer.model_validate(record.spans))
