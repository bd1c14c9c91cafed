"""robots.txt: which of a site's pages a crawler may read, how fast, and where the sitemaps are.

The standard library's reader knows no `*` and `$` within paths and takes the first rule that fits, not the longest.
Invariant: matching takes time in proportion to the rule and the path, whatever they are. Checked by
tests/unit/facts/web/test_robots.py.
Source: RFC 9309, sections 2.2.1 (groups), 2.2.2 (longest match, allow before disallow), 2.2.3 (`*`, `$`), 2.3.1.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlsplit

MAX_CHARACTERS = 512_000
"""What must be read at least (section 2.5), and all that is."""
MAX_DELAY_S = 60.0
_SAFE = "/?&=:@!$'()*+,;%~#[]-._"


class _Rule(NamedTuple):
    is_allowed: bool
    pattern: str


class Robots(NamedTuple):
    """What holds for us: the rules of our group, the wait between two requests, the sitemaps' addresses."""

    rules: tuple[_Rule, ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Whether the page may be read: the longest rule that fits says so; of two as long, the one that allows."""
        parts = urlsplit(address)
        path = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        if path == "/robots.txt":
            return True
        fitting = [(len(rule.pattern), rule.is_allowed) for rule in self.rules if _fits(rule.pattern, path)]
        return max(fitting)[1] if fitting else True


NOTHING_ALLOWED = Robots(rules=(_Rule(False, "/"),))
"""For a site whose robots.txt cannot be reached, or whose server fails (section 2.3.1.4)."""


def read_robots(text: str, agent: str) -> Robots:
    """What the file says for us.

    Args:
        agent: Our product's name: the first word of the user agent, without its version.
    """
    ours: list[_Rule] = []
    others: list[_Rule] = []
    delays = {True: 0.0, False: 0.0}
    sitemaps: list[str] = []
    names: list[str] = []
    has_rules = has_group = False
    for line in text[:MAX_CHARACTERS].splitlines():
        key, colon, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        match key.lower() if colon else "":
            case "user-agent":
                names = [value.lower()] if has_rules else [*names, value.lower()]
                has_rules = False
                has_group |= value.lower() == agent.lower()
            case "allow" | "disallow" as verb:
                has_rules = True
                rule = [_Rule(verb == "allow", _normal(value))] if value else []
                ours += rule if agent.lower() in names else []
                others += rule if "*" in names else []
            case "crawl-delay":
                has_rules = True
                for is_ours in (is_ours for is_ours, name in ((True, agent.lower()), (False, "*")) if name in names):
                    delays[is_ours] = _seconds(value)
            case "sitemap" if value:
                sitemaps.append(value)
    return Robots(tuple(ours if has_group else others), delays[has_group], tuple(sitemaps))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return min(seconds, MAX_DELAY_S) if seconds > 0 else 0.0  # not a number is neither


def _normal(path: str) -> str:
    """Octets that need it in per cent, others as they are, so that both sides are written alike (section 2.2.2)."""
    return quote(path, safe=_SAFE)


def _fits(pattern: str, path: str) -> bool:
    """Whether a rule's path, with `*` for anything and `$` for the end, begins the path."""
    is_whole = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, part in enumerate(rest):
        if is_whole and number == len(rest) - 1:
            return path.endswith(part) and len(path) - len(part) >= at
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not is_whole or at == len(path)
