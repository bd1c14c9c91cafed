"""A desk packet as views; the gate's half is in `derive`."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from support_agent.answer.context import Maker, Section
from support_agent.answer.formatting import bare_subject, clean_lines, format_confidence, format_count
from support_agent.answer.packet import Considered, FoundDocument, FoundEvidence, FoundPage, Packet
from support_agent.answer.sources import InboundSource
from support_agent.answer.views import (
    ConsideredView,
    EvidenceView,
    FoundView,
    Ledger,
    LookedView,
    PacketView,
    PageView,
    QuotedView,
    RunnerUpView,
    Sourced,
)


def packet_view(packet: Packet, maker: Maker) -> PacketView:
    """What the escalation templates see."""
    ledger = maker.ledger

    def put(part: str, text: str) -> Sourced:
        return ledger.put(text, InboundSource.model_validate({"part": part}))

    def word(section: Section, code: str) -> Sourced | None:
        known = maker.templates.word(section, code, maker.locale)
        return maker.word(section, code, at_item=False) if known else None

    return PacketView(
        case_id=put("case_id", packet.case_id),
        customer_address=put("customer_address", packet.customer_address),
        level=put("level", str(packet.level)),
        level_words=word("level", str(packet.level)),
        level_why=put("level_why", packet.level_why),
        subject=put("subject", bare_subject(packet.subject)) if bare_subject(packet.subject) else None,
        mail_lines=_lines(ledger, "mail_line", packet.mail_text),
        left_out=put("left_out", format_count(packet.left_out, maker.locale)) if packet.left_out is not None else None,
        reason_code=put("reason_code", packet.reason_code),
        reason_words=word("reason", packet.reason_code),
        why=put("why", packet.why) if packet.why else None,
        considered=tuple(_considered(ledger, place, considered) for place, considered in enumerate(packet.considered)),
        found=tuple(_found(ledger, place, document) for place, document in enumerate(packet.found)),
        looked=_looked(packet, maker),
        pages=_pages(packet, ledger),
        answered_lines=_lines(ledger, "answered_line", packet.answered_text or ""),
        reply_address=put("reply_address", packet.reply_address),
    )


def _lines(ledger: Ledger, part: str, text: str) -> tuple[Sourced, ...]:
    """The lines of a text, each with its number; indentation is kept."""
    return tuple(
        ledger.put(line, InboundSource.model_validate({"part": part, "index": number}), clean=str)
        for number, line in enumerate(clean_lines(text))
    )


def _considered(ledger: Ledger, place: int, considered: Considered) -> ConsideredView:
    runners_up = tuple(
        RunnerUpView(
            call=ledger.put(runner_up.call, InboundSource(part="runner_up", index=place, nested=nested)),
            confidence=ledger.put(
                format_confidence(runner_up.confidence),
                InboundSource(part="runner_up_confidence", index=place, nested=nested),
            ),
        )
        for nested, runner_up in enumerate(considered.runners_up)
    )
    return ConsideredView(
        call=ledger.put(considered.call, InboundSource(part="call", index=place)),
        confidence=ledger.put(format_confidence(considered.confidence), InboundSource(part="confidence", index=place)),
        outcome=ledger.put(considered.outcome, InboundSource(part="outcome", index=place)),
        runners_up=runners_up,
    )


def _found(ledger: Ledger, place: int, document: FoundDocument) -> FoundView:
    return FoundView(
        number=ledger.put(str(document.number), InboundSource(part="document_number", index=place)),
        title=ledger.put(document.title, InboundSource(part="document_title", index=place)),
        score=ledger.put(format_confidence(document.score), InboundSource(part="document_score", index=place)),
    )


def _looked(packet: Packet, maker: Maker) -> tuple[LookedView, ...]:
    """The questions with their evidence, which counts on from question to question."""
    ledger, places = maker.ledger, count()
    views = []
    for place, looked in enumerate(packet.looked):
        at = replace(maker, item=place)
        known = maker.templates.word("finding", looked.reason_code, maker.locale)
        views.append(
            LookedView(
                number=ledger.put(str(looked.number), InboundSource(part="question_number", index=place)),
                question=ledger.put(looked.question, InboundSource(part="question", index=place)),
                code=ledger.put(looked.reason_code, InboundSource(part="finding_code", index=place)),
                words=at.word("finding", looked.reason_code) if known else None,
                evidence=tuple(_evidence(ledger, next(places), evidence) for evidence in looked.evidence),
            )
        )
    return tuple(views)


def _pages(packet: Packet, ledger: Ledger) -> tuple[PageView, ...]:
    """The pages of all questions, which count on from question to question."""
    asked = [place for place, looked in enumerate(packet.looked) for _ in looked.pages]
    return tuple(
        _page(ledger, place, asked[place], str(packet.looked[asked[place]].number), page)
        for place, page in enumerate(packet.pages)
    )


def _page(ledger: Ledger, place: int, asked: int, number: str, page: FoundPage) -> PageView:
    def put(part: str, text: str) -> Sourced:
        return ledger.put(text, InboundSource.model_validate({"part": part, "index": place}))

    return PageView(
        question=ledger.put(number, InboundSource(part="question_number", index=asked)),
        address=put("page_address", page.address),
        heading=put("page_heading", page.heading) if page.heading else None,
        document=None if page.document is None else put("page_document", str(page.document)),
        found_by=put("page_found_by", ", ".join(page.found_by)),
        text=put("page_text", page.text),
    )


def _evidence(ledger: Ledger, place: int, evidence: FoundEvidence) -> EvidenceView:
    def put(part: str, text: str, nested: int | None = None) -> Sourced:
        return ledger.put(text, InboundSource.model_validate({"part": part, "index": place, "nested": nested}))

    return EvidenceView(
        number=put("evidence_number", str(evidence.number)),
        title=put("evidence_title", evidence.title),
        grade=None if evidence.grade is None else put("evidence_grade", format_confidence(evidence.grade)),
        sentences=tuple(
            QuotedView(
                position=put("evidence_position", str(sentence.position), nested),
                text=put("evidence_sentence", sentence.text, nested),
            )
            for nested, sentence in enumerate(evidence.sentences)
        ),
    )
