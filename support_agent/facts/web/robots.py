"""robots.txt: which of a site's pages a crawler may read, how fast, and where the sitemaps are.

Protego knows groups, `*`, `$` and the longest match (RFC 9309, section 2.2); the bounds are ours. Invariant: reading a
file and matching a path take bounded time, whatever they are. Checked by tests/unit/facts/web/test_robots.py.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

import structlog
from protego import Protego

log = structlog.get_logger(__name__)

MAX_CHARACTERS = 512_000
"""What must be read at least (section 2.5), and all that is."""
MAX_STEPS = 500_000
"""Names of crawlers times lines, as Protego keeps each rule once for each name."""
MAX_DELAY_S = 60.0

AGENT_LINE = re.compile(r"(user-?agent\s*:\s*)([^\s#]*)", re.IGNORECASE)
DELAY_LINE = re.compile(r"(crawl[- ]delay(?:\s*:\s*|\s+))([^\s#]+)", re.IGNORECASE)
INDEX_LINE = re.compile(r"(allow(?:\s*:\s*|\s+)[^\s#]*/index\.html)(?=[\s#]|$)", re.IGNORECASE)
MOST_BLANKS = re.compile(r"\s{2,}")


class Robots(NamedTuple):
    """What holds for us: the rules of our group, the wait between two requests, the sitemaps' addresses."""

    rules: Protego
    agent: str
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Whether the page may be read: the longest rule that fits says so; of two as long, the one that allows."""
        return self.rules.can_fetch(address, self.agent)


def read_robots(text: str, agent: str) -> Robots:
    """What the file says for us; of one beyond `MAX_STEPS` nothing is believed, and nothing allowed.

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
    """A line as Protego reads it, where it reads it otherwise than the rules say; its lines are those of Python."""
    line = MOST_BLANKS.sub(" ", line.strip())
    if found := AGENT_LINE.match(line):
        return _whole_name(found, agent)
    if found := DELAY_LINE.match(line):
        return _bounded(found)
    if found := INDEX_LINE.match(line):  # without an end of its own Protego takes "/" for allowed, too
        return f"{found[1]}$\n{found[1]}?"
    return line


def _bounded(line: re.Match[str]) -> str:
    """The line with `MAX_DELAY_S` in place of a longer wait: Protego passes over one without an end."""
    with suppress(ValueError):
        if float(line[2]) > MAX_DELAY_S:
            return f"{line[1]}{MAX_DELAY_S}"
    return line[0]


def _whole_name(line: re.Match[str], agent: str) -> str:
    """The line with a name that is not ours made one of nobody: Protego takes any beginning of ours for ours."""
    name = line[2].partition("/")[0].lower()
    return line[0] if name in ("*", agent.lower()) else f"{line[1]}-"


EVERYTHING_ALLOWED = read_robots("", "")
"""For a site that has none (section 2.3.1.3)."""
NOTHING_ALLOWED = read_robots("User-agent: *\nDisallow: /", "")
"""For a site whose robots.txt cannot be reached, or whose server fails (section 2.3.1.4)."""
