"""What a person gets when a case stops: everything that was seen and considered, as data.

Invariant: a packet goes to staff only. It is the one mail that holds a customer's own text and passages of the web, and
still nothing of a model's: calls are closed, reasons are codes with the company's words. Checked by
tests/unit/answer/test_packet.py and tests/journey/test_web_pages.py.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level

Probability = Annotated[float, Field(ge=0, le=1)]


class RunnerUp(Frozen):
    """A call that was considered and not chosen."""

    call: str
    confidence: Probability


class Considered(Frozen):
    """A call that was chosen: its closed arguments as text, how sure the choice was, and what came of it."""

    call: str
    confidence: Probability
    outcome: str
    runners_up: tuple[RunnerUp, ...] = ()


class FoundDocument(Frozen):
    """A document that the search found; the score is a cosine similarity."""

    number: int
    title: str
    score: Annotated[float, Field(ge=-1, le=1)]


class QuotedSentence(Frozen):
    """A whole sentence of a document, and its position in it, from 0."""

    position: Annotated[int, Field(ge=0)]
    text: str


class FoundEvidence(Frozen):
    """Sentences of one document that bear on a question, in its order; the grade is the probability that they do."""

    number: int
    title: str
    grade: Probability | None = None
    sentences: Annotated[tuple[QuotedSentence, ...], Field(min_length=1)]


class FoundPage(Frozen):
    """A passage of a web page, as it was found: not the company's words, which no customer is sent.

    `found_by` names the sources that named the page; `heading` is its title, "" where it has none. `document` is the
    number of the company's document whose page it is (`desk.retrieved.numbered`), None where it is no document's.
    """

    address: str
    heading: str
    text: str
    found_by: tuple[str, ...]
    document: Annotated[int, Field(ge=1)] | None = None


class QuestionRetrieval(Frozen):
    """What the fact room found out about a question, and nothing that a model wrote.

    `number` counts the mail's questions from 1, `question` is the customer's own text; `reason_code` says what came of
    it, its words come from `words.yaml`. `evidence` is the company's own sentences, `pages` are none of its.
    """

    number: Annotated[int, Field(ge=1)]
    question: str
    reason_code: str
    evidence: tuple[FoundEvidence, ...] = ()
    pages: tuple[FoundPage, ...] = ()


class Packet(Frozen):
    """One case for a person. `mail_text` is the customer's mail, or its beginning; `answered_text` what was
    answered, if part was.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    locale: str = "en"
    """The locale of the staff."""
    case_id: str
    customer_address: str
    level: Level
    level_why: str
    """Why the sender has that level, in one sentence."""
    subject: str
    mail_text: str
    left_out: Annotated[int, Field(gt=0)] | None = None
    """How many more characters the mail has than `mail_text`; the whole mail goes along as an attachment."""
    reason_code: str
    """Why the case stopped, as a code; its words come from `words.yaml` where it has some."""
    why: str = ""
    """What more is known of the reason ("the plan needs level 3")."""
    considered: tuple[Considered, ...] = ()
    found: tuple[FoundDocument, ...] = ()
    retrievals: tuple[QuestionRetrieval, ...] = Field(default=(), alias="looked")
    """The questions that evidence was retrieved for and are for a person now; `looked` in templates and as stored."""
    answered_text: str | None = None
    reply_address: str
    """A reply to this address is passed on to the customer."""

    @property
    def evidence(self) -> tuple[FoundEvidence, ...]:
        """That of all questions, in their order."""
        return tuple(evidence for one in self.retrievals for evidence in one.evidence)

    @property
    def pages(self) -> tuple[FoundPage, ...]:
        """Those of all questions, in their order."""
        return tuple(page for one in self.retrievals for page in one.pages)
