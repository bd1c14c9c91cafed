"""Which entry of a list of senders stands for an address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from support_agent.config.senders import SenderSettings
from support_agent.mail.senders.lists import entry_for


@pytest.mark.parametrize(
    ("entry", "address", "stands"),
    [
        ("ada@x.example", "ada@x.example", True),
        ("ada@x.example", "ada+news@x.example", True),
        ("ada+news@x.example", "ada+news@x.example", True),
        ("ada+news@x.example", "ada@x.example", False),
        ("ada@x.example", "ada@mail.x.example", False),
        ("ada@x.example", "adam@x.example", False),
        ("Ada@X.Example", "ada@x.example", True),
        ("x.example", "ada@x.example", True),
        ("x.example", "ada@mail.x.example", True),
        ("x.example", "ada@notx.example", False),
        ("x.example", "ada@x.example.org", False),
        ("*@x.example", "ada@x.example", True),
        ("*@x.example", "ada@mail.x.example", False),
        ("*-news@x.example", "weekly-news@x.example", True),
        ("*-news@x.example", "weekly-news+7@x.example", True),
        ("*-news@x.example", "news@x.example", False),
        ("a.b@x.example", "axb@x.example", False),
        ("bücher.example", "ada@xn--bcher-kva.example", True),
        ("xn--bcher-kva.example", "ada@xn--bcher-kva.example", True),
        ("x.example", "", False),
    ],
)
def test_an_entry_stands_for_addresses(entry: str, address: str, stands: bool) -> None:
    """Rule: addresses as the parser normalises them: lower case, the domain as A-labels."""
    assert entry_for(address, ("other.example", entry)) == (entry if stands else "")


@pytest.mark.parametrize(
    "entry", ["", "@", "@x.example", "ada@", "*.x.example", "ada@*.example", "a b@x.example", ".x"]
)
def test_what_is_no_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValidationError, match="no pattern of senders: write an address, a domain"):
        SenderSettings(block=(entry,))


@given(st.from_regex(r"[a-z0-9._+-]{1,20}", fullmatch=True), st.from_regex(r"[a-z]{1,9}\.example", fullmatch=True))
def test_an_address_and_its_domain_stand_for_themselves(local: str, domain: str) -> None:
    for entry in (f"{local}@{domain}", domain, f"*@{domain}"):
        assert SenderSettings(block=(entry,)).block == (entry,)
        assert entry_for(f"{local}@{domain}", (entry,)) == entry
