"""Opens what watches the workers of this process, as the `[watch]` section of the first mailbox says.

Slow modules are imported inside functions. Checked by tests/unit/watch/test_server.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from importlib.metadata import version

from support_agent.config.settings import Settings
from support_agent.watch.health import WatchedWorker
from support_agent.watch.observer import WorkerObserver


@contextmanager
def open_watch(
    each: Mapping[str, Settings], now: Callable[[], datetime], clock: Callable[[], float]
) -> Iterator[dict[str, WatchedWorker]]:
    """Serve health and metrics, and send traces, until the block ends; neither, unless they are set.

    Args:
        each: The settings of each mailbox by its brand; "" is the first.
        clock: Monotonic seconds.
    Yields:
        What is watched of each worker; the caller fills in what it opens.
    Raises:
        ConfigError: the address cannot be used.
    """
    watch, watched = each[""].watch, dict[str, WatchedWorker]()
    with ExitStack() as opened:
        tracing = recorder = None
        if watch.otlp_endpoint:
            from support_agent.watch.tracing import Tracing

            tracing = opened.enter_context(closing(Tracing.to(watch.otlp_endpoint, version("support-agent"))))
        if watch.port:
            from support_agent.watch.recorder import Recorder

            recorder = Recorder(each, lambda brand: watched[brand].samples())
        for brand, settings in each.items():
            watched[brand] = WatchedWorker(settings, WorkerObserver(brand, clock, recorder, tracing), now)
        if recorder is not None:
            from support_agent.watch.server import serving

            opened.enter_context(serving(watch.host, watch.port, watched, recorder))
        yield watched
