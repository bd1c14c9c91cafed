"""Identifier alignment (RFC 7489, section 3.1); row S21."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.senders.alignment import is_aligned, organisational_domain


@pytest.mark.parametrize(
    ("domain", "organisation"),
    [
        ("example.net", "example.net"),
        ("mail.shop.example.net", "example.net"),
        ("example.co.uk", "example.co.uk"),
        ("mail.example.co.uk", "example.co.uk"),
        ("a.b.c.kobe.jp", "b.c.kobe.jp"),
        ("www.city.kobe.jp", "city.kobe.jp"),
        ("mail.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("shop.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("anna.github.io", "anna.github.io"),
        ("co.uk", None),
        ("net", None),
        ("github.io", None),
        ("localhost", None),
        ("", None),
        ("example..net", None),
    ],
)
def test_s21_the_organisational_domain_is_one_label_below_the_public_suffix(
    domain: str, organisation: str | None
) -> None:
    assert organisational_domain(domain) == organisation


@pytest.mark.parametrize(
    ("domain", "from_domain", "is_relaxed"),
    [
        ("mail.example.net", "example.net", True),
        ("example.net", "shop.example.net", True),
        ("a.example.co.uk", "b.example.co.uk", True),
        ("evil.co.uk", "example.co.uk", False),
        ("evil.github.io", "anna.github.io", False),
        ("github.io", "anna.github.io", False),
        ("net", "example.net", False),
        ("example.net.evil.example", "example.net", False),
        ("notexample.net", "example.net", False),
        ("xn--bcher-kva.example", "bucher.example", False),
    ],
)
def test_s21_another_domain_is_aligned_only_within_one_organisation_and_never_strictly(
    domain: str, from_domain: str, is_relaxed: bool
) -> None:
    assert is_aligned(domain, from_domain, "relaxed") is is_relaxed
    assert not is_aligned(domain, from_domain, "strict")


LABELS = st.lists(
    st.sampled_from(["a", "b", "mail", "example", "co", "uk", "net", "github", "io"]), min_size=1, max_size=5
)


@given(LABELS.map(".".join), LABELS.map(".".join))
def test_s21_alignment_is_mutual_and_strict_is_the_narrower(one: str, other: str) -> None:
    assert is_aligned(one, one, "strict")
    assert is_aligned(one, other, "relaxed") == is_aligned(other, one, "relaxed")
    assert is_aligned(one, other, "strict") == (one == other)
    if one != other and is_aligned(one, other, "relaxed"):
        organisation = organisational_domain(one) or ""
        assert all(f".{domain}".endswith(f".{organisation}") for domain in (one, other))
        assert "." in organisation
