"""`support-agent desk`: serve the page on which people at the desk see and decide cases.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from support_agent.cli.options import ConfigOption, now, settings_of
from support_agent.config.log import configure_log

if TYPE_CHECKING:
    from support_agent.config.settings import Settings
    from support_agent.ops.backtest.running import Bench


def desk(config: ConfigOption = None) -> None:
    """Serve the desk's page until stopped, beside `support-agent run`. It prints the address, or a one-time link."""
    from support_agent.app import open_bench, open_desk
    from support_agent.config.backtest import PROVEN_BY_MAIL
    from support_agent.desk_page.server import open_page, serve
    from support_agent.desk_page.visit import Desk

    settings = settings_of(config)
    configure_log(settings.log)

    def bench(changed: Settings, collection: str) -> Bench:
        return open_bench(changed, PROVEN_BY_MAIL, without_model=True, collection=collection)

    with open_desk(settings) as (store, stages):
        serve(open_page(Desk(settings, store, stages, now, bench), typer.echo), settings.desk_page)
