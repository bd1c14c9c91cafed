"""The door to everything that is kept: one method a task, frozen records in and out.

Invariant: each method is one transaction, and a step that runs twice after a crash, with the same input,
leaves the same rows and no error. Checked by tests/contract/store on SQLite and PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from support_agent.core.cursor import Cursor
from support_agent.core.levels import Level
from support_agent.store import cases, mails, outbox, plans, retention
from support_agent.store.database import Database, normalise_url
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    CaseSummary,
    Counts,
    Deleted,
    Due,
    JsonObject,
    LetterKind,
    LetterRecord,
    MailId,
    MailRecord,
    MailStatus,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    PlanRecord,
    RecordedMail,
    StoredDocument,
    Timeline,
)
from support_agent.store.settlements import Settlements
from support_agent.store.suppression import Suppressions
from support_agent.store.traffic import Traffic


class Store:
    """The mails, cases, plans, answers and the outbox of one agent.

    Any method may raise `TransientError` (the database is busy or away), `ConfigError` (file not usable,
    schema not upgraded) or `PermanentError` (no such row, or a change that the rules do not allow).
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.traffic = Traffic(database)
        self.settlements = Settlements(database)
        self.suppressions = Suppressions(database)

    @classmethod
    def open(cls, url: str, migrations_dir: Path, *, timeout_s: float = 30.0) -> Self:
        """Open a store; nothing is read or created yet.

        Args:
            url: SQLite or PostgreSQL, see `database.normalise_url`.
            migrations_dir: The folder with `env.py` and `versions/`, from the checkout or the wheel.
            timeout_s: Longest wait for a lock, a connection or a free connection.
        Raises:
            ConfigError: the URL cannot be used.
        """
        return cls(Database(normalise_url(url), migrations_dir, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the store opens them again when it is used again."""
        self.database.close()

    # The schema

    def upgrade(self) -> None:
        """Create or upgrade the schema; processes that do it at the same time wait for each other."""
        self.database.upgrade()

    def is_current(self) -> bool:
        """Whether the schema is the one of this version of the program."""
        return self.database.revision() == self.database.head()

    # Inbound mails

    def record_mail(self, raw: bytes, message_id: str, cursor: Cursor, received_at: datetime) -> RecordedMail:
        """Store a mail, status `new`, and move the folder's cursor past it, together.

        The same bytes are one mail wherever they come from, also after retention deleted it.
        """
        with self.database.write() as session:
            return mails.record_mail(session, raw, message_id, cursor, received_at)

    def move_cursor(self, cursor: Cursor) -> None:
        """Move a folder's cursor without a mail; never back while UIDVALIDITY stays the same."""
        with self.database.write() as session:
            mails.move_cursor(session, cursor)

    def cursor(self, folder: str) -> Cursor | None:
        """Return how far a folder has been read; None: it never was."""
        with self.database.read() as session:
            return mails.cursor(session, folder)

    def mark_fetched(self, folder: str, at: datetime) -> None:
        """A folder that has a cursor was read to its end at this instant."""
        with self.database.write() as session:
            mails.mark_fetched(session, folder, at)

    def fetched_at(self, folder: str) -> datetime | None:
        """Return when a folder was last read to its end; None: it never was."""
        with self.database.read() as session:
            return mails.fetched_at(session, folder)

    def mail_at(self, cursor: Cursor) -> MailRecord | None:
        """Return the mail that was recorded when the cursor stood there; None: no new one was."""
        with self.database.read() as session:
            return mails.mail_at(session, cursor)

    def mail(self, mail_id: MailId) -> MailRecord | None:
        """Return one mail."""
        with self.database.read() as session:
            return mails.mail(session, mail_id)

    def raw_mail(self, mail_id: MailId) -> bytes:
        """Return a mail's bytes as they were fetched."""
        with self.database.read() as session:
            return mails.raw_mail(session, mail_id)

    def mails(self, since: datetime | None = None, status: MailStatus | None = None) -> tuple[MailRecord, ...]:
        """Return the mails that meet every condition given, the oldest first."""
        with self.database.read() as session:
            return mails.mails(session, since, status)

    def mails_with_message_id(self, message_id: str) -> tuple[MailRecord, ...]:
        """Return the mails that bear a Message-ID, the oldest first; senders make it, so it may repeat."""
        with self.database.read() as session:
            return mails.mails_with_message_id(session, message_id)

    def follows_open_mail(self, mail_id: MailId) -> bool:
        """Whether an older mail of its case is still `new`."""
        with self.database.read() as session:
            return mails.follows_open_mail(session, mail_id)

    def save_screening(self, mail_id: MailId, verdict: str, rule: str | None) -> None:
        """Record whether the mail may be answered by a machine, and the rule that said so."""
        with self.database.write() as session:
            mails.save_screening(session, mail_id, verdict, rule)

    def save_sender(self, mail_id: MailId, address: str, level: Level, why: str) -> None:
        """Record the sender's address, "" for none, the level, 0 to 3, and what it rests on."""
        with self.database.write() as session:
            mails.save_sender(session, mail_id, address, level, why)

    def end_mail(
        self,
        mail_id: MailId,
        status: MailStatus,
        reason_code: str | None,
        why: str | None,
        handled_at: datetime,
    ) -> bool:
        """Give a `new` mail its final status; `answered` may still become `escalated` (it was not delivered).

        Returns:
            Whether the mail has this status now. The first reason and instant stay.
        """
        with self.database.write() as session:
            return mails.end_mail(session, mail_id, status, reason_code, why, handled_at)

    # Cases

    def open_case(self, case: CaseRecord, mail_id: MailId) -> CaseRecord:
        """Open a case with its first mail; its customer is a participant. An existing case stays."""
        with self.database.write() as session:
            return cases.open_case(session, case, mail_id)

    def join_case(self, mail_id: MailId, case_id: CaseId, participants: Sequence[str] = ()) -> CaseRecord:
        """Put a mail into a case, and with it these participants, who may continue it from now on."""
        with self.database.write() as session:
            return cases.join_case(session, mail_id, case_id, participants)

    def case(self, case_id: CaseId) -> CaseRecord | None:
        """Return one case."""
        with self.database.read() as session:
            return cases.case(session, case_id)

    def cases_for_thread(self, references: Sequence[str]) -> tuple[CaseRecord, ...]:
        """Find the cases that a mail may continue, each once.

        Anybody can write a Message-ID into a header: the caller must check that the sender is a participant.

        Args:
            references: Message-IDs, the nearest first: In-Reply-To, then References from its end.
        Returns:
            In the order of the references; for one of them the case of our own mail, then those of received ones.
        """
        with self.database.read() as session:
            return cases.cases_for_thread(session, references)

    def give_to_person(self, case_id: CaseId) -> None:
        """Close a case to automation; there is no way back."""
        with self.database.write() as session:
            cases.give_to_person(session, case_id)

    def cases(self, limit: int) -> tuple[CaseSummary, ...]:
        """Return the cases, the one with the youngest mail first."""
        with self.database.read() as session:
            return cases.cases(session, limit)

    def timeline(self, case_id: CaseId) -> Timeline | None:
        """Return a case with its mails and all that came of them."""
        with self.database.read() as session:
            return cases.timeline(session, case_id)

    # Plans, and what letters are made with

    def save_plan(self, plan: PlanRecord, memory: str | None = None) -> None:
        """Store the plan of a mail with its calls, and what is known of the case after it; another plan replaces both.

        Raises:
            PermanentError: a different plan, and something made from the first is in the outbox; or a memory of more
                than `plans.MAX_MEMORY_CHARACTERS`.
        """
        with self.database.write() as session:
            plans.save_plan(session, plan, memory)

    def plan(self, mail_id: MailId) -> PlanRecord | None:
        """Return the plan of a mail; None: it was not planned."""
        with self.database.read() as session:
            return plans.plan(session, mail_id)

    def memory_before(self, mail_id: MailId) -> str | None:
        """Return what the newest plan of an older mail of its case left known; None: nothing."""
        with self.database.read() as session:
            return plans.memory_before(session, mail_id)

    def save_document(self, number: int, raw: bytes) -> str:
        """Store a version of a company document once; return the version, the sha256 of `raw` in hex."""
        with self.database.write() as session:
            return plans.save_document(session, number, raw)

    def document(self, version: str) -> StoredDocument | None:
        """Return a version of a company document."""
        with self.database.read() as session:
            return plans.document(session, version)

    def save_templates(self, version: str, files: Mapping[str, str]) -> None:
        """Store a set of templates, file name to text, once; a version with other files is an error."""
        with self.database.write() as session:
            plans.save_templates(session, version, files)

    def templates(self, version: str) -> dict[str, str] | None:
        """Return a set of templates, file name to text."""
        with self.database.read() as session:
            return plans.templates(session, version)

    def save_queries(self, version: str, queries: JsonObject) -> None:
        """Store the account queries of a version of the company, once."""
        with self.database.write() as session:
            plans.save_queries(session, version, queries)

    def queries(self, version: str) -> JsonObject | None:
        """Return the account queries of a version of the company, a plan's `company_version`; None: not stored."""
        with self.database.read() as session:
            return plans.queries(session, version)

    # The outbox

    def queue(self, *mails: tuple[LetterRecord, OutboxRecord]) -> tuple[OutboxRecord, ...]:
        """Put mails into the outbox, each with the letter it was made from: all of them or none.

        Returns:
            The rows; where a mail and kind have one already, that one: its bytes are sent, its letter stays.
        Raises:
            PermanentError: a Message-ID is that of another mail.
        """
        with self.database.write() as session:
            return tuple(outbox.queue(session, letter, mail) for letter, mail in mails)

    def queue_notice(self, letter: LetterRecord, notice: OutboxRecord, lost: OutboxId) -> OutboxRecord | None:
        """Put the desk's notice of a lost mail into the outbox, and remember with it that the desk is told.

        Returns:
            The notice's row; None: somebody else has told it, or it is not lost any more, and nothing is queued.
        Raises:
            TransientError: the notice's number was taken in between; it must be made with the next one.
        """
        with self.database.write() as session:
            return outbox.queue_notice(session, letter, notice, lost)

    def letter_for(self, mail_id: MailId, kind: LetterKind, number: int = 1) -> LetterRecord | None:
        """Return what a mail in the outbox was made from."""
        with self.database.read() as session:
            return outbox.letter_for(session, mail_id, kind, number)

    def ready(
        self, now: datetime, limit: int, after: Due | None = None, kinds: Collection[LetterKind] = tuple(LetterKind)
    ) -> tuple[Due, ...]:
        """Return what is due of these kinds, the longest due first; each must be claimed before it is sent.

        Args:
            limit: The most that is returned.
            after: Only what stands behind this one, whatever has become of it since.
        """
        with self.database.read() as session:
            return outbox.ready(session, now, limit, after, kinds)

    def call_in(self, now: datetime, latest: datetime) -> int:
        """Make due what is due later than anything can be: it was put off while the clock was ahead; how many."""
        with self.database.write() as session:
            return outbox.call_in(session, now, latest)

    def outgoing(
        self,
        status: OutboxStatus | None = None,
        mail_id: MailId | None = None,
        kind: LetterKind | None = None,
        message_id: str | None = None,
    ) -> tuple[OutboxRecord, ...]:
        """Return the rows of the outbox that meet every condition given, the oldest first."""
        with self.database.read() as session:
            return outbox.outgoing(session, status, mail_id, kind, message_id)

    def untold_losses(self, mail_id: MailId | None = None) -> tuple[OutboxRecord, ...]:
        """Return the mails to customers that are `failed` or `uncertain` and of which the desk was not told since.

        Args:
            mail_id: Only what went out for this mail.
        """
        with self.database.read() as session:
            return outbox.untold_losses(session, mail_id)

    def claim(self, outbox_id: OutboxId, now: datetime) -> bool:
        """Turn a due row from `ready` to `sending` and count the attempt; False: somebody else has it."""
        with self.database.write() as session:
            return outbox.claim(session, outbox_id, now)

    def mark_sent(self, outbox_id: OutboxId, detail: str, sent_at: datetime) -> None:
        """The server took it; what is found out later about a mail is for `settlements`, with who says so."""
        changes = {"last_detail": detail, "sent_at": sent_at}
        with self.database.write() as session:
            outbox.move(session, outbox_id, (OutboxStatus.SENDING,), OutboxStatus.SENT, **changes)

    def mark_uncertain(self, outbox_id: OutboxId, detail: str) -> None:
        """The connection was lost after the final dot, and the machine does not try it again."""
        with self.database.write() as session:
            outbox.move(session, outbox_id, (OutboxStatus.SENDING,), OutboxStatus.UNCERTAIN, last_detail=detail)

    def mark_failed(self, outbox_id: OutboxId, detail: str) -> None:
        """The server refused it for good, or nobody will ask it again."""
        with self.database.write() as session:
            outbox.move(session, outbox_id, (OutboxStatus.SENDING,), OutboxStatus.FAILED, last_detail=detail)

    def mark_retry(self, outbox_id: OutboxId, detail: str, next_try_at: datetime) -> None:
        """It was certainly not taken, or is the desk's own: back to `ready`, due at `next_try_at`."""
        with self.database.write() as session:
            outbox.move(
                session,
                outbox_id,
                (OutboxStatus.SENDING,),
                OutboxStatus.READY,
                last_detail=detail,
                next_try_at=next_try_at,
            )

    def recover_sending(self, desk_tries: int = 0) -> tuple[OutboxRecord, ...]:
        """Turn what a dead process left in `sending` to `uncertain`; call it before any sender starts.

        Whether the server had the final dot cannot be known any more, so a person decides; only the desk gets its own
        mail again.

        Args:
            desk_tries: A mail to the desk that has had fewer is `ready` again.
        Returns:
            What was `sending`, as it is now.
        """
        with self.database.write() as session:
            return outbox.recover_sending(session, desk_tries)

    # Housekeeping

    def counts(self) -> Counts:
        """Return how much there is of each status."""
        with self.database.read() as session:
            return retention.counts(session)

    def delete_older_than(self, instant: datetime) -> Deleted:
        """Delete the cases whose last mail is older, and older mails without a case; no unfinished work."""
        with self.database.write() as session:
            return retention.delete_older_than(session, instant)
