"""What the commands share: options, settings, the clock, output as text or JSON, exit codes.

Checked by tests/unit/cli/test_main.py and tests/unit/cli/test_options.py.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.demo.workspace import CONFIG_FILE
from support_agent.errors import ConfigError

DONE, FAILED, USAGE = 0, 1, 2
STOPPING = (signal.SIGTERM, signal.SIGINT)

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help=f"Configuration file; default: ./{CONFIG_FILE}.", envvar="SUPPORT_AGENT_CONFIG"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout, for scripts.")]


def settings_of(path: Path | None, overrides: dict[str, Any] | None = None, *, optional: bool = False) -> Settings:
    """The settings of a configuration file; if `optional` and there is no file, the defaults."""
    if optional and path is None and not Path(CONFIG_FILE).is_file():
        return load(None, overrides)
    return load(config_file(path), overrides)


def config_file(path: Path | None) -> Path:
    """The configuration file that `--config` names, or the one in the working folder."""
    found = path or Path(CONFIG_FILE)
    if not found.is_file():
        raise ConfigError(f"no configuration at {found}: run 'support-agent init DIR', or name it with --config")
    return found


def now() -> datetime:
    """The clock."""
    return datetime.now(UTC)


def quiet_log(settings: Settings, level: str = "warning") -> None:
    """Log little: for commands that print data."""
    from support_agent.config.log import configure_log

    configure_log(settings.log.model_copy(update={"level": level}))


def stopped_by_signal() -> Event:
    """An event that SIGTERM and SIGINT set, for what runs until it is stopped; for one caller in a process.

    A thread of its own sets it. Python runs a handler in the main thread alone, which does not wake up for it if the
    system gave the signal to another thread, and which may just hold the event's lock.
    """
    stop = Event()
    received, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in STOPPING:
        signal.signal(number, lambda *_: None)

    def wait() -> None:
        while os.read(received, 1)[0] not in STOPPING:  # the number of any signal that has a handler
            pass
        stop.set()

    Thread(target=wait, name="signals", daemon=True).start()
    return stop


def print_data(data: BaseModel | Sequence[BaseModel], as_json: bool, text: str) -> None:
    """Print the data as JSON for scripts, or the text for people."""
    if not as_json:
        if text:
            typer.echo(text)
    elif isinstance(data, BaseModel):
        typer.echo(data.model_dump_json())
    else:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in data], ensure_ascii=False))
