"""Who the sender is, by what our own border server says about the mail; never by the From field alone.

Invariant: without a believed Authentication-Results header the level is 0, and no level above 1 is given for
a domain other than that of the single From address (S20 to S22; RFC 8601, RFC 7489). Checked by
tests/unit/mail/test_identity.py.
"""

from __future__ import annotations

from collections.abc import Callable

from support_agent.frozen import Frozen
from support_agent.levels import AUTHENTICATED, CUSTOMER, PROVEN, UNKNOWN, Level
from support_agent.mail.addresses import normal_domain
from support_agent.mail.authentication import Result, parse_authentication_results
from support_agent.mail.message import Message
from support_agent.settings import AgentSettings


class Sender(Frozen):
    """Who a mail is from, with the level and why; `address` is empty where the From field does not name exactly one."""

    address: str
    level: Level
    why: str


def identify(message: Message, agent: AgentSettings, is_customer: Callable[[str], bool]) -> Sender:
    """Give the sender of a mail a level.

    Args:
        message: As parsed.
        agent: Whose `authserv_ids` are believed; without one every sender has level 0.
        is_customer: Whether the company knows an address (lower-case, A-label domain); asked at level 2 only.
    """
    if message.from_ is None:
        return Sender(address="", level=UNKNOWN, why="From does not name exactly one address")
    address = message.from_.addr
    results, why = _believed_results(message, agent)
    if results is None:
        return Sender(address=address, level=UNKNOWN, why=why)
    domain = message.from_.domain
    if _has_dmarc_pass(results, domain):
        if is_customer(address):
            return Sender(address=address, level=CUSTOMER, why=f"dmarc=pass for {domain}, a known customer")
        return Sender(address=address, level=PROVEN, why=f"dmarc=pass for {domain}, not a known customer")
    passed = [item.method for item in results if item.method in {"spf", "dkim"} and item.result == "pass"]
    if passed:
        return Sender(address=address, level=AUTHENTICATED, why=f"{passed[0]}=pass, but no dmarc=pass for {domain}")
    return Sender(address=address, level=UNKNOWN, why=f"no pass of spf, dkim or dmarc for {domain}")


def _believed_results(message: Message, agent: AgentSettings) -> tuple[tuple[Result, ...] | None, str]:
    """The results of the topmost header of our own server, which are the only ones not written by a stranger.

    A header of ours that cannot be read ends the search: one below it may be a copy that came with the mail.
    """
    own = {authserv_id.lower() for authserv_id in agent.authserv_ids}
    if not own:
        return None, "no agent.authserv_ids configured"
    for value in message.all_headers("Authentication-Results"):
        parsed = parse_authentication_results(value)
        if parsed is None:
            if any(authserv_id in value.lower() for authserv_id in own):
                return None, "the Authentication-Results of our server cannot be read"
            continue
        if parsed.authserv_id in own:
            return parsed.results, f"the Authentication-Results of {parsed.authserv_id} cannot be used"
    return None, "no Authentication-Results of our server"


def _has_dmarc_pass(results: tuple[Result, ...], domain: str) -> bool:
    """Every DMARC result passes, and every header.from in them is the From domain, as A-labels."""
    dmarc = [result for result in results if result.method == "dmarc"]
    domains = [value for result in dmarc for value in result.values("header.from")]
    return (
        bool(dmarc)
        and all(result.result == "pass" and result.values("header.from") for result in dmarc)
        and all(normal_domain(value.rpartition("@")[2]) == domain for value in domains)
    )
