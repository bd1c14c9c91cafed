"""`support-agent desk`: serve the page on which people at the desk see and decide cases.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

import typer

from support_agent.cli.backtest import WORK_FOLDER
from support_agent.cli.options import ConfigOption, config_file, now, settings_of
from support_agent.config.log import configure_log


def desk(config: ConfigOption = None) -> None:
    """Serve the desk's page until stopped, beside `support-agent run`. It prints the address, or a one-time link."""
    from support_agent.app import open_desk, real_probes
    from support_agent.desk_page.backtests import Backtests
    from support_agent.desk_page.checkup import Checkup
    from support_agent.desk_page.server import open_page, serve
    from support_agent.desk_page.visit import Desk

    settings = settings_of(config)
    configure_log(settings.log)
    file = config_file(config).absolute()
    backtests = Backtests(settings, file, file.parent / WORK_FOLDER)
    with open_desk(settings) as (store, stages):
        page = Desk(settings, store, stages, now, Checkup(settings, real_probes), backtests)
        serve(open_page(page, typer.echo), settings.desk_page)
