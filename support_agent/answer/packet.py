"""The packet that a person gets with an escalated case: what was found and considered, as data.

Invariant: a packet goes to staff only. It is the only mail with a customer's text and web passages, and has no text of
a model: calls are closed, reasons are codes with the company's words. Checked by tests/unit/answer/test_packet.py and
tests/journey/test_web_pages.py.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level

Probability = Annotated[float, Field(ge=0, le=1)]


class RunnerUp(Frozen):
    """A call that was considered and not chosen."""

    call: str
    confidence: Probability


class ConsideredCall(Frozen):
    """A call that was chosen: its closed arguments as text, its confidence, and its outcome."""

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
    """Relevant sentences of one document, in its order; the grade is the probability that they are relevant."""

    number: int
    title: str
    grade: Probability | None = None
    sentences: Annotated[tuple[QuotedSentence, ...], Field(min_length=1)]


class FoundPage(Frozen):
    """A passage of a web page: not the company's words, so customers never get it.

    `found_by` names the sources of the page; `heading` is its title, or "". `document` is the number of the company's
    document with this address (`desk.retrieved.numbered`), or None.
    """

    address: str
    heading: str
    text: str
    found_by: tuple[str, ...]
    document: Annotated[int, Field(ge=1)] | None = None


class QuestionRetrieval(Frozen):
    """The findings of the fact room for a question, without text of a model.

    `number` counts the mail's questions from 1, `question` is the customer's text; `reason_code` is the result, its
    words come from `words.yaml`. `evidence` is the company's sentences, `pages` are of others.
    """

    number: Annotated[int, Field(ge=1)]
    question: str
    reason_code: str
    evidence: tuple[FoundEvidence, ...] = ()
    pages: tuple[FoundPage, ...] = ()


class Offered(Frozen):
    """A command that a person at the desk may send: its line with the key, and a link that writes the mail.

    `code` names it in `words.yaml`; `title` is that of the document that it names, None for other commands.
    """

    code: str
    line: str
    link: str
    title: str | None = None


class StoryEntry(Frozen):
    """One mail of a case before the one that the packet is about: who wrote it, and its words, "" for a fixed mail.

    `is_known`: the author of the mail that the packet is about wrote it or got it, not only another participant.
    """

    who: Literal["customer", "answer", "acknowledgement", "person_reply"]
    at: AwareDatetime
    text: str
    is_known: bool = True


class Packet(Frozen):
    """One case for a person. `mail_text` is the customer's mail, or its beginning; `answered_text` is the part that was
    answered, if any, `proposed_text` what would be.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    locale: str = "en"
    """The locale of the staff."""
    case_id: str
    about_mail_id: str | None = None
    """The customer's mail that replies and commands are about: the packet's own, or, in a notice about a staff mail,
    the one that staff answered. "": of none that is known; None: stored by version 0.1.0.
    """
    customer_address: str
    customer_reply_to: str | None = None
    """The addresses in the mail's Reply-To that are not the customer's: what a person writes does not go there."""
    level: Level
    level_why: str
    """Why the sender has that level, in one sentence."""
    subject: str
    mail_text: str
    left_out: Annotated[int, Field(gt=0)] | None = None
    """How many more characters the mail has than `mail_text`."""
    original_id: str | None = None
    """The id of the customer's mail if it could not be delivered along with the packet; None: it is attached."""
    reason_code: str
    """Why the case was escalated, as a code; its words, if any, come from `words.yaml`."""
    why: str = ""
    """Details of the reason ("the plan needs level 3")."""
    vote: str = ""
    """The version of the fitted vote that says so, or "": for the operator, never shown to the desk."""
    considered: tuple[ConsideredCall, ...] = ()
    found: tuple[FoundDocument, ...] = ()
    retrievals: tuple[QuestionRetrieval, ...] = Field(default=(), alias="looked")
    """The questions that evidence was retrieved for and are for a person now; `looked` in templates and as stored."""
    answered_text: str | None = None
    proposed_text: str | None = None
    """The answer that waits for a person, with its subject, as it would arrive; `reason_code` is its mode."""
    proposed_id: str | None = None
    """Its id in the outbox."""
    leaves_at: AwareDatetime | None = None
    """When that answer leaves by itself; None: it waits for a person."""
    offered: tuple[Offered, ...] = ()
    offered_until: AwareDatetime | None = None
    """When the keys of the offered commands expire."""
    story: tuple[StoryEntry, ...] = ()
    """The case so far, the oldest mail first, where the customer says that it went wrong or asks for news."""
    story_left_out: Annotated[int, Field(gt=0)] | None = None
    """How many of the oldest mails of the case the story leaves out."""
    reply_address: str
    """A reply to this address is passed on to the customer."""

    @property
    def evidence(self) -> tuple[FoundEvidence, ...]:
        """The evidence of all questions, in order."""
        return tuple(evidence for one in self.retrievals for evidence in one.evidence)

    @property
    def pages(self) -> tuple[FoundPage, ...]:
        """The pages of all questions, in order."""
        return tuple(page for one in self.retrievals for page in one.pages)
