"""Answer tools: each adds one item to the final answer, made of company text and values only."""

from __future__ import annotations

from typing import ClassVar, assert_never

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.company.documents import Document, Excerpt, Sentence
from support_agent.company.front_matter import DocumentDelivery
from support_agent.company.values import Customer
from support_agent.core.levels import CUSTOMER
from support_agent.errors import ToolCallRejected
from support_agent.tools.base import UNSURE_SECTION, Added, Context, Tool, ToolKind, Unsure
from support_agent.tools.closed import (
    ClarificationNumber,
    DocumentNumber,
    FieldName,
    NumberPointer,
    TablePointer,
)
from support_agent.tools.excerpts import ChosenSections, choose_sections, positions_of, sentences_at


def require_level(context: Context, level: int, what: str) -> None:
    """Reject a call above the sender's level.

    Raises:
        ToolCallRejected: code `level`.
    """
    if context.level < level:
        raise ToolCallRejected(f"{what} needs sender level {level}, the sender has {context.level}", code="level")


def require_customer(context: Context, level: int, what: str) -> Customer:
    """The known customer; rejects the call if the sender is none or below the level.

    Raises:
        ToolCallRejected: code `level`.
    """
    require_level(context, level, what)
    if context.customer is None:
        raise ToolCallRejected(f"{what} needs a known customer", code="level")
    return context.customer


def table_at(context: Context, pointer: str) -> TableItem:
    """The rows that a pointer stands for.

    Raises:
        ToolCallRejected: it stands for no table (code `pointer`).
    """
    data = context.data[pointer]
    if not isinstance(data, TableItem):
        raise ToolCallRejected(f"{pointer} is not a table", code="pointer")
    return data


class SendDocument(Tool):
    """Send the numbered document that answers the question, in the language of the mail where it has been translated.

    If the fact room is on and the choice is not clear, the document needs evidence. For an excerpt the search
    chooses the sections, in the language that is sent; if none is sure enough, the call is rejected.
    """

    name: ClassVar[str] = "send_document"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    number: DocumentNumber

    def run(self, context: Context) -> Added:
        document = self._sendable(context)
        self._check_evidence(context)
        sentences, how = self._sentences(document, context)
        return Added(description=how, item=self._item(document, sentences))

    def whole(self, context: Context) -> Added:
        """All sentences of the document, for a person who chose it; the model has no call for this."""
        document = self._sendable(context)
        return Added(description="the whole document", item=self._item(document, document.sentences))

    def sections(self, context: Context, places: tuple[int, ...]) -> Added:
        """These sections, by place from 0, and those they refer to, for a person who chose them.

        Raises:
            ToolCallRejected: as `run`, or the document has no such section (code `not_a_member`).
        """
        document = self._sendable(context)
        if not places or max(places) >= len(document.sections):
            what = f"document {self.number} has {len(document.sections)} sections"
            raise ToolCallRejected(what, code="not_a_member")
        chosen = ChosenSections(tuple(dict.fromkeys(places)), 1.0)
        sentences = tuple(document.sentences[position] for position in positions_of(document, chosen))
        return Added(description="sections that a person chose", item=self._item(document, sentences))

    def _sendable(self, context: Context) -> Document:
        """The version that this customer may be sent today.

        Raises:
            ToolCallRejected: codes `not_valid` and `level`.
        """
        original = context.documents[self.number]
        document = context.version_sent(self.number)
        head = document.head
        if not (original.is_valid_on(context.today) and document.is_valid_on(context.today)):
            raise ToolCallRejected(f"document {self.number} is not valid on {context.today}", code="not_valid")
        if "customers" in (original.head.audience, head.audience):
            require_customer(context, CUSTOMER, f"document {self.number}")
        return document

    def _item(self, document: Document, sentences: tuple[Sentence, ...]) -> DocumentItem:
        head = document.head
        return DocumentItem(
            number=self.number,
            title=head.title,
            version=document.version,
            valid_from=head.valid_from,
            url=head.url,
            delivery=head.delivery.value,
            excerpts=tuple(_excerpt(sentence) for sentence in sentences),
            keeps_form=True,
            language=document.language,
        )

    def _check_evidence(self, context: Context) -> None:
        """Reject a document without evidence, unless its choice is sure without.

        Raises:
            ToolCallRejected: code `no_evidence`.
        """
        if context.room is None or context.settled.get(context.question) == f"document:{self.number}":
            return
        finding = context.findings.get(context.question)
        if finding is None or not finding.is_answered or not finding.sentences_of(self.number):
            what = f"no sentence of document {self.number} was found to answer the question"
            raise ToolCallRejected(what, code="no_evidence")

    def _sentences(self, document: Document, context: Context) -> tuple[tuple[Sentence, ...], str]:
        """The sentences to send, and how they were chosen.

        Raises:
            ToolCallRejected: no section is sure enough to answer, code `section`.
        """
        match document.head.delivery:
            case DocumentDelivery.FULL:
                return document.sentences, ""
            case DocumentDelivery.LINK:
                return (), ""
            case DocumentDelivery.EXCERPT:
                chances = context.search.sections(context.current_question, document)
                chosen = choose_sections(document, chances, context.least_section)
                how = ", ".join(f"section {place + 1} with {chances[place]:.3f}" for place in chosen.places)
                if not chosen.probability >= context.least_section:  # a NaN is not sure either
                    likeliest = tuple(one.index for one in sentences_at(document, chosen.places))
                    context.unsure[context.question] = Unsure(document, likeliest, chosen.probability)
                    raise ToolCallRejected(f"document {self.number}: unsure, {how}", code=UNSURE_SECTION)
                return tuple(document.sentences[position] for position in positions_of(document, chosen)), how
            case never:
                assert_never(never)


class SendAccountField(Tool):
    """Send one value of the customer's account."""

    name: ClassVar[str] = "send_account_field"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    field: FieldName

    def run(self, context: Context) -> Added:
        spec = context.accounts.fields[self.field]
        customer = require_customer(context, spec.level, f"account field {self.field}")
        return Added(
            item=FieldItem(
                field=self.field,
                label=spec.label_for(context.locale),
                value=context.accounts.field(self.field, customer, context.locale),
            )
        )


class SendTable(Tool):
    """Send the rows a pointer stands for."""

    name: ClassVar[str] = "send_table"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    pointer: TablePointer

    def run(self, context: Context) -> Added:
        return Added(item=table_at(context, self.pointer))


class SendAggregate(Tool):
    """Send the one number a pointer stands for, with what it was made from."""

    name: ClassVar[str] = "send_aggregate"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    pointer: NumberPointer

    def run(self, context: Context) -> Added:
        data = context.data[self.pointer]
        match data:
            case Operand():
                return Added(item=AggregateItem(operand=data))
            case CalculationItem():
                return Added(item=data)
            case TableItem() | RecordItem():
                raise ToolCallRejected(f"{self.pointer} is not a number", code="pointer")
            case never:
                assert_never(never)


class AskClarification(Tool):
    """Ask the customer one of the company's canned questions."""

    name: ClassVar[str] = "ask_clarification"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    number: ClarificationNumber

    def run(self, context: Context) -> Added:
        question = context.clarifications[self.number]
        return Added(item=ClarificationItem(number=self.number, text=question.text_for(context.locale)))


def _excerpt(sentence: Sentence) -> Excerpt:
    return Excerpt.model_validate(sentence.model_dump(exclude={"line"}))
