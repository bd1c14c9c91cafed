"""Configures the log from the `log` section of the settings. Checked by tests/unit/test_log.py."""

from __future__ import annotations

import logging
import sys

import structlog

from support_agent.config.settings import LogSettings


def configure_log(settings: LogSettings) -> None:
    """Write one event per step to stderr, as JSON or in a form for people."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
