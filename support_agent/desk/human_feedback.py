"""Reads human feedback from the store: how people answered what the policy escalated. It trains the policy.

A case is escalated once; from then on a person has it. The store has what the person wrote to the customer through the
desk, and what the fact room knew when it escalated. Cases that were answered in another way give no feedback.

Invariant: only the memory and one of three review outcomes leave this module, no words of customers or staff.
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
from support_agent.core.modes import document_of
from support_agent.errors import PermanentError
from support_agent.facts.inquiry.memory import Memory, from_json
from support_agent.facts.learning.training import EscalatedCase, ReviewOutcome, before_escalation
from support_agent.store.records import CaseId, OutboxRecord, OutgoingKind
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

TELLING_CHARACTERS = 30
"""A shorter sentence of a document is not recognised in a reply: anybody may write "Thank you."."""
_LINK = re.compile(r"https://[^\s<>\"'()\[\]]+")
_LINK_ENDS = ".,;:!?*_"
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"'})
_SENTENCE_ENDS = ".,;:!? "


def escalated_cases(store: Store, documents: Sequence[Document]) -> tuple[EscalatedCase, ...]:
    """The cases that the policy escalated and a person answered through the desk, the first answered first.

    Args:
        store: With the memories and the replies.
        documents: The company's, in every language, as they are today: a sentence that has changed is not recognised.
    """
    replies: dict[CaseId, list[OutboxRecord]] = {}
    for reply in store.outbox.find(kind=OutgoingKind.PERSON_REPLY):
        if reply.case_id is not None:
            replies.setdefault(reply.case_id, []).append(reply)
    recognised = Recognised(documents)
    cases = []
    for case_id, sent in replies.items():
        memory = _memory_of(store.plans.memory_before(sent[0].mail_id), case_id)
        if memory is not None:
            words = "\n".join(_words(store, reply) for reply in sent)
            cases.append(EscalatedCase(memory=memory, outcome=recognised.outcome(words, _numbers(memory))))
    return (*cases, *_by_command(store, frozenset(replies)))


def _by_command(store: Store, replied: AbstractSet[CaseId]) -> Iterator[EscalatedCase]:
    """The cases that a person answered with a document by command, and with no words."""
    for label in store.labels.valid():
        mail = store.mails.get(label.mail_id)
        number = document_of(label.choice)
        if number is None or mail is None or mail.case_id is None or mail.case_id in replied:
            continue
        memory = _memory_of(store.plans.memory_of(label.mail_id), mail.case_id)
        if memory is not None:
            is_evidence = number in _numbers(memory)
            outcome = ReviewOutcome.SENT_EVIDENCE if is_evidence else ReviewOutcome.SENT_OTHER
            yield EscalatedCase(memory=memory, outcome=outcome)


class Recognised:
    """Recognises documents by their addresses and sentences; several documents may share one."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._links: dict[str, set[int]] = {}
        self._sentences: dict[str, set[int]] = {}
        for document in documents:
            self._links.setdefault(link_key(document.head.url), set()).add(document.number)
            for sentence in document.sentences:
                text = plain(sentence.text).strip(_SENTENCE_ENDS)
                if len(text) >= TELLING_CHARACTERS:
                    self._sentences.setdefault(text, set()).add(document.number)

    def outcome(self, words: str, evidence: AbstractSet[int]) -> ReviewOutcome:
        """The review outcome of a reply with these words, given the documents that the evidence had found.

        If the reply has any other document too, the evidence alone was not enough.
        """
        sent = self.documents_in(words)
        if any(not numbers & evidence for numbers in sent):
            return ReviewOutcome.SENT_OTHER
        return ReviewOutcome.SENT_EVIDENCE if sent else ReviewOutcome.WROTE

    def documents_in(self, words: str) -> list[set[int]]:
        """The documents that words hold a sentence or the address of, for each sentence and address."""
        return [*self.linked(words), *self._quoted(words)]

    def linked(self, words: str) -> Iterator[set[int]]:
        """The documents of each address in the words; "#refunds" or "?lang=de" may follow it."""
        for found in _LINK.findall(words):
            link = link_key(found.rstrip(_LINK_ENDS))
            whole = [known for known in self._links if link == known or link.startswith((f"{known}#", f"{known}?"))]
            if whole:
                yield self._links[max(whole, key=len)]

    def _quoted(self, words: str) -> Iterator[set[int]]:
        """The documents of each sentence that the words contain completely."""
        text = plain(words)
        for sentence, numbers in self._sentences.items():
            if sentence in text and re.search(rf"(?<!\w){re.escape(sentence)}(?!\w)", text):
                yield numbers


def _memory_of(stored: str | None, case_id: CaseId) -> Memory | None:
    """The memory when the policy escalated the case; None: it did not, or the memory cannot be read."""
    try:
        return before_escalation(from_json(stored)) if stored is not None else None
    except PermanentError as error:
        log.warning("memory_not_read", case_id=case_id, why=str(error))
        return None


def _words(store: Store, reply: OutboxRecord) -> str:
    """The words of a staff member, as the customer got them."""
    record = store.outbox.rendered_mail(reply.mail_id, reply.kind, reply.number)
    return str(record.payload["words"]) if record is not None else ""


def _numbers(memory: Memory) -> frozenset[int]:
    """The documents that the evidence points to; web pages do not count."""
    return frozenset(one.document for one in memory.evidence if one.document is not None)


def plain(text: str) -> str:
    """A text ready to compare: mail programs wrap lines and change quotation marks."""
    return collapse(text).translate(_QUOTES).casefold()
