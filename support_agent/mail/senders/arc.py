"""Read what the first server of an ARC chain saw, after our own border server validated the chain (RFC 8617).

A forwarder breaks SPF and DKIM, and so DMARC; with ARC it seals the results from before. The seals are not verified
here: the caller has `arc=pass` from our own server. Nobody can verify that the sealers are honest, so each of them must
be listed in `agent.arc_sealers` (S23).

Invariant: a chain with a gap, a duplicate, a failed link or a sealer that is not configured gives no results. Checked
by tests/unit/mail/senders/test_arc.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from support_agent.mail.addresses import normal_domain
from support_agent.mail.message import Message
from support_agent.mail.senders.authentication import SPACE, MethodResult, parse_authentication_results

MAX_SETS = 50
"""RFC 8617, section 4.2.1."""
INSTANCE = re.compile("[1-9][0-9]?")
TAG = re.compile(r"[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*)[ \t\r\n]*=(.*)", re.DOTALL)


class Sealed(NamedTuple):
    """The results that the first sealer saw, and all sealers in order."""

    results: tuple[MethodResult, ...]
    sealers: tuple[str, ...]


def sealed_results(message: Message, sealers: Collection[str]) -> Sealed | None:
    """The results of the first ARC set, if the sealer of every set is among `sealers` (lower-case A-labels)."""
    seals = _by_instance(map(tag_list, message.all_headers("ARC-Seal")))
    signatures = _by_instance(map(tag_list, message.all_headers("ARC-Message-Signature")))
    found = _by_instance(map(_numbered, message.all_headers("ARC-Authentication-Results")))
    if not seals or not signatures or not found or len(seals) > MAX_SETS:
        return None
    instances = list(range(1, len(seals) + 1))
    if not sorted(seals) == sorted(signatures) == sorted(found) == instances:
        return None
    domains = [normal_domain(seals[instance].get("d", "")) for instance in instances]
    links = [seals[instance].get("cv") for instance in instances]
    believed = tuple(domain for domain in domains if domain in sealers and domain is not None)
    parsed = parse_authentication_results(found[1]["results"])
    if len(believed) != len(domains) or links != ["none", *["pass"] * (len(links) - 1)]:
        return None
    return Sealed(parsed.results, believed) if parsed is not None and parsed.results is not None else None


def tag_list(value: str) -> dict[str, str] | None:
    """Parse `tag=value; ...` (RFC 6376, section 3.2), names unchanged; None if malformed or a tag occurs twice."""
    tags: dict[str, str] = {}
    for spec in value.rstrip(SPACE).removesuffix(";").split(";"):
        match = TAG.fullmatch(spec)
        if match is None or match[1] in tags:
            return None
        tags[match[1]] = match[2].strip(SPACE)
    return tags


def _numbered(value: str) -> dict[str, str] | None:
    """Parse an ARC-Authentication-Results field: `i=N;` first, then the results."""
    number, _, results = value.partition(";")
    tags = tag_list(number)
    return tags | {"results": results} if tags else None


def _by_instance(fields: Iterable[dict[str, str] | None]) -> dict[int, dict[str, str]] | None:
    """The fields by instance number; None if one has no valid number or two have the same."""
    numbered: dict[int, dict[str, str]] = {}
    for tags in fields:
        if tags is None or not INSTANCE.fullmatch(tags.get("i", "")) or int(tags["i"]) in numbered:
            return None
        numbered[int(tags["i"])] = tags
    return numbered
