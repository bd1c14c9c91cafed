"""Configures the log from the `log` section of the settings. Checked by tests/unit/test_log.py."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress

import structlog

from support_agent.config.settings import LogSettings
from support_agent.core.size_limits import first_line

log = structlog.get_logger(__name__)

QUOTED = set(" \t=\r\n\"'")
"""A value with one of these is quoted by structlog's renderer."""


class _Log(structlog.PrintLogger):
    """Prints; a line that cannot be written (disk full, reader gone) is dropped: it is not worth a mail."""

    def msg(self, message: str) -> None:
        with suppress(OSError):
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg


def _escaped(_logger: object, _level: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape what is not printable in values from outside, so that none draws on a terminal.

    The renderer does so itself where a value has a space, a line break or a quotation mark.
    """
    return {
        name: repr(value)[1:-1] if isinstance(value, str) and not QUOTED & set(value) else value
        for name, value in event.items()
    }


def configure_log(settings: LogSettings) -> None:
    """Write one event per step to stderr, as JSON or in a form for people."""
    renderers: tuple[structlog.typing.Processor, ...] = (
        (structlog.processors.JSONRenderer(),)
        if settings.format == "json"
        else (_escaped, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.level.upper())),
        logger_factory=lambda *_: _Log(sys.stderr),
        cache_logger_on_first_use=False,
    )


class _LibraryLog(logging.Handler):
    """Logs a library's warnings as events of our log: one line without a traceback, which may quote a mail."""

    def __init__(self, event: str, *, skips_errors: bool) -> None:
        super().__init__(logging.WARNING)
        self._event, self._skips_errors = event, skips_errors

    def emit(self, record: logging.LogRecord) -> None:
        if not (self._skips_errors and record.exc_info):
            log.warning(self._event, text=first_line(record.getMessage()), where=record.funcName)


def route_library_log(library: str, event: str, *, skips_errors: bool = False) -> None:
    """Keep a library's log off the console; its warnings become events of ours.

    Args:
        skips_errors: Leave out what it logs of an error (`exc_info`), which is logged where it happens.
    """
    logger = logging.getLogger(library)
    logger.propagate, logger.handlers = False, [_LibraryLog(event, skips_errors=skips_errors)]
