"""The rules by which a case gets its desk, reminders of cases, the digest; parts of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.core.levels import Level

TopicPattern = Annotated[str, Field(pattern=r"^(document|field|series|record|question):([\w.-]{1,100}\*?|\*)$")]
"""A topic, or the topics whose names begin alike: `field:invoice_*`."""
LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
ReasonCode = Annotated[str, Field(pattern=r"^[a-z_]{1,60}$")]


class DeskRoute(Frozen):
    """One rule of `desk.routes`: which cases go to this address instead of `desk.address`.

    A rule fits a case if each of its lists that is not empty has what the case has. The first rule that fits decides.
    """

    address: str
    """The desk of these cases. Its people are staff, as those of `desk.address`: their replies are passed on, and their
    commands carried out."""
    topics: tuple[TopicPattern, ...] = ()
    """Topics of the questions that a person gets: `document:3`, `field:plan`, `series:payments`, `record:invoices`,
    `question:1`; a `*` at the end stands for any rest of a name. A mail that a rule escalates before anything is chosen
    has no topic."""
    levels: tuple[Level, ...] = ()
    """Levels of the sender, 0 to 3."""
    languages: tuple[LanguageCode, ...] = ()
    """Languages that the mail is written in, as ISO 639 codes: `de`. It is the likeliest one; where the language of a
    known customer's locale is likely, it is that."""
    reasons: tuple[ReasonCode, ...] = ()
    """Reason codes that packets show in brackets: `person_asked_for`, `not_covered`."""


class ReminderSettings(Frozen):
    """Reminders of cases that no person has answered.

    Hours are those in which people work, by `hours`; without any, all hours. A case is answered by a reply that is
    passed on, by a command that sends something, or where the Sent folder shows an answer to what was proposed; one
    that is closed or given back waits for nobody.
    """

    after_h: Annotated[float, Field(ge=0, le=8760)] = 0.0
    """After how many hours without an answer the desk of the case, or who has it, is reminded; 0: never."""
    every_h: Annotated[float, Field(gt=0, le=8760)] = 8.0
    """Hours from one reminder of a case to the next."""
    most: Annotated[int, Field(ge=1, le=100)] = 3
    """Most reminders of a case until it is answered."""
    address: str = ""
    """Who gets reminders instead, such as a lead; empty: nobody. Such an address is staff."""
    address_from: Annotated[int, Field(ge=1, le=100)] = 1
    """From which reminder of a case on they go to `address`; 2: the first one goes to the desk."""
    until_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Nobody is reminded of what came in longer ago, so that reminders can be turned on where many cases are open."""


class DigestSettings(Frozen):
    """A mail to the lead once a week, with the week's numbers; the time zone is `hours.time_zone`.

    One that was missed, because no worker ran or the agent was paused, is sent late, once.
    """

    address: str = ""
    """Who gets it; empty: nobody."""
    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = "monday"
    """The day on which it is sent."""
    hour: Annotated[int, Field(ge=0, le=23)] = 8
    """The hour of that day from which on it is sent, by the clock on the wall. The week ends then."""


ReplyFileType = Literal[
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "text/plain",
    "text/csv",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/zip",
]
"""The types whose endings and first bytes are known (`outbound.staff_files`)."""


class DeskSettings(Frozen):
    """The people who get escalated cases, and the words with which a customer asks for a person."""

    address: str = ""
    """The desk: it gets the packets of all cases that no rule of `routes` gives to another."""
    person_words: tuple[str, ...] = (
        "agent",
        "human",
        "real person",
        "a person",
        "representative",
        "someone real",
        "mensch",
        "mitarbeiter",
        "mitarbeiterin",
        "humano",
        "persona real",
        "un agente",
    )
    """With such words a customer asks for a person: two or more words ("real person") count wherever they are written,
    a single word, or one with an article, only in a phrase that asks for it ("let me talk to a human")."""
    staff: tuple[str, ...] = ()
    """Addresses besides the desk's whose replies to a packet are passed on to the customer, and whose commands are
    carried out."""
    routes: tuple[DeskRoute, ...] = ()
    """Rules that give cases to other desks, each a `[[desk.routes]]`; the first that fits decides. A case keeps its
    desk."""
    key_valid_h: Annotated[float, Field(gt=0, le=8760)] = 168.0
    """How long the keys of a packet's commands are valid, in hours."""
    reply_file_types: tuple[ReplyFileType, ...] = (
        "application/pdf",
        "image/png",
        "image/jpeg",
        "image/gif",
        "text/plain",
        "text/csv",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet",
    )
    """Types of files that such a reply may have; they go to the customer with it. A reply with another file is not
    passed on, and its writer is notified of the reason. A file's name, declared type and content must agree. Office
    files, archives and PDFs with programs inside are refused, those that cannot be looked into, and text that repeats
    the packet. Empty: no files."""
    max_reply_files: Annotated[int, Field(ge=0, le=100)] = 10
    """Most files in one reply."""
    max_reply_files_bytes: Annotated[int, Field(ge=0, le=100_000_000)] = 10_000_000
    """Most bytes of all files in one reply, before they are encoded for the mail, which adds a third."""
    max_same_replies: Annotated[int, Field(ge=1, le=100)] = 3
    """How many times the same words without a file are passed on in a case. More of them come from a program that
    answers each packet, and a program of the customer's may answer each of these."""

    @property
    def people(self) -> tuple[str, ...]:
        """Every address of the desk's people: its own, those of its rules, and those of its staff."""
        return (self.address, *self.staff, *(route.address for route in self.routes))
