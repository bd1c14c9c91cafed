"""`support-agent probe`: a canary mail through the whole loop, each hop timed.

Checked by tests/unit/ops/test_probe.py and, over real servers, tests/acceptance/test_probe.py.
"""

from __future__ import annotations

import uuid

import typer

from support_agent.cli import printing
from support_agent.cli.options import DONE, FAILED, ConfigOption, JsonOption, print_data, quiet_log, settings_of


def probe(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Send a canary mail to the agent, wait for the answer, and print how long each hop took.

    A worker must be running. The canary is an ordinary customer, as `[probe]` says; its case stays in the store. Exits
    with 1 if no answer came back, or not the one of probe.document.
    """
    from support_agent.app.probes import open_probe

    settings = settings_of(config)
    quiet_log(settings)
    with open_probe(settings) as opened:
        probed = opened.run(uuid.uuid4().hex)
    print_data(probed, as_json, printing.probed(probed))
    raise typer.Exit(DONE if probed.is_ok else FAILED)
