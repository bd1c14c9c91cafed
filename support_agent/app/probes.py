"""Opens the connections that `doctor` and `probe` look through: the same implementations as the worker's.

Checked by tests/integration/test_doctor.py and tests/acceptance/test_probe.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.core.cursor import Cursor
from support_agent.errors import ConfigError
from support_agent.models.opening import ask_server, require_room_for
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from support_agent.transport.openid import Provider
from support_agent.transport.submission import SmtpTransport

if TYPE_CHECKING:
    from support_agent.ops.doctor import Probes, SeenMailbox
    from support_agent.ops.probe import Probe


@contextmanager
def open_probe(settings: Settings) -> Iterator[Probe]:
    """What sends a canary mail and waits for its answer, beside a running worker.

    Raises:
        ConfigError: `[probe]` cannot be used, or there is no store yet.
    """
    from support_agent.ops.probe import Probe, canary_imap, canary_smtp, require_probe_settings
    from support_agent.ops.store_health import current_store

    require_probe_settings(settings)
    imap, transport = canary_imap(settings), SmtpTransport(canary_smtp(settings))

    def open_mailbox() -> Mailbox:
        return Mailbox(imap, read_only=True)

    with current_store(settings) as store, closing(transport):
        if store is None:
            raise ConfigError("there is no store of this version yet: start `support-agent run` first")
        yield Probe(settings, transport, open_mailbox, store, utc_now, time.monotonic, time.sleep)


def real_probes(now: datetime) -> Probes:
    """The connections that `doctor` probes: the same implementations as the worker's."""
    from support_agent.facts.index import count_entries
    from support_agent.ops.doctor import Probes

    return Probes(
        now=now,
        look_at_mailbox=_look_at_mailbox,
        check_sender=lambda settings: SmtpTransport(settings.smtp, TokenSource(settings.oauth), utc_now).check(),
        ask_model=ask_server,
        require_room=require_room_for,
        count_entries=count_entries,
        read_issuer=Provider.read,
    )


def _look_at_mailbox(settings: Settings, cursor: Cursor | None) -> SeenMailbox:
    from support_agent.ops.doctor import SeenMailbox
    from support_agent.outbound.sent_folder import sent_folder_of

    with Mailbox(settings.imap, TokenSource(settings.oauth), utc_now) as mailbox:
        folder = sent_folder_of(mailbox, settings.imap)
        is_there = folder is not None and mailbox.has_folder(folder)
        return SeenMailbox(mailbox.count_after(cursor), folder if is_there else None)
