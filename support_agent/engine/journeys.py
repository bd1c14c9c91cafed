"""The journeys of one brand's mails: what the worker of a mailbox asks of the engine.

Invariant: no brand sees or changes the journeys of another. Checked by tests/integration/engine/test_brands.py and
tests/integration/engine/test_engine.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from dbos import DBOS

from support_agent.core.size_limits import batches
from support_agent.engine.database import mapped_errors
from support_agent.engine.records import ACTIVE, BATCH, FAILED, FINISHED, brand_and_mail, failure_of, id_of, queue_of
from support_agent.errors import SupportAgentError

if TYPE_CHECKING:
    from support_agent.engine.engine import Engine


class FailedJourney(NamedTuple):
    """A mail whose journey failed; the caller escalates it."""

    mail_id: str
    error: SupportAgentError


class InHand(NamedTuple):
    """How many mails wait for their journey, and how many journeys run."""

    queued: int
    running: int


class Journeys:
    """The journeys of the mails of one brand in an engine."""

    def __init__(self, engine: Engine, brand: str) -> None:
        self.engine = engine
        self._brand, self._queue = brand, queue_of(brand)

    def start(self, mail_id: str, thread: str) -> None:
        """Queue a mail; a mail that was started before, finished or not, stays as it is.

        Args:
            mail_id: Not empty, unique among the mails of the brand.
            thread: Name of its thread, not empty; mails of one thread run one by one, in the order of their start.
        """
        self.engine.start(self._brand, mail_id, thread)

    def follow_queued(self) -> None:
        """Queue further mails behind all that are queued; call it when this process begins to start mails."""
        self.engine.follow_queued()

    @mapped_errors()
    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until no mail of the brand is queued or running; False if that took too long or the engine was stopped.

        Meanwhile, queue mails again whose end could not be recorded, for example on a full disk.
        """
        engine, deadline = self.engine, time.monotonic() + timeout_s
        while not engine.stopping.is_set():
            engine.ended.clear()
            has_taken = engine.queues.has_taken(self._queue)  # then the database need not be asked
            if not has_taken and not DBOS.list_workflows(
                status=ACTIVE, queue_name=self._queue, limit=1, load_input=False, load_output=False
            ):
                return True
            if not has_taken or engine.takeover.is_due:
                engine.takeover.of_lost()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            engine.ended.wait(min(left_s, engine.settings.poll_interval_s))
        return False

    @contextmanager
    def still(self, timeout_s: float) -> Iterator[bool]:
        """Let no journey of the brand begin in this process inside the block; yields whether none is running."""
        with self.engine.hands.still(self._brand, timeout_s) as is_still:
            yield is_still

    def requeue_lost(self) -> None:
        """Queue mails of all brands again that no thread of this process runs, against its records."""
        self.engine.takeover.of_lost()

    def take_over_dead(self) -> None:
        """Queue the brand's mails again that run in processes which are not alive any more, while the engine runs."""
        if self.engine.is_live:
            self.engine.takeover.of_dead(self._brand)

    @mapped_errors()
    def in_hand(self) -> InHand:
        """Count the brand's mails that are queued, and those that run."""
        if not self.engine.is_live:
            return InHand(0, 0)
        counts = self.engine.queues.count(self._queue)
        return InHand(*(counts.get(status, 0) for status in ACTIVE))

    @mapped_errors()
    def failed(self) -> list[FailedJourney]:
        """Mails whose journey failed, oldest first, until `delete_finished` removes them."""
        failures = DBOS.list_workflows(status=FAILED, load_input=False)
        named = ((*brand_and_mail(status.workflow_id), status) for status in failures)
        return [FailedJourney(mail_id, failure_of(status)) for owner, mail_id, status in named if owner == self._brand]

    @mapped_errors()
    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        """For each of these mails that was started: whether its journey ended without an error."""
        return {
            brand_and_mail(status.workflow_id)[1]: status.status == "SUCCESS"
            for part in batches(self._ids(mail_ids))
            for status in DBOS.list_workflows(workflow_ids=part, load_input=False, load_output=False)
        }

    @mapped_errors()
    def delete_records(self, mail_ids: Sequence[str]) -> None:
        """Delete the records of mails whose journey has ended, so that `start` runs them again; others stay."""
        for part in batches(self._ids(mail_ids)):
            ended = DBOS.list_workflows(workflow_ids=part, status=FINISHED, load_input=False, load_output=False)
            DBOS.delete_workflows([status.workflow_id for status in ended])

    @mapped_errors()
    def delete_finished(self, before: datetime) -> int:
        """Delete the records of all brands' mails that ended before an aware instant; their ids may run again then.

        Only the first mailbox does it, as only the engine's own configuration says how long they are kept.

        Returns:
            How many were deleted.
        """
        count = 0
        while not self._brand and (
            batch := DBOS.list_workflows(
                status=FINISHED,
                completed_before=before.astimezone(UTC).isoformat(),
                limit=BATCH,
                load_input=False,
                load_output=False,
            )
        ):
            DBOS.delete_workflows([status.workflow_id for status in batch])
            count += len(batch)
        return count

    def _ids(self, mail_ids: Sequence[str]) -> list[str]:
        return [id_of(self._brand, mail_id) for mail_id in mail_ids]
