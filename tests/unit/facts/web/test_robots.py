"""Which pages robots.txt allows, as RFC 9309 has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.robots import EVERYTHING_ALLOWED, MAX_DELAY_S, NOTHING_ALLOWED, read_robots

AGENT = "support-agent"
SITE = "https://shop.example"


@pytest.mark.parametrize(
    ("rules", "path", "is_allowed"),
    [
        ("Disallow: /private", "/private/a", False),
        ("Disallow: /private", "/public", True),
        ("Disallow:", "/anything", True),
        ("Disallow: /", "/anything", False),
        ("Disallow: /\nAllow: /help", "/help/refunds", True),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Disallow: /*?session=", "/a/b?session=1", False),
        ("Disallow: /*.pdf$", "/terms.pdf", False),
        ("Disallow: /*.pdf$", "/terms.pdf?x=1", True),
        ("Disallow: /a*b*c$", "/a1b2c", False),
        ("Disallow: /a*b*c$", "/a1b2cd", True),
        ("Disallow: /*a$", "/a", False),
        ("Disallow: /ab*b$", "/ab", True),
        ("Disallow: /gr%C3%B6%C3%9Fe", "/größe", False),
        ("Disallow: /größe", "/gr%C3%B6%C3%9Fe", False),
        ("disallow : /x # here", "/x", False),
        ("Disallow: /robots.txt", "/robots.txt", True),
        ("Disallow: /", "", False),
        ("Disallow: /\nAllow: /index.html", "/", False),
        ("Disallow: /\nAllow: /index.html", "", False),
        ("Disallow: /\nAllow: /help/index.html # the start", "/help/", False),
        ("Disallow: /\nAllow: /index.html", "/index.html?x=1", True),
        ("Disallow: /help\nAllow: /index.html", "/", True),
    ],
)
def test_the_longest_rule_that_fits_decides(rules: str, path: str, is_allowed: bool) -> None:
    """Section 2.2.2; of two as long, the one that allows."""
    assert read_robots(f"User-agent: *\n{rules}", AGENT).allows(f"{SITE}{path}") == is_allowed


def test_our_own_group_counts_before_that_of_all() -> None:
    """Section 2.2.1: matched without regard to case; groups of one name are one; several names share a group."""
    text = (
        "User-agent: *\nDisallow: /\n\nUser-Agent: Other\nUser-agent: SUPPORT-agent\nDisallow: /a\n"
        "Sitemap: https://shop.example/s.xml\n"
        "User-agent: third\nDisallow: /b\nUser-agent: support-agent\nDisallow: /c\n"
    )
    robots = read_robots(text, AGENT)
    assert [robots.allows(f"{SITE}/{page}") for page in "abcd"] == [False, True, False, True]
    assert robots.sitemaps == ("https://shop.example/s.xml",)


def test_a_group_of_ours_without_rules_allows_everything() -> None:
    robots = read_robots("User-agent: *\nDisallow: /\nUser-agent: support-agent\nDisallow:\n", AGENT)
    assert robots.allows(f"{SITE}/a")


def test_the_wait_between_requests_is_that_of_our_group_and_bounded() -> None:
    text = "User-agent: *\nCrawl-delay: 3\nUser-agent: support-agent\nCrawl-delay: 0.5\n"
    assert read_robots(text, AGENT).delay_s == 0.5
    assert read_robots(text, "other").delay_s == 3
    for value in ("1e9", "1e999", "inf", "+Infinity # never again", "60.5"):
        assert read_robots(f"User-agent: *\nCrawl-delay: {value}", AGENT).delay_s == 60
    assert read_robots("User-agent: *\ncrawl delay inf", AGENT).delay_s == 60
    for value in ("nan", "-1", "-inf", "soon"):
        assert read_robots(f"User-agent: *\nCrawl-delay: {value}", AGENT).delay_s == 0


def test_a_page_of_html_is_no_rules() -> None:
    """Some sites answer every address with their front page."""
    for robots in (read_robots("<!doctype html><p>Welcome: hello", AGENT), EVERYTHING_ALLOWED):
        assert robots.allows(f"{SITE}/a")
        assert (robots.delay_s, robots.sitemaps) == (0, ())
    assert not NOTHING_ALLOWED.allows(f"{SITE}/")


@given(st.text(max_size=300))
def test_no_file_breaks_the_reading(text: str) -> None:
    read_robots(text, AGENT).allows(f"{SITE}/a?b")


def test_a_rule_of_many_stars_takes_no_time() -> None:
    """As a regular expression it would not end within a life; here it is one walk along the path."""
    robots = read_robots(f"User-agent: *\nDisallow: /{'*a' * 500}b$", AGENT)
    assert robots.allows(f"{SITE}/{'a' * 1500}")


def test_a_file_of_many_names_and_rules_costs_nothing_and_allows_nothing() -> None:
    """Each rule would be kept for each name: a hundred million of them for half a megabyte."""
    names = "\n".join(f"User-agent: a{number}" for number in range(10_000))
    robots = read_robots(f"{names}\nDisallow: /x\n" + "Allow: /\n" * 10_000, AGENT)
    assert not robots.allows(f"{SITE}/a")


@pytest.mark.parametrize("word", ["Allow", "crawl-delay", "user-agent"])
def test_a_line_of_blanks_takes_no_time(word: str) -> None:
    """An expression that tries each way to share them out would not end within an hour, and stop all threads."""
    assert read_robots(f"User-agent: *\n{word}{' ' * 400_000}", AGENT).allows(f"{SITE}/a")


@pytest.mark.parametrize("text", ["x\rCrawl-delay: 1e12", "x\u2028Crawl-delay: 1e9", "Crawl-delay\u00a0: inf"])
def test_no_way_to_end_a_line_makes_a_longer_wait(text: str) -> None:
    assert read_robots(f"User-agent: *\n{text}", AGENT).delay_s <= MAX_DELAY_S


def test_an_allowed_index_does_not_allow_what_is_below_its_name() -> None:
    robots = read_robots("User-agent: *\nAllow: /a/index.html\nDisallow: /a/index.html/", AGENT)
    assert robots.allows(f"{SITE}/a/index.html")
    assert not robots.allows(f"{SITE}/a/index.html/secret")
