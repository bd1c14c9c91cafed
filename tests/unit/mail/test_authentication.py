"""Authentication-Results, read as a sceptic (RFC 8601)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_agent.mail.authentication import Result, parse_authentication_results


def results(value: str) -> tuple[Result, ...] | None:
    parsed = parse_authentication_results(value)
    return None if parsed is None else parsed.results


def test_methods_results_and_properties_are_read() -> None:
    parsed = parse_authentication_results(
        'mx.example.org; spf=pass smtp.mailfrom=a@b.example; DKIM=Pass header.d=b.example header.b="aB=/+"'
    )
    assert parsed is not None
    assert parsed.authserv_id == "mx.example.org"
    assert parsed.results == (
        Result("spf", "pass", (("smtp.mailfrom", "a@b.example"),)),
        Result("dkim", "pass", (("header.d", "b.example"), ("header.b", "aB=/+"))),
    )


@pytest.mark.parametrize(
    "value",
    [
        "mx; dmarc=pass (p=reject; (nested) dis=none) header.from=b.example",
        "mx 1; dmarc/1=pass header.from=b.example",
        "mx; dmarc = pass header . from = b.example;",
        '"mx"; dmarc=pass reason="a; dmarc=fail" header.from="b.example"',
        "mx (our server) ; dmarc=pass header.from=b.example (x=y)",
    ],
)
def test_comments_quotes_and_white_space_are_where_the_grammar_has_them(value: str) -> None:
    (found,) = results(value) or ()
    assert (found.method, found.result, found.values("header.from")) == ("dmarc", "pass", ("b.example",))


def test_none_is_no_result() -> None:
    assert results("mx; none") == ()


@pytest.mark.parametrize(
    "value",
    [
        "mx 2; dmarc=pass header.from=b.example",
        "mx; dmarc/2=pass header.from=b.example",
        "mx; dmarc=pass header.from=b.example garbage",
        "mx; =pass",
        "mx; dmarc=",
        "mx; header.from=b.example",
        "mx; dmarc==pass",
        'mx; dmarc=pa"ss',
    ],
)
def test_what_breaks_the_grammar_gives_no_result_at_all(value: str) -> None:
    assert results(value) is None


@pytest.mark.parametrize("value", ["", ";", "mx (", 'mx "', "mx; dmarc=pass (x", "mx x y; none"])
def test_without_an_authserv_id_there_is_nothing(value: str) -> None:
    assert parse_authentication_results(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "mx; spf=fail (dmarc=pass header.from=b.example)",
        'mx; spf=fail reason="; dmarc=pass header.from=b.example"',
        'mx; spf=fail smtp.mailfrom="x; dmarc=pass header.from=b.example"@evil.example',
        r'mx; spf=fail reason="\"; dmarc=pass header.from=b.example"',
        r"mx; spf=fail (\) dmarc=pass; dmarc=pass header.from=b.example)",
    ],
)
def test_nothing_in_a_comment_or_in_quotes_is_a_result(value: str) -> None:
    """What a sender can write into a mail ends up there."""
    assert [found.method for found in results(value) or ()] == ["spf"]


@example('""')
@given(st.text(st.sampled_from('mx;=."()\\ dmarcpass1/'), max_size=60))
def test_any_value_is_read_or_refused(value: str) -> None:
    parsed = parse_authentication_results(value)
    assert parsed is None or parsed.authserv_id
