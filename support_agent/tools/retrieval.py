"""Asks the fact room about a question, and believes nothing that it says.

Invariant: a retrieval never raises, and what comes back points at whole sentences that are there, of documents that
were asked about, with numbers that are numbers and a reason from a closed set; anything else is a retrieval that
failed, with which no document is sent. Of its pages of the web few come back, short and in characters that can be seen.
Nothing that a room says or raises is logged, as a model or a stranger may have written it. Checked by
tests/unit/tools/test_retrieval.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from urllib.parse import urlsplit

import structlog

from support_agent.answer.packet import FoundPage
from support_agent.company.documents import Document
from support_agent.errors import PermanentError, raised_at
from support_agent.tools.fact_room import (
    MAX_ADDRESS_CHARACTERS,
    MAX_PAGE_CHARACTERS,
    MOST_PAGES,
    FactRoom,
    FactRooms,
    Finding,
    FindingReason,
)

MAX_TRACE_CHARACTERS = 200_000
"""A longer trace is not kept: it would lie in the store for years."""
MAX_MEMORY_CHARACTERS = 250_000
"""Nor is a longer memory; the case keeps the one it had."""
MAX_VERSION_CHARACTERS = 200
MAX_NAME_CHARACTERS = 200
"""Of the heading of a page of the web, and of a source that named it."""
MOST_FINDERS = 10
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]|\\u0000")
log = structlog.get_logger(__name__)


FAILED = Finding(reason=FindingReason.FAILED, index_version="")
"""Of a room that raised, or answered with something else than a finding."""


class ClosedRoom:
    """Stands in for a room that could not be opened: each retrieval fails, and the case's memory stays as it was."""

    memory: str | None = None

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> Finding:
        """Always fails."""
        raise PermanentError("the fact room is not open", code="room")


def open_room(rooms: FactRooms, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
    """The room for one mail; one in which every retrieval fails, where it cannot be opened."""
    try:
        return rooms.open(case_id, memory, names)
    except Exception as error:
        log.error("room_failed", error=type(error).__name__, at=raised_at(error))
        return ClosedRoom()


def memory_of(room: FactRoom) -> str | None:
    """What the room knows of the case now; None where that is nothing, or nothing that could be kept."""
    try:
        memory = room.memory
    except Exception as error:
        log.error("memory_failed", error=type(error).__name__, at=raised_at(error))
        return None
    if not isinstance(memory, str):
        return None
    if not _is_keepable(memory, MAX_MEMORY_CHARACTERS):
        log.error("memory_refused", characters=len(memory))
        return None
    return memory


def retrieve(room: FactRoom, question: str, documents: Mapping[int, Document], likely: int | None = None) -> Finding:
    """What the room found out about a question, or that it failed; never raises.

    Args:
        question: The customer's own words.
        documents: Those that the sender may be sent today, by number.
        likely: The one that is searched first.
    """
    try:
        found = room.retrieve(question, frozenset(documents), likely)
        if not isinstance(found, Finding):
            raise TypeError("no finding")
        found = Finding.model_validate(found.model_dump(warnings=False))  # a room may have made one without a check
    except Exception as error:
        log.error("retrieval_failed", error=type(error).__name__, at=raised_at(error))
        return FAILED
    if wrong := _wrong(found, documents):
        log.error("finding_refused", wrong=wrong)
        return FAILED
    written = json.dumps([visit.model_dump() for visit in found.trace], ensure_ascii=False)
    trace = found.trace if _is_keepable(written, MAX_TRACE_CHARACTERS) else ()
    return found.model_copy(update={"trace": trace, "pages": tuple(filter(_is_page, found.pages))[:MOST_PAGES]})


def _wrong(found: Finding, documents: Mapping[int, Document]) -> str:
    """What of a finding cannot be, or ""."""
    if not _is_keepable(found.index_version, MAX_VERSION_CHARACTERS):
        return "its index version"
    if not math.isfinite(found.seconds):
        return "its time"
    for one in (*found.evidence, *found.sentences):
        document = None if one.document is None else documents.get(one.document)
        if document is None:
            return "a document that was not asked about"
        if one.last >= len(document.sentences):
            return f"document {one.document} has no sentence {one.last}"
    return ""


def _is_page(page: FoundPage) -> bool:
    """Whether it has a web address and a text, all of it short and in characters that a person would see."""
    bounds = [(page.address, MAX_ADDRESS_CHARACTERS), (page.heading, MAX_NAME_CHARACTERS)]
    bounds += [(page.text, MAX_PAGE_CHARACTERS), *((name, MAX_NAME_CHARACTERS) for name in page.found_by)]
    if not 0 < len(page.found_by) <= MOST_FINDERS or not all(
        len(text) <= most and text.isprintable() for text, most in bounds
    ):
        return False
    return bool(page.text.strip()) and _is_web_address(page.address)


def _is_web_address(address: str) -> bool:
    """Whether it is that of a page, with nothing before the host that could pass for one."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_plain = " " not in address and parts.username is None
    return is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname)


def _is_keepable(text: str, most_characters: int) -> bool:
    """Whether a text may be stored: PostgreSQL takes no NUL, and half a surrogate pair is in no UTF-8."""
    return len(text) <= most_characters and not _UNSTORABLE.search(text)


def finding_text(found: Finding) -> str:
    """A finding in a line: its reason, and the documents with their grades; no text of anybody."""
    documents = [f"document:{one.document}" + ("" if one.grade is None else f" {one.grade:.2f}") for one in found.cited]
    return ", ".join([found.reason, *dict.fromkeys(documents)])
