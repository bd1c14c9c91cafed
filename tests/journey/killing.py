"""Kills the program where a test wants it to die, and lets it go on; see `lives.py` for the process."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email import policy
from pathlib import Path

from support_agent.demo.servers import DemoServers
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.store.records import MailId
from tests.journey.lives import Kill, Trace

ROOT = Path(__file__).parents[2]
NOW = timedelta()


class Lives:
    """The process of `lives.py`; killed, if it is still there, at the end of the `with`."""

    def __init__(self, url: str, servers: DemoServers, folder: Path, **changed: str) -> None:
        """Args: changed: Settings besides those of all lives, as `SECTION__KEY`."""
        init(folder / "workspace", datetime.now(UTC).date())
        config = folder / "workspace" / CONFIG_FILE
        self.trace = Trace(folder / "trace")
        local = {"HOST": servers.host, "SECURITY": "plain"}
        settings = {f"{section}__{key}": value for section in ("IMAP", "SMTP") for key, value in local.items()}
        settings |= {"IMAP__USER": servers.user, "IMAP__PASSWORD": servers.password}
        settings |= {"IMAP__PORT": str(servers.imap_port), "SMTP__PORT": str(servers.smtp_port), "STORE__URL": url}
        settings |= {"IMAP__SKIP_EXISTING": "false"}
        settings |= {"ENGINE__POLL_INTERVAL_S": "0.02", "ENGINE__MAX_INTERRUPTIONS": "1000"}
        settings |= {"AGENT__MAX_MAILS_PER_CASE": "1000", "AGENT__MAX_MAILS_PER_SENDER_A_DAY": "1000"}
        settings |= {"AGENT__MAX_MAILS_PER_HOUR": "100000", "AGENT__IDENTICAL_ANSWER_DAYS": "0"}
        settings |= {"AUTONOMY__START": "auto"} | changed
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.journey.lives", config, self.trace.path],
            cwd=ROOT,
            env=os.environ | {f"SUPPORT_AGENT__{key}": value for key, value in settings.items()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Lives:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def go(self, kills: Mapping[MailId, Kill], ahead: timedelta = NOW) -> int:
        """Handle what is in the mailbox; how many processes died on the way.

        Args:
            ahead: How far the clock of these lives is ahead.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"kills": kills, "ahead_s": ahead.total_seconds()}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "a process ended by itself before the mails were done: see its stderr"
        return int(answer)


def arrived_at(servers: DemoServers) -> Counter[str]:
    """How often each Message-ID came out at the SMTP server."""
    return Counter(
        str(email.message_from_bytes(mail.raw, policy=policy.default)["Message-ID"]) for mail in servers.received()
    )
