"""Runs duties one after the other, so that one that fails keeps no other from being done."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from support_agent.errors import ConfigError, SupportAgentError, TransientError, raised_at

log = structlog.get_logger(__name__)


def do_each(duties: Iterable[Callable[[], object]]) -> None:
    """Run all duties, even if some raise an error; an error that no further try mends is logged, also a defect.

    Raises:
        TransientError: the first one that a duty raised.
        ConfigError: at once, as it stops the program.
    """
    first: TransientError | None = None
    for duty in duties:
        try:
            duty()
        except TransientError as error:
            log.warning("duty_failed", code=error.code, error=str(error))
            first = first or error
        except ConfigError:
            raise
        except SupportAgentError as error:
            log.critical("duty_failed_for_good", code=error.code, error=str(error))
        except Exception as error:  # its text may be a mail's
            log.critical("duty_failed_for_good", code="unexpected", error=type(error).__name__, at=raised_at(error))
    if first is not None:
        raise first
