"""Decides which of the customer's records a question is about, and which columns it asks for; calls nothing.

A question that names an identifier, the customer's own or not, is answered with a record or goes to a person, never
with another value or a document. A question about records that names none gets the customer's only record.

Invariant: an identifier that is not the customer's has one outcome, whether or not another customer has it. Checked by
tests/unit/planner/test_record_choice.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import structlog

from support_agent.company.account_specs import ALL_COLUMNS, ColumnSpec
from support_agent.company.values import CustomerRecord
from support_agent.core.frozen import Frozen
from support_agent.errors import SupportAgentError
from support_agent.planner.choice import Choice, Chooser, Option
from support_agent.planner.identifiers import FoundIdentifier, Identifiers
from support_agent.planner.topics import topic_option
from support_agent.tools.base import Context
from support_agent.tools.ending import Reason

ASK = "What does the customer want to know of it?"
ALL_TITLE = "everything about it"
MIN_WORD = 3
"""Least letters of a label's word that names its column."""
MIN_BEGINNING = 5
"""Least letters of such a word that also matches as a prefix ("Betrags")."""
SURE_RECORD = 0.9
"""Least probability of the record topic if no column is named: "When was HF-2025-0030 issued?" (0.98) passes, "How do
I pay HF-2025-0030?" (0.71) and "Send me HF-2025-0030 as PDF" (0.81) do not. Chosen on a dozen questions."""
_STOP_WORDS = """
    about advise after again all also already always and answer any anyone are asap back before been but can could
    did does doing done else ever exactly find for from get give going happen happens has have help here how into
    its just keep know let like long lot make many may maybe mean more much must myself need new not now off one
    only other our out over please possible quickly really reply respond right see should show some something soon
    still take tell than thank thanks that the their them then there these they thing this those too try under until
    urgently use using very via want was way well were what when where whether which while who why will with work
    works would yes yet you your
    aber alle alles als also auch auf aus bei bin bitte brauche das dass dem den der des die dies doch dort durch
    ein eine einen einer etwas für geben geht gibt habe haben hat hier ich ihnen ihr ihre immer ist jetzt kann kein
    keine können lange machen man mehr mein meine mich mir mit muss nach nicht noch nun nur oder ohne schon sehr
    sein sich sie sind soll tun über und uns unser vom von vor wann war warum was weil welche wenn wer werden wie
    wieder wir wird wissen wo wohin zum zur
    algo alguien aquí así aún cada como cómo con cual cuál cuando cuándo cuánto debo del desde donde dónde ella
    ellos entre era eres ese eso esta está están este esto favor fue gracias hacer hago hasta hay las les los más
    mis mucho muy nos nuestro otra otro para pero poder por porque puede puedo que qué quien quién sin sobre son tan
    tengo tiempo tiene todo una uno usted ustedes
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words without information about the topic of a question."""
log = structlog.get_logger(__name__)


class RecordSelection(Frozen):
    """What a question about records gets: records by identifier, a canned question, or a person (`reason`)."""

    identifiers: tuple[str, ...] = ()
    clarification: int | None = None
    reason: Reason = Reason.NOT_COVERED


class Records:
    """The customer's own records, read once per mail before the model is asked."""

    def __init__(self, context: Context, most: int) -> None:
        self.context = context
        self.most = most
        self._read()

    def _read(self) -> None:
        """Read the customer's records into the context; mark kinds that cannot be read."""
        context, read, unread = self.context, {}, set()
        for kind, spec in context.accounts.records.items():
            if context.customer is None or context.level < spec.level:
                continue
            try:
                read[kind] = context.accounts.own_records(kind, context.customer, context.locale)
            except SupportAgentError as error:
                log.error("records_unread", kind=kind, code=error.code)
                unread.add(kind)
        context.records, context.unread_records = read, frozenset(unread)

    @cached_property
    def _identifiers(self) -> Identifiers:
        specs, own = self.context.accounts.records, self.context.records
        return Identifiers(
            {kind: [record.identifier for record in own.get(kind, ())] for kind in specs},
            [label for spec in specs.values() for label in spec.label.values()],
            [name for spec in specs.values() for name in spec.identifier.split("_")],
        )

    def named(self) -> tuple[FoundIdentifier, ...]:
        """The records that the current question names, else those named outside all questions; each once.

        The subject, or a sentence that asks nothing, may say which record the question is about.
        """
        if not self.context.accounts.records:
            return ()
        found = self._identifiers.found_in(self.context.current_question) or self._named_outside_questions
        unknown = (" ".join(one.written.split()) for one in found if one.outcome == "unknown")
        self.context.unknown_records = tuple(dict.fromkeys([*self.context.unknown_records, *unknown]))
        return _deduplicated(found)

    @cached_property
    def _named_outside_questions(self) -> tuple[FoundIdentifier, ...]:
        asked = [one for text in self.context.questions for one in self._identifiers.found_in(text)]
        in_questions = {one.records or one.written for one in asked}
        return tuple(one for one in self._named_in_mail if (one.records or one.written) not in in_questions)

    @cached_property
    def _named_in_mail(self) -> tuple[FoundIdentifier, ...]:
        """The records that the whole mail names; () for unknown senders, who have no records."""
        if self.context.customer is None:
            return ()
        return _deduplicated(self._identifiers.found_in(self.context.mail))

    @property
    def unknown(self) -> Reason:
        """Why a question that names an unknown record goes to a person."""
        return Reason.TOOL_FAILED if self.context.unread_records else Reason.UNKNOWN_RECORD

    def options(self, options: Sequence[Option], named: Sequence[FoundIdentifier]) -> list[Option]:
        """The shortlist, plus the kinds of the named records even if the search did not find them."""
        topics = [f"record:{kind}" for kind in dict.fromkeys(kind for one in named for kind, _ in one.records)]
        listed = {option.key for option in options}
        documents, accounts = self.context.documents, self.context.accounts
        added = [topic_option(topic, documents, accounts) for topic in topics if topic not in listed]
        return [
            option.model_copy(update={"mentioned": 1.0}) if option.key in topics else option
            for option in (*options, *added)
        ]

    def selected(self, kind: str, named: Sequence[FoundIdentifier]) -> RecordSelection:
        """What a question about this kind of records gets."""
        if kind in self.context.unread_records:
            return RecordSelection(reason=Reason.TOOL_FAILED)
        if kind not in self.context.records:
            return RecordSelection(reason=Reason.LEVEL)
        if not named:
            return self._unnamed(kind)
        if all(one.outcome == "near" for one in named):
            return self._clarification(kind)
        identifiers = [name for one in named if one.outcome == "own" for found, name in one.records if found == kind]
        if len(identifiers) != len(named) or len(identifiers) > self.most:
            return RecordSelection()
        return RecordSelection(identifiers=tuple(identifiers))

    def _unnamed(self, kind: str) -> RecordSelection:
        """Use the one record named elsewhere in the mail, else the customer's only one."""
        if self._named_in_mail:
            is_one = len(self._named_in_mail) == 1 and self._named_in_mail[0].outcome == "own"
            return self.selected(kind, self._named_in_mail) if is_one else RecordSelection()
        own: Sequence[CustomerRecord] = self.context.records[kind]
        if not own:
            return RecordSelection(reason=Reason.NO_DATA)
        return RecordSelection(identifiers=(own[0].identifier,)) if len(own) == 1 else self._clarification(kind)

    def _clarification(self, kind: str) -> RecordSelection:
        asked = (number for number, one in self.context.clarifications.items() if one.about_records == kind)
        return RecordSelection(clarification=next(asked, None))

    def column(self, kind: str, chooser: Chooser) -> Choice:
        """Let the model choose one column or all columns, with a vote for the columns that the customer's words name.

        If they name none, all columns are chosen: the embedded model alone picked "Amount" for "Details of
        HF-2025-0030, please" and for "When did you issue HF-2025-0030?".
        """
        columns, question = self.context.accounts.records[kind].columns, self.context.current_question
        named = {name for name, words in words_of(columns, self._label(kind)).items() if _names_any(question, words)}
        options = [
            Option(key=name, title=spec.label_for("en"), mentioned=float(name in named))
            for name, spec in columns.items()
        ]
        whole = Option(key=ALL_COLUMNS, title=ALL_TITLE)
        return chooser.argument(question, ASK, [*options, whole] if named else [whole])

    def _label(self, kind: str) -> set[str]:
        return {word for label in self.context.accounts.records[kind].label.values() for word in _words(label)}


def _deduplicated(found: Sequence[FoundIdentifier]) -> tuple[FoundIdentifier, ...]:
    return tuple({one.records or one.written: one for one in found}.values())


def columns_of(choice: Choice, topic: float, least: float) -> tuple[tuple[str, ...], float]:
    """The columns to send, and the probability that they contain the answer; no columns if that is too low.

    All named columns are sent together. If they are not sure enough, or if the model picks another one ("each month ...
    my bank statement" is no question about the state), all columns are sent, provided that the question is surely about
    the record.

    Args:
        choice: Of `Records.column`.
        topic: How likely it is that the question is about the record.
        least: The probability that an answer needs.
    """
    named = [vote for vote in choice.votes if vote.mentioned == 1.0]
    said = [vote for vote in choice.votes if vote.picked is not None]
    picked = max(said, key=lambda vote: vote.picked or 0.0, default=choice.votes[0])
    together = sum(vote.probability for vote in named) if choice.votes[0] in named and picked in named else 0.0
    if topic * together >= least:
        return tuple(vote.key for vote in named), topic * together
    return ((ALL_COLUMNS,), topic) if topic >= SURE_RECORD else ((), 0.0)


def words_of(columns: dict[str, ColumnSpec], without: set[str]) -> dict[str, set[str]]:
    """The words of each column's labels and values that no other column has.

    Args:
        without: Words that name the record itself.
    """
    words = {
        name: {
            word
            for texts in (spec.label, *spec.values.values())
            for text in texts.values()
            for word in _words(text)
        }
        for name, spec in columns.items()
    }  # fmt: skip
    shared = {word for name in words for word in words[name] if sum(word in other for other in words.values()) > 1}
    return {name: own - shared - without for name, own in words.items()}


def _words(text: str) -> list[str]:
    found = re.findall(r"[^\W\d_]+", text.casefold())
    return [word for word in found if len(word) >= MIN_WORD and word not in STOP_WORDS]


def _names_any(question: str, words: set[str]) -> bool:
    said = re.findall(r"[^\W\d_]+", question.casefold())
    return any(one == word or (len(word) >= MIN_BEGINNING and one.startswith(word)) for one in said for word in words)
