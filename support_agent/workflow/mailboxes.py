"""Runs the workers of several mailboxes beside each other.

Invariant: if one of them cannot go on, all stop as if asked to, so that a supervisor sees it and starts them again; a
mailbox that cannot be reached stops no other. Checked by tests/unit/workflow/test_mailboxes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import structlog

from support_agent.errors import SupportAgentError, TransientError

Run = Callable[[Event], None]


def run_all(runs: Mapping[str, Run], stop: Event) -> None:
    """Run each mailbox in a thread of its own until it ends or `stop` is set; one alone runs in this thread.

    Args:
        runs: What runs a mailbox, by the name of its brand.
    Raises:
        SupportAgentError: the first error of a mailbox; its message begins with the brand's name.
    """
    if len(runs) == 1:
        (run,) = runs.values()
        run(stop)
        return
    with ThreadPoolExecutor(len(runs), thread_name_prefix="mailbox") as pool:
        for ended in [pool.submit(_run, name, run, stop) for name, run in runs.items()]:
            ended.result()


def _run(name: str, run: Run, stop: Event) -> None:
    with structlog.contextvars.bound_contextvars(**({"brand": name} if name else {})):
        try:
            run(stop)
        except SupportAgentError as error:
            if not isinstance(error, TransientError):
                stop.set()
            raise type(error)(f"{name}: {error}" if name else str(error), code=error.code) from error
        except BaseException:
            stop.set()
            raise
