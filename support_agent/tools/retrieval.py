"""Asks the fact room about a question and validates everything that it returns.

Invariant: a retrieval never raises. A finding points at existing sentences of the requested documents, with finite
numbers and a reason from a closed set; anything else counts as failed, and no document is sent. Web pages are few,
short and printable. Texts and error messages of the room are not logged, because a model or a third party may have
written them. Checked by tests/unit/tools/test_retrieval.py.
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
    FindingReason,
    RetrievalResult,
)

MAX_TRACE_CHARACTERS = 200_000
"""Longer traces are not stored, because the store keeps them for years."""
MAX_MEMORY_CHARACTERS = 250_000
"""Longer memories are not stored; the case keeps the previous one."""
MAX_VERSION_CHARACTERS = 200
MAX_NAME_CHARACTERS = 200
"""Most characters of a web page's heading and of a search engine's name."""
MOST_FINDERS = 10
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]|\\u0000")
log = structlog.get_logger(__name__)


FAILED = RetrievalResult(reason=FindingReason.FAILED, index_version="")
"""Returned if the room raises or returns something other than a valid finding."""


class ClosedRoom:
    """Replaces a room that could not be opened: each retrieval fails, and the case's memory is unchanged."""

    memory: str | None = None

    def retrieve(self, question: str, documents: AbstractSet[int], likely: int | None = None) -> RetrievalResult:
        """Always raises."""
        raise PermanentError("the fact room is not open", code="room")


def open_room(rooms: FactRooms, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
    """The room for one mail, or a `ClosedRoom` if it cannot be opened."""
    try:
        return rooms.open(case_id, memory, names)
    except Exception as error:
        log.error("room_failed", error=type(error).__name__, at=raised_at(error))
        return ClosedRoom()


def memory_of(room: FactRoom) -> str | None:
    """The room's memory of the case; None if there is none, or it cannot be stored."""
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


def retrieve(
    room: FactRoom, question: str, documents: Mapping[int, Document], likely: int | None = None
) -> RetrievalResult:
    """The room's finding about a question, or `FAILED`; never raises.

    Args:
        question: The customer's own words.
        documents: The documents that the sender may be sent today, by number.
        likely: The one that is searched first.
    """
    try:
        found = room.retrieve(question, frozenset(documents), likely)
        if not isinstance(found, RetrievalResult):
            raise TypeError("no finding")
        found = RetrievalResult.model_validate(found.model_dump(warnings=False))  # the room may have skipped validation
    except Exception as error:
        log.error("retrieval_failed", error=type(error).__name__, at=raised_at(error))
        return FAILED
    if wrong := _wrong(found, documents):
        log.error("finding_refused", wrong=wrong)
        return FAILED
    written = json.dumps([visit.model_dump() for visit in found.trace], ensure_ascii=False)
    trace = found.trace if _is_keepable(written, MAX_TRACE_CHARACTERS) else ()
    return found.model_copy(update={"trace": trace, "pages": tuple(filter(_is_page, found.pages))[:MOST_PAGES]})


def _wrong(found: RetrievalResult, documents: Mapping[int, Document]) -> str:
    """What is invalid in a finding, or ""."""
    if not _is_keepable(found.index_version, MAX_VERSION_CHARACTERS):
        return "its index version"
    if not math.isfinite(found.seconds):
        return "its time"
    for one in (*found.evidence, *found.sentences):
        document = None if one.document is None else documents.get(one.document)
        if document is None:
            return "a document that was not requested"
        if one.last >= len(document.sentences):
            return f"document {one.document} has no sentence {one.last}"
    return ""


def _is_page(page: FoundPage) -> bool:
    """Whether a page has a web address and text, all of it short and printable."""
    bounds = [(page.address, MAX_ADDRESS_CHARACTERS), (page.heading, MAX_NAME_CHARACTERS)]
    bounds += [(page.text, MAX_PAGE_CHARACTERS), *((name, MAX_NAME_CHARACTERS) for name in page.found_by)]
    if not 0 < len(page.found_by) <= MOST_FINDERS or not all(
        len(text) <= most and text.isprintable() for text, most in bounds
    ):
        return False
    return bool(page.text.strip()) and _is_web_address(page.address)


def _is_web_address(address: str) -> bool:
    """Whether it is an HTTP address without user name, which could be mistaken for the host."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_plain = " " not in address and parts.username is None
    return is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname)


def _is_keepable(text: str, most_characters: int) -> bool:
    """Whether a text can be stored: PostgreSQL allows no NUL, and UTF-8 no lone surrogate."""
    return len(text) <= most_characters and not _UNSTORABLE.search(text)


def finding_text(found: RetrievalResult) -> str:
    """A finding in one line: its reason, and the documents with their grades."""
    documents = [f"document:{one.document}" + ("" if one.grade is None else f" {one.grade:.2f}") for one in found.cited]
    return ", ".join([found.reason, *dict.fromkeys(documents)])
