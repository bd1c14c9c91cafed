"""Addresses of one page are one key."""

from __future__ import annotations

import pytest

from support_agent.company.links import link_key

PAGE = "https://shop.example/help/refunds"


@pytest.mark.parametrize(
    "same", ["https://SHOP.example/help/refunds", f"{PAGE}/", f"{PAGE}//", "https://shop.example:443/help/refunds"]
)
def test_one_page_in_several_writings_is_one_key(same: str) -> None:
    assert link_key(same) == link_key(PAGE)


def test_letters_beyond_ascii_are_compared_as_they_are_sent() -> None:
    assert link_key("https://größe.example/hülle") == link_key("https://xn--gre-6ka8i.example/h%C3%BClle")


@pytest.mark.parametrize(
    "other",
    [
        f"{PAGE}?lang=de",
        f"{PAGE}#fees",
        "https://shop.example/help/Refunds",
        "http://shop.example/help/refunds",
        "https://shop.example/help",
    ],
)
def test_other_pages_have_other_keys(other: str) -> None:
    """A part of a page, too: what stands behind "?" and "#" is kept."""
    assert link_key(other) != link_key(PAGE)


@pytest.mark.parametrize("text", ["https://a.example:x/", "https://a.example/\0", "https://a.example/\ud800"])
def test_what_is_no_address_is_a_key_of_its_own(text: str) -> None:
    """Rule: people write anything into a mail."""
    assert link_key(text) == text.rstrip("/")
