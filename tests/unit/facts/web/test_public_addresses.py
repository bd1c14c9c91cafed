"""No literal form of an address of the own network counts as public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.client import is_public, resolve

INSIDE = ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0"]


@pytest.mark.parametrize(
    "address",
    [
        *INSIDE,
        "255.255.255.255",
        "224.0.0.251",
        "240.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "example.org",
        "",
    ],
)
def test_what_is_special_is_not_public(address: str) -> None:
    """The clouds' metadata servers among it."""
    assert not is_public(address)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("form", ["::ffff:{}", "64:ff9b::{}", "::{}"])
def test_an_inside_address_within_another_is_not_public(inside: str, form: str) -> None:
    """A gateway or the system itself would unwrap it."""
    assert not is_public(form.format(inside))
    number = int(IPv4Address(inside))
    assert not is_public(str(IPv6Address((0x2002 << 112) | (number << 80))))
    assert not is_public(str(IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (number ^ 0xFFFFFFFF))))


@pytest.mark.parametrize("address", ["1.1.1.1", "208.80.154.224", "2620:0:861:ed1a::1", "64:ff9b::1.1.1.1"])
def test_hosts_of_the_internet_are_public(address: str) -> None:
    """Also through NAT64, where a network has no other way to IPv4."""
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_within_ipv6_is_never_more_public_than_itself(address: IPv4Address) -> None:
    for form in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert not is_public(form) or is_public(str(address))


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "::1"])
def test_odd_spellings_of_loopback_resolve_to_what_is_not_public(host: str) -> None:
    """The judgement is on what the machine would connect to, not on how it is written."""
    assert not any(is_public(address) for address in resolve(host, 80))
