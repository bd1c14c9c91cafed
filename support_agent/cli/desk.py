"""`support-agent desk`: serve the page on which people at the desk see and decide cases.

Checked by tests/acceptance/test_desk_page.py, in a browser.
"""

from __future__ import annotations

import typer

from support_agent.cli.options import ConfigOption, now, settings_of, stopped_by_signal
from support_agent.config.log import configure_log


def desk(config: ConfigOption = None) -> None:
    """Serve the desk's page until stopped, beside `support-agent run`. It prints the address, or a one-time link."""
    from support_agent.app import open_desk
    from support_agent.desk_page.server import open_page, serve
    from support_agent.desk_page.visit import Desk

    settings = settings_of(config)
    configure_log(settings.log)
    with open_desk(settings) as (store, stages):
        serve(open_page(Desk(settings, store, stages, now), typer.echo), settings.desk_page, stopped_by_signal())
