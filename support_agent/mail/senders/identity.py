"""Identify the sender by what our own border server reports about the mail, never by the From field alone.

Trusted results (S20): Authentication-Results fields with one of our `agent.authserv_ids`, above every Received field.
Each server adds a Received field on top of the mail (RFC 5321, section 4.4), so our own server wrote everything above
them; some servers write one field for each method. If no field is there, only the topmost field of ours counts: the
border server must remove fields that the mail already had (RFC 8601, section 5), and a second one could be forged. With
`agent.believes_results_at = "top"` only fields above every Received field and every other server's results count.

Proof of the From domain (S21, level 2) is any of these:

- dmarc=pass for the domain;
- a pass of DKIM or SPF for the same domain, if our server reports no DMARC policy: it would pass under any policy. For
  another domain of the same organisation the policy would decide, so it counts only with `agent.alignment = "relaxed"`;
- a signature that we verify ourselves (`dkim_check`), if our server reports nothing about DKIM and `agent.verify_dkim`
  is on;
- the results that `agent.arc_sealers` sealed, if our server reports arc=pass (S23).

Any other dmarc result, also a failed check, means that the From field may name an uninvolved third party, who must get
no mail: level 0, whatever passed for another domain.

Invariant: without proof the level is at most 1, and only a domain that is aligned with the domain of the single From
address gives a level above 1 (S22). Checked by tests/unit/mail/senders/test_identity.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from support_agent.config.agent import AgentSettings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import AUTHENTICATED, CUSTOMER, PROVEN, UNKNOWN, Level, lower_address
from support_agent.mail.addresses import normal_domain
from support_agent.mail.message import Message
from support_agent.mail.senders.alignment import Alignment, is_aligned
from support_agent.mail.senders.arc import sealed_results
from support_agent.mail.senders.authentication import AuthenticationResults, MethodResult, parse_authentication_results
from support_agent.mail.senders.dkim_check import DkimCheck, DkimVerdict

FIELD = "authentication-results"
NO_POLICY = frozenset({"none", "bestguesspass"})
"""The dmarc results that mean that the domain publishes no policy; the second is Microsoft's."""
ALIGNED_BY = {"dkim": ("header.d", "header.i"), "spf": ("smtp.mailfrom",)}
"""The properties in which a method names the domain that passed; the first one present counts."""


class Sender(Frozen):
    """The sender's address and level, and why; `address` is "" where From does not name exactly one address."""

    address: str
    level: Level
    why: str


class Proof(NamedTuple):
    """What a mail proves about its From domain: level 0, 1 or 2."""

    level: Level
    why: str


class Believed(NamedTuple):
    """The results that our own server wrote; None where there are none, for the reason `why`.

    `is_silent`: our server reported nothing about DKIM, and no field of ours is unreadable.
    """

    results: tuple[MethodResult, ...] | None
    why: str
    is_silent: bool


def identify(
    message: Message,
    agent: AgentSettings,
    is_customer: Callable[[str], bool],
    verify_dkim: DkimCheck | None = None,
) -> Sender:
    """Identify the sender of a mail and give the level.

    Args:
        message: As parsed.
        agent: Its `authserv_ids` are trusted; without any, and without `verify_dkim`, every sender has level 0.
        is_customer: Whether the company knows an address (lower-case, A-label domain); called at level 2 only.
        verify_dkim: Called if our own server reports nothing about DKIM; None: never.
    """
    if message.from_ is None:
        return Sender(address="", level=UNKNOWN, why="From does not name exactly one address")
    address, domain = message.from_.addr, message.from_.domain
    believed = _believed(message, agent)
    proof = _proof(message, believed, domain, agent)
    if proof.level < PROVEN and believed.is_silent and verify_dkim is not None:
        proof = _better(proof, verify_dkim(domain), silent_why=believed.why)
    if proof.level < PROVEN:
        return Sender(address=address, level=proof.level, why=proof.why)
    if is_customer(address):
        return Sender(address=address, level=CUSTOMER, why=f"{proof.why}, a known customer")
    return Sender(address=address, level=PROVEN, why=f"{proof.why}, not a known customer")


def _believed(message: Message, agent: AgentSettings) -> Believed:
    """The results in fields that only our own server can have written."""
    if not agent.authserv_ids and not agent.believes_results_without_id:
        return Believed(None, "no agent.authserv_ids configured", is_silent=True)
    fields = _fields_of_ours(message, agent)
    if not fields:
        return Believed(None, "no Authentication-Results of our server", is_silent=True)
    results: list[MethodResult] = []
    for field in fields:
        if field.results is None:
            return Believed(None, "the Authentication-Results of our server cannot be read", is_silent=False)
        results += field.results
    is_silent = not any(result.method in {"dkim", "dmarc"} for result in results)
    return Believed(tuple(results), "nothing about DKIM in the Authentication-Results of our server", is_silent)


def _fields_of_ours(message: Message, agent: AgentSettings) -> list[AuthenticationResults]:
    """Our fields above every Received field; else only the topmost field of ours.

    An unreadable field of ours counts too: a field below it may have come with the mail.
    """
    own = frozenset(lower_address(authserv_id) for authserv_id in agent.authserv_ids)
    is_strict = agent.believes_results_at == "top"
    received = (at for at, (name, _) in enumerate(message.headers) if name.lower() == "received")
    trace = next(received, int(is_strict))  # without Received only the first field can come from the last server
    fields: list[AuthenticationResults] = []
    is_topmost = True
    for at, (name, value) in enumerate(message.headers):
        if name.lower() != FIELD:
            continue
        if at >= trace and (fields or is_strict):
            break
        field = _field_of_ours(value, own, may_lack_id=is_topmost and agent.believes_results_without_id)
        if is_strict and field is None:
            break  # fields below another server's may have come with the mail
        is_topmost = False
        if field is not None:
            fields.append(field)
    return fields


def _field_of_ours(value: str, own: frozenset[str], *, may_lack_id: bool) -> AuthenticationResults | None:
    """The field if it is ours, without results if it cannot be read; None if another server wrote it."""
    mentioned = next((authserv_id for authserv_id in own if authserv_id in lower_address(value)), None)
    if mentioned is None and not may_lack_id:
        return None
    parsed = parse_authentication_results(value)
    if parsed is None:
        return AuthenticationResults(mentioned or "", None)
    return parsed if parsed.authserv_id in own or (may_lack_id and not parsed.authserv_id) else None


def _proof(message: Message, believed: Believed, domain: str, agent: AgentSettings) -> Proof:
    """What our own server's results prove, ARC included."""
    if believed.results is None:
        return Proof(UNKNOWN, believed.why)
    proof = _proof_of(believed.results, domain, agent.alignment)
    if proof.level >= PROVEN or not agent.arc_sealers or not _all_pass(believed.results, "arc"):
        return proof
    sealers = {normal_domain(sealer) for sealer in agent.arc_sealers} - {None}
    sealed = sealed_results(message, {sealer for sealer in sealers if sealer})
    seen = _proof_of(sealed.results, domain, agent.alignment) if sealed is not None else None
    if sealed is None or seen is None or seen.level < PROVEN:
        return proof
    return Proof(PROVEN, f"{seen.why}, as seen and sealed by {', '.join(dict.fromkeys(sealed.sealers))} (arc=pass)")


def _proof_of(results: tuple[MethodResult, ...], domain: str, alignment: Alignment) -> Proof:
    """What a set of results proves about a From domain."""
    dmarc = [result for result in results if result.method == "dmarc"]
    names_domain = all(_domain_of(value) == domain for result in dmarc for value in result.values("header.from"))
    if _all_pass(results, "dmarc") and names_domain and all(result.values("header.from") for result in dmarc):
        return Proof(PROVEN, f"dmarc=pass for {domain}")
    failed = [result.result for result in dmarc if result.result != "pass" and result.result not in NO_POLICY]
    if failed:
        return Proof(UNKNOWN, f"dmarc={failed[0]} for {domain}")
    passed = [result for result in results if result.method in ALIGNED_BY and result.result == "pass"]
    if names_domain and all(result.result in NO_POLICY for result in dmarc):
        for result in passed:
            authenticated = _authenticated_domain(result)
            if authenticated is not None and is_aligned(authenticated, domain, alignment):
                return Proof(PROVEN, f"{result.method}=pass for {authenticated}, aligned with {domain}")
    if passed:
        return Proof(AUTHENTICATED, f"{passed[0].method}=pass, but no dmarc=pass for {domain}")
    return Proof(UNKNOWN, f"no pass of spf, dkim or dmarc for {domain}")


def _all_pass(results: tuple[MethodResult, ...], method: str) -> bool:
    found = [result.result for result in results if result.method == method]
    return bool(found) and all(result == "pass" for result in found)


def _authenticated_domain(result: MethodResult) -> str | None:
    """The single domain for which a method passed."""
    for name in ALIGNED_BY[result.method]:
        if values := result.values(name):
            return _domain_of(values[0]) if len(values) == 1 else None
    return None


def _domain_of(value: str) -> str | None:
    """The domain in a property that holds an address or a domain."""
    return normal_domain(value.rpartition("@")[2])


def _better(proof: Proof, verdict: DkimVerdict, *, silent_why: str) -> Proof:
    """The better of our server's proof and our own verification; `why` names both if neither is enough."""
    if verdict.is_aligned:
        return Proof(PROVEN, verdict.why)
    if verdict.has_pass:
        return Proof(AUTHENTICATED, verdict.why)
    return Proof(proof.level, f"{proof.why if proof.level else silent_why}; {verdict.why}")
