"""The whole program with the scripted model and search of `lives.py`; run as `python -m`, with its own arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from support_agent.app import dry_runs, wiring, workers
from support_agent.cli import main as cli
from support_agent.config.settings import Settings
from support_agent.models.language_model import Model
from support_agent.models.progress import Progress

COMMAND: Sequence[str] = (sys.executable, "-m", "tests.journey.program")


def open_model(settings: Settings, progress: Progress) -> Model:
    """In place of the model; imported where it is opened, so that commands without one start as soon as they do."""
    from tests.journey.lives import Undecided

    return Undecided()


def open_search(*_: object, **__: object) -> object:
    """In place of the search."""
    from tests.journey.lives import WordSearch

    return WordSearch()


def use_script() -> None:
    """Put the script in place of model, search and fact room, in this process."""
    fakes = {"open_model": open_model, "open_search": open_search, "open_rooms": lambda *_, **__: None}
    for module in (dry_runs, wiring, workers):
        for name, fake in fakes.items():
            if hasattr(module, name):
                setattr(module, name, fake)


def main() -> None:
    """`support-agent`, as it is installed."""
    use_script()
    cli.main()


if __name__ == "__main__":
    main()
