"""The worker takes over changed files of the company between two rounds, so that a published document needs no restart.

Invariant: a mail is handled with one version of the files from its first step to its last, and files with an error are
not taken over: the worker goes on with those that it has. Checked by tests/unit/workflow/test_renewal.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from support_agent.company.company import Stamp
from support_agent.errors import SupportAgentError, TransientError

log = structlog.get_logger(__name__)

Opened = TypeVar("Opened")


class Renewal(Generic[Opened]):
    """What is made of the company's files, and made again where they have changed."""

    def __init__(
        self, stamp: Callable[[], Stamp], open: Callable[[], Opened], again: Callable[[Opened], Opened]
    ) -> None:
        """Make it for the first time.

        Args:
            stamp: Names the files as they are on the disk, see `company.stamp_of`.
            open: Makes it of the files.
            again: Makes it of changed files in the place of what there was; raises where they cannot be used.
        """
        self._stamp, self._again = stamp, again
        self._seen = stamp()
        self.current = open()
        self.problem = ""
        """Why the files as they are now cannot be used, or ""."""

    @property
    def is_outdated(self) -> bool:
        """Whether the files have changed since they were looked at last."""
        return self._stamp() != self._seen

    def renew(self) -> Opened | None:
        """Make it again if the files have changed; None: they have not, or cannot be used.

        Call this while no mail is being handled.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self.problem = ""
        try:
            self.current = self._again(self.current)
        except (TransientError, OSError) as error:  # such as a folder that goes while it is listed: tried again
            log.warning("company_files_not_read", code=getattr(error, "code", "os"), error=str(error))
            return None
        except SupportAgentError as error:  # tried again once somebody has changed a file
            self._seen, self.problem = stamp, str(error)
            log.error("company_files_not_used", code=error.code, error=str(error))
            return None
        self._seen = stamp
        log.info("company_files_taken_over")
        return self.current
