"""What people did with the questions that the policy handed over: what it is taught by, besides recorded cases.

A case is escalated once; from then on a person has it. What they wrote to the customer through the desk is in the
store, and so is what the machine knew when it gave up. Whoever was answered by other ways teaches nothing here.

Invariant: nothing of a customer or of staff leaves this module but the memory and one of three words for what was done.
Checked by tests/unit/desk/test_human_feedback.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import structlog

from support_agent.company.documents import Document
from support_agent.company.links import link_key
from support_agent.company.text import collapse
from support_agent.errors import PermanentError
from support_agent.facts.inquiry.memory import Memory, from_json
from support_agent.facts.learning.training import Deed, EscalatedCase, handed_over
from support_agent.store.records import CaseId, LetterKind, OutboxRecord
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

TELLING_CHARACTERS = 30
"""A sentence of a document with at least so many is known again in a person's words; "Thank you." is anybody's."""
_LINK = re.compile(r"https://[^\s<>\"'()\[\]]+")
_LINK_ENDS = ".,;:!?*_"
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"'})
_SENTENCE_ENDS = ".,;:!? "


def escalated_cases(store: Store, documents: Sequence[Document]) -> tuple[EscalatedCase, ...]:
    """The cases that the policy handed over and a person answered through the desk, the first answered first.

    Args:
        store: With the memories and what was passed on.
        documents: The company's, in every language, as they are today: a sentence that was changed since is not known
            again.
    """
    replies: dict[CaseId, list[OutboxRecord]] = {}
    for reply in store.outbox.find(kind=LetterKind.PERSON_REPLY):
        if reply.case_id is not None:
            replies.setdefault(reply.case_id, []).append(reply)
    known = _Known(documents)
    cases = []
    for case_id, sent in replies.items():
        memory = _handed_over(store, case_id, sent[0])
        if memory is not None:
            words = "\n".join(_words(store, reply) for reply in sent)
            cases.append(EscalatedCase(memory=memory, deed=known.deed(words, _numbers(memory))))
    return tuple(cases)


class _Known:
    """What tells a document: its address and its sentences; each may be that of several documents."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._links: dict[str, set[int]] = {}
        self._sentences: dict[str, set[int]] = {}
        for document in documents:
            self._links.setdefault(link_key(document.head.url), set()).add(document.number)
            for sentence in document.sentences:
                text = _plain(sentence.text).strip(_SENTENCE_ENDS)
                if len(text) >= TELLING_CHARACTERS:
                    self._sentences.setdefault(text, set()).add(document.number)

    def deed(self, words: str, evidence: AbstractSet[int]) -> Deed:
        """What a person did who sent these words, where these documents had been found.

        Who sent one that had not been found besides one that had was not helped by the evidence alone.
        """
        sent = [*self._linked(words), *self._quoted(words)]
        if any(not numbers & evidence for numbers in sent):
            return Deed.SENT_OTHER
        return Deed.SENT_EVIDENCE if sent else Deed.WROTE

    def _linked(self, words: str) -> Iterator[set[int]]:
        """The documents of each address; one below it ("#refunds", "?lang=de") is the document's too."""
        for found in _LINK.findall(words):
            link = link_key(found.rstrip(_LINK_ENDS))
            whole = [known for known in self._links if link == known or link.startswith((f"{known}#", f"{known}?"))]
            if whole:
                yield self._links[max(whole, key=len)]

    def _quoted(self, words: str) -> Iterator[set[int]]:
        """The documents of each sentence that stands in the words, whole."""
        text = _plain(words)
        for sentence, numbers in self._sentences.items():
            if sentence in text and re.search(rf"(?<!\w){re.escape(sentence)}(?!\w)", text):
                yield numbers


def _handed_over(store: Store, case_id: CaseId, reply: OutboxRecord) -> Memory | None:
    """What was known when the policy gave the case up; None: it did not, or that cannot be read any more."""
    stored = store.plans.memory_before(reply.mail_id)
    try:
        return handed_over(from_json(stored)) if stored is not None else None
    except PermanentError as error:
        log.warning("memory_not_read", case_id=case_id, why=str(error))
        return None


def _words(store: Store, reply: OutboxRecord) -> str:
    """A staff member's own words, as the customer got them."""
    letter = store.outbox.letter(reply.mail_id, reply.kind, reply.number)
    return str(letter.payload["words"]) if letter is not None else ""


def _numbers(memory: Memory) -> frozenset[int]:
    """The documents that the evidence points to; pages of the web are none."""
    return frozenset(one.document for one in memory.evidence if one.document is not None)


def _plain(text: str) -> str:
    """A text as it is compared: mail programs wrap lines and bend quotation marks."""
    return collapse(text).translate(_QUOTES).casefold()
