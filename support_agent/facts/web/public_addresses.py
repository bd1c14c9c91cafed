"""Which addresses of the internet a page may be read from, so that no search result leads into the own network.

Invariant: an address is public only if every address that it carries within itself (NAT64, 6to4, Teredo) is.
Checked by tests/unit/facts/web/test_public_addresses.py.
Source: the registries of special addresses (RFC 6890), NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

NAT64 = IPv6Network("64:ff9b::/96")
UNICAST = IPv6Network("2000::/3")
"""All of IPv6 that is given out to the internet's hosts (RFC 4291, section 2.4, and IANA's registry)."""


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the machine's resolver gives them; of a literal address, itself.

    Raises:
        OSError: there is no such host, or the resolver does not answer.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(text: str) -> bool:
    """Whether this literal address, with or without a zone, is one of the public internet's hosts."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    return all(_is_public(each) for each in (address, *_carried(address)))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        return address in NAT64 or (address in UNICAST and address.is_global)
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _carried(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that a gateway would make of this one."""
    if isinstance(address, IPv4Address):
        return ()
    nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None
    return tuple(each for each in (address.sixtofour, *(address.teredo or ()), nat64) if each is not None)
