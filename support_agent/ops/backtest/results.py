"""What the agent would have done with one past mail, and what a person did; a line of the journal."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from support_agent.core.frozen import Frozen
from support_agent.core.modes import document_of
from support_agent.ops.backtest.contradictions import Contradiction
from support_agent.ops.backtest.judging import label_of
from support_agent.ops.dry_run import DryRunAnswer, Outcome
from support_agent.store.desk_records import LabelOutcome

ChoiceStatus = Literal["sent", "unsure", "stopped"]


class PastChoice(Frozen):
    """The likeliest topic of a question. `unsure`: only its confidence was too low; `stopped`: another rule forbade it.

    `threshold` is what the answer needed.
    """

    question: int
    topic: str
    confidence: float
    threshold: float
    status: ChoiceStatus

    @property
    def document(self) -> int | None:
        """The number of the document; None for an account value."""
        return document_of(self.topic)


class PastResult(Frozen):
    """One question and its end. `reason` says why a person got it, or a part; `rule` filed it or sent it to the desk.

    `answered_with` has the documents that the person's answer is made of, `waited_s` how long it took. `question` and
    `said` are cut.
    """

    key: str
    place: str
    at: datetime
    language: str
    subject: str
    question: str
    outcome: Outcome
    reason: str | None
    rule: str | None
    level: int
    choices: tuple[PastChoice, ...]
    answer: DryRunAnswer | None
    seconds: float
    is_answered: bool
    said: str
    waited_s: float | None
    answered_with: tuple[int, ...]
    contradictions: tuple[Contradiction, ...]

    def sent_at(self, threshold: float) -> tuple[PastChoice, ...]:
        """What would be sent if this confidence were needed.

        Below the threshold that was used, these are the choices that only were not sure enough for it.
        """
        return tuple(one for one in self.choices if one.status != "stopped" and one.confidence >= threshold)

    def label_at(self, threshold: float) -> LabelOutcome:
        """What the person's answer shows about the documents among `sent_at`."""
        documents = {one.document for one in self.sent_at(threshold) if one.document is not None}
        return label_of(documents, self.answered_with, is_answered=self.is_answered)

    def as_sent(self) -> PastResult:
        """The result with only the choices that were sent."""
        return self.model_copy(update={"choices": tuple(one for one in self.choices if one.status == "sent")})

    @property
    def text(self) -> str:
        """The question as it is compared and shown."""
        return f"{self.subject}. {self.question}".strip(". ")

    @property
    def is_automatic(self) -> bool:
        """Whether the agent would only file the mail: a machine wrote it."""
        return self.outcome == "filed"
