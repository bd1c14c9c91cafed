"""Queues mails again that nobody handles any more: their process died, or the thread that had them is gone.

Invariant: a mail that kills its process each time ends as failed, after `engine.max_interruptions`, and no mail of a
process that is alive is taken. Checked by tests/integration/engine/test_launch_and_stop.py, and with real processes by
tests/journey/test_workers.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence

import structlog
from dbos import DBOS, DBOSClient, WorkflowStatus

from support_agent.engine.database import mapped_errors
from support_agent.engine.hands import Hands
from support_agent.engine.queues import Queues
from support_agent.engine.records import brand_and_mail, brand_logged, interruptions_of, queue_of
from support_agent.errors import TransientError

log = structlog.get_logger(__name__)

LOST_AFTER_S = 5.0
"""After this time a mail is queued again that is recorded as running here while no thread runs it."""

Client = DBOSClient | type[DBOS]


class Takeover:
    """Finds such mails of all brands, for one process.

    Args:
        executor_id: This process.
        max_interruptions: So often a mail is queued again.
        alive: Returns the executor ids of the processes that work on this database now.
        hands: What runs in this process.
        queues: Are notified of what is queued again.
    """

    def __init__(
        self,
        executor_id: str,
        max_interruptions: int,
        alive: Callable[[], Collection[str]],
        hands: Hands,
        queues: Queues,
    ) -> None:
        self._executor_id, self._max_interruptions, self._alive = executor_id, max_interruptions, alive
        self._hands, self._queues = hands, queues
        self._lost_since: dict[str, float] = {}
        self._requeuing = threading.Lock()
        self._looked_s = 0.0

    def at_launch(self, client: DBOSClient, brands: Sequence[str]) -> None:
        """Queue all mails again that dead processes have left; no mail runs in this process yet."""
        alive = self._alive()
        for brand in brands:
            self._of_others(client, brand, alive)

    @mapped_errors()
    def of_dead(self, brand: str) -> None:
        """Queue a brand's mails again that run in processes which are not alive any more."""
        self._of_others(DBOS, brand, {*self._alive(), self._executor_id})
        self._queues.ring(queue_of(brand))

    @mapped_errors()
    def of_lost(self) -> None:
        """Queue mails again that are recorded as running in this process while no thread runs them; call it often."""
        with self._requeuing:
            self._looked_s = time.monotonic()
            self._of_lost_alone()

    @property
    def is_due(self) -> bool:
        """Whether lost mails have not been looked for in a while."""
        return time.monotonic() - self._looked_s >= LOST_AFTER_S

    def _of_others(self, client: Client, brand: str, alive: Collection[str]) -> None:
        for status in client.list_workflows(
            status="PENDING", queue_name=queue_of(brand), load_input=False, load_output=False
        ):
            if status.executor_id not in alive:
                self._queue_again(client, status)

    def _of_lost_alone(self) -> None:
        # Before the records are read: a mail that is claimed from now on is in neither of the two looks below.
        now, taken = time.monotonic(), self._queues.taken()
        pending = DBOS.list_workflows(
            status="PENDING", executor_id=self._executor_id, load_input=False, load_output=False
        )
        in_hand = self._hands.all()
        self._queues.release(taken.difference(in_hand, (status.workflow_id for status in pending)))
        lost = {status.workflow_id: status for status in pending if status.workflow_id not in in_hand}
        self._lost_since = {workflow_id: self._lost_since.get(workflow_id, now) for workflow_id in lost}
        for workflow_id, status in lost.items():
            if now - self._lost_since[workflow_id] < LOST_AFTER_S:
                continue
            brand, mail_id = brand_and_mail(workflow_id)
            log.error("mail_lost_from_hand", mail_id=mail_id, **brand_logged(brand))
            self._lost_since[workflow_id] = now
            try:
                with mapped_errors():
                    self._queue_again(DBOS, status)
            except TransientError as error:  # the disk is still full: the next call tries again
                log.warning("mail_not_taken_up", mail_id=mail_id, error=str(error), **brand_logged(brand))

    def _queue_again(self, client: Client, status: WorkflowStatus) -> None:
        """Queue a mail again; if its process still lives, DBOS refuses that one's further records."""
        workflow_id, count = status.workflow_id, interruptions_of(status) + 1
        brand, mail_id = brand_and_mail(workflow_id)
        # Our own count, stored before the resume: resuming resets DBOS's count, and a mail that kills the process
        # each time must end.
        client.update_workflow_attributes(workflow_id, {"interruptions": count}, merge=True)
        if count > self._max_interruptions:
            client.cancel_workflow(workflow_id)
            log.error("mail_given_up", mail_id=mail_id, interruptions=count, **brand_logged(brand))
        else:
            # Without the name DBOS would use its internal queue, and the mail would lose its turn in the thread.
            client.resume_workflow(workflow_id, queue_name=queue_of(brand))
            log.info("mail_taken_over", mail_id=mail_id, interruptions=count, **brand_logged(brand))
