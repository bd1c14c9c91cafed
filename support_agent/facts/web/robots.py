"""Reads robots.txt: which pages a crawler may read, how fast, and where the sitemaps are.

Protego handles groups, `*`, `$` and the longest match (RFC 9309, section 2.2); the limits are ours. Invariant: reading
any file and matching any path take bounded time. Checked by tests/unit/facts/web/test_robots.py.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

import structlog
from protego import Protego

log = structlog.get_logger(__name__)

MAX_CHARACTERS = 512_000
"""Bytes to read: the least that a crawler must read (section 2.5), and no more."""
MAX_STEPS = 500_000
"""Limit of crawler names times lines, as Protego stores each rule once per name."""
MAX_DELAY_S = 60.0

AGENT_LINE = re.compile(r"(user-?agent\s*:\s*)([^\s#]*)", re.IGNORECASE)
DELAY_LINE = re.compile(r"(crawl[- ]delay(?:\s*:\s*|\s+))([^\s#]+)", re.IGNORECASE)
INDEX_LINE = re.compile(r"(allow(?:\s*:\s*|\s+)[^\s#]*/index\.html)(?=[\s#]|$)", re.IGNORECASE)
MOST_BLANKS = re.compile(r"\s{2,}")


class Robots(NamedTuple):
    """Our rules: those of our group, the wait between two requests, and the sitemaps' addresses."""

    rules: Protego
    agent: str
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Whether the page may be read: the longest matching rule counts; of equally long ones, the one that allows."""
        return self.rules.can_fetch(address, self.agent)


def read_robots(text: str, agent: str) -> Robots:
    """Our rules in the file; a file beyond `MAX_STEPS` allows nothing.

    Args:
        agent: Our product's name: the first word of the user agent, without its version.
    """
    text = text[:MAX_CHARACTERS]
    if text.lower().count("agent") * len(text.splitlines()) > MAX_STEPS:
        log.warning("robots_too_long", characters=len(text))
        return NOTHING_ALLOWED
    rules = Protego.parse("\n".join(_repaired(line, agent) for line in text.splitlines()))
    return Robots(rules, agent, min(rules.crawl_delay(agent) or 0.0, MAX_DELAY_S), tuple(rules.sitemaps))


def _repaired(line: str, agent: str) -> str:
    """A line, changed where Protego deviates from the RFC; it splits lines like Python."""
    line = MOST_BLANKS.sub(" ", line.strip())
    if found := AGENT_LINE.match(line):
        return _whole_name(found, agent)
    if found := DELAY_LINE.match(line):
        return _bounded(found)
    if found := INDEX_LINE.match(line):  # without an end mark Protego also allows "/"
        return f"{found[1]}$\n{found[1]}?"
    return line


def _bounded(line: re.Match[str]) -> str:
    """The line with `MAX_DELAY_S` in place of a longer wait: Protego ignores an infinite one."""
    with suppress(ValueError):
        if float(line[2]) > MAX_DELAY_S:
            return f"{line[1]}{MAX_DELAY_S}"
    return line[0]


def _whole_name(line: re.Match[str], agent: str) -> str:
    """The line with another crawler's name made unusable: Protego takes any prefix of our name for ours."""
    name = line[2].partition("/")[0].lower()
    return line[0] if name in ("*", agent.lower()) else f"{line[1]}-"


EVERYTHING_ALLOWED = read_robots("", "")
"""The rules of a site without robots.txt (section 2.3.1.3)."""
NOTHING_ALLOWED = read_robots("User-agent: *\nDisallow: /", "")
"""The rules of a site whose robots.txt cannot be reached (section 2.3.1.4)."""
