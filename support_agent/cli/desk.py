"""`support-agent desk`: serve the page on which people at the desk see and decide cases.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

import structlog
import typer

from support_agent.cli.backtest import WORK_FOLDER
from support_agent.cli.options import ConfigOption, config_file, now, settings_of, stopped_by_signal
from support_agent.config.log import configure_log
from support_agent.errors import SupportAgentError

if TYPE_CHECKING:
    from support_agent.config.settings import Settings
    from support_agent.ops.backtest.running import Bench
    from support_agent.workflow.wired import Wired

log = structlog.get_logger(__name__)


def desk(config: ConfigOption = None) -> None:
    """Serve the desk's page until stopped, beside `support-agent run`. It prints the address, or a one-time link."""
    from support_agent.app.desk import open_desk
    from support_agent.app.dry_runs import open_bench
    from support_agent.app.probes import real_probes
    from support_agent.config.backtest import PROVEN_BY_MAIL
    from support_agent.desk_page.backtest_process import Backtests
    from support_agent.desk_page.checkup import Checkup
    from support_agent.desk_page.server import open_page, serve
    from support_agent.desk_page.visit import Desk

    settings = settings_of(config)
    configure_log(settings.log)
    file = config_file(config).absolute()
    backtests = Backtests(settings, file, file.parent / WORK_FOLDER)

    def bench(changed: Settings, collection: str) -> Bench:
        return open_bench(changed, PROVEN_BY_MAIL, without_model=True, collection=collection)

    with open_desk(settings) as (store, wired):
        desk = Desk(settings, store, wired, now, Checkup(settings, real_probes), backtests, bench)
        page, address = open_page(desk)
        opening = Thread(target=_open_search, args=(wired,), name="opens-the-search")

        def listening() -> None:
            typer.echo(address)
            opening.start()

        serve(page, settings.desk_page, stopped_by_signal(), listening)
        opening.join()  # its libraries do not survive a process that ends meanwhile


def _open_search(wired: Callable[[], Wired]) -> None:
    """Open the embedding models, so that the first preview need not wait for them."""
    try:
        wired().decider()
    except SupportAgentError as error:
        log.warning("search_not_opened", code=error.code, error=str(error))
