"""The whole program with a search and a choice that need no model, for backtests; run as `python -m`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from support_agent.app import dry_runs
from support_agent.cli import main as cli
from support_agent.config.settings import Settings

COMMAND: Sequence[str] = (sys.executable, "-m", "tests.journey.backtest_program")


def open_search(*_: object, **__: object) -> object:
    """In place of the search; imported where it is opened."""
    from support_agent.facts.index import Index, memory_client
    from support_agent.facts.search import CompanySearch
    from tests.unit.facts.test_search import WordEmbedder

    embedder = WordEmbedder()
    return CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name="backtest")})


def open_decider(settings: Settings, *_: object, **more: Any) -> object:
    """In place of what decides."""
    from support_agent.planner.loop import Planner
    from support_agent.workflow.decide import Decider
    from tests.fakes import PLAIN
    from tests.fakes_journey import SureModel, WordSearch

    planner = Planner(SureModel(), settings.planner, lambda: 0.0, combiner=PLAIN)
    company, templates = more["company"], more["templates"]
    return Decider(company=company, planner=planner, search=WordSearch(), templates=templates, settings=settings)


def main() -> None:
    """`support-agent`, as it is installed."""
    for name, fake in {"open_search": open_search, "open_decider": open_decider}.items():
        setattr(dry_runs, name, fake)
    cli.main()


if __name__ == "__main__":
    main()
