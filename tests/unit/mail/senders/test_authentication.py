"""Authentication-Results, read as a sceptic (RFC 8601)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_agent.mail.senders.authentication import MethodResult, parse_authentication_results


def results(value: str) -> tuple[MethodResult, ...] | None:
    parsed = parse_authentication_results(value)
    return None if parsed is None else parsed.results


def test_methods_results_and_properties_are_read() -> None:
    parsed = parse_authentication_results(
        'mx.example.org; spf=pass smtp.mailfrom=a@b.example; DKIM=Pass header.d=b.example header.b="aB=/+"'
    )
    assert parsed is not None
    assert parsed.authserv_id == "mx.example.org"
    assert parsed.results == (
        MethodResult("spf", "pass", (("smtp.mailfrom", "a@b.example"),)),
        MethodResult("dkim", "pass", (("header.d", "b.example"), ("header.b", "aB=/+"))),
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


@pytest.mark.parametrize(
    "comment",
    [
        '(envelope-from="a); dmarc=pass header.from=b.example (b"@evil.example)',
        '(envelope-from="a\\"); dmarc=pass header.from=b.example (b"@evil.example)',
        '((x) envelope-from="a)); dmarc=pass header.from=b.example ((b"@evil.example)',
        '(envelope-from="a("@evil.example) (helo="b)"); dmarc=pass header.from=b.example (")',
    ],
)
def test_no_result_comes_out_of_a_comment_that_a_quoted_local_part_closes(comment: str) -> None:
    """Some servers write MAIL FROM into a comment as it came; nothing of such a field is believed."""
    assert parse_authentication_results(f"mx; spf=pass {comment} smtp.mailfrom=evil.example; dkim=none") is None


def test_a_quoted_local_part_within_a_comment_does_no_harm() -> None:
    found = results('mx; spf=pass (domain of "a b"@x.example designates 5\\" 192.0.2.1) smtp.mailfrom=x.example')
    assert found == (MethodResult("spf", "pass", (("smtp.mailfrom", "x.example"),)),)


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


def test_a_property_without_a_value_is_read_where_nothing_follows_it() -> None:
    """A mail without a sender has no `smtp.mailfrom`; what follows an empty value would be taken for the value."""
    found = results("mx; spf=none smtp.mailfrom=; dkim=pass header.d=b.example header.i=") or ()
    assert found[0] == MethodResult("spf", "none", (("smtp.mailfrom", ""),))
    assert found[1].values("header.i") == ("",)
    (swallowed,) = results("mx; dmarc=pass header.x= header.from=b.example") or ()
    assert swallowed.values("header.from") == ()


def test_a_property_may_come_more_than_once() -> None:
    (found,) = results("mx; dkim=pass header.d=a.example header.d=b.example") or ()
    assert found.values("header.d") == ("a.example", "b.example")


def test_a_field_without_an_authserv_id_has_an_empty_one() -> None:
    """The shape of Exchange Online."""
    parsed = parse_authentication_results(
        "spf=pass (sender IP is 192.0.2.7)\r\n smtp.mailfrom=b.example; dkim=pass (signature was verified)"
        " header.d=b.example;dmarc=pass action=none header.from=b.example;compauth=pass reason=100"
    )
    assert parsed is not None
    assert parsed.authserv_id == ""
    assert [(found.method, found.result) for found in parsed.results or ()] == [
        ("spf", "pass"),
        ("dkim", "pass"),
        ("dmarc", "pass"),
        ("compauth", "pass"),
    ]


@pytest.mark.parametrize(
    ("value", "methods"),
    [
        (
            "mx.google.com;\r\n       dkim=pass header.i=@b.example header.s=20230601 header.b=aB+/9x;\r\n"
            "       spf=pass (google.com: domain of a@b.example designates 192.0.2.7 as permitted sender)"
            " smtp.mailfrom=a@b.example;\r\n       dmarc=pass (p=NONE sp=QUARANTINE dis=NONE) header.from=b.example;"
            "\r\n       dara=pass header.i=@b.example",
            "dkim spf dmarc dara",
        ),
        (
            "mx.example.org; dkim=pass (2048-bit key; unprotected) header.d=b.example header.i=@b.example"
            ' header.b="aB+/"; dkim-atps=neutral',
            "dkim dkim-atps",
        ),
        (
            "mx.example.org; arc=none (no signatures found); dmarc=pass policy.published-domain-policy=none"
            " policy.applied-disposition=none (p=none,d=none,d.eval=none) header.from=b.example; iprev=pass"
            " smtp.remote-ip=2001:db8::7 (host.b.example); x-tls=pass smtp.version=TLSv1.3 smtp.bits=256/256;"
            " x-ptr=pass smtp.helo=host.b.example policy.ptr=host.b.example",
            "arc dmarc iprev x-tls x-ptr",
        ),
        ("mx.example.org; dmarc=pass(p=NONE) header.from=b.example;", "dmarc"),
        ("mx.example.org; spf=temperror (DNS time-out) smtp.mailfrom=b.example; dkim=none", "spf dkim"),
        ('mx.example.org 1; auth=pass (cram-md5) smtp.auth="anna keller"; sender-id=fail', "auth sender-id"),
        ('mx.example.org; bimi=skipped reason="no record; none"; dmarc=bestguesspass action=none', "bimi dmarc"),
    ],
)
def test_the_shapes_that_large_servers_write_are_read(value: str, methods: str) -> None:
    assert [found.method for found in results(value) or ()] == methods.split()


@pytest.mark.parametrize(
    "value",
    [
        "mx; dmarc=pass header.from=b.example\u00a0x",
        "mx; dmarc=pass\u2003header.from=b.example",
        "mx; dmarc=pass) header.from=b.example",
        "mx; dmarc=pass header.from=b.example (",
        f"mx; dmarc=pass header.from=b.example {' ' * 20_000}",
    ],
)
def test_white_space_of_other_alphabets_and_stray_brackets_break_the_grammar(value: str) -> None:
    parsed = parse_authentication_results(value)
    assert parsed is None or parsed.results is None or parsed.results[0].values("header.from") != ("b.example",)


def test_a_version_of_any_length_is_read() -> None:
    """A number of 5,000 digits is more than `int` takes."""
    assert results(f"mx {'9' * 5_000}; dmarc=pass") is None
    assert results("mx 01; dmarc=pass") == (MethodResult("dmarc", "pass", ()),)


@example('""')
@example("mx 1" + "1" * 5_000)
@given(st.text(st.sampled_from('mx;=."()\\ dmarcpass1/\t\n\u00a0\u212a'), max_size=60))
def test_any_value_is_read_or_refused(value: str) -> None:
    parsed = parse_authentication_results(value)
    assert parsed is None or parsed.results is None or all(found.method and found.result for found in parsed.results)


QUOTE, ESCAPED_QUOTE = '"', '\\"'
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?", fullmatch=True)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
COMMENTS = st.recursive(
    st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='()"\\'), max_size=15),
    lambda inner: st.lists(inner, min_size=1, max_size=2).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=3,
)
RESULTS = st.lists(
    st.builds(
        MethodResult,
        NAMES.filter(lambda name: name != "none"),
        NAMES,
        st.lists(st.tuples(st.builds("{}.{}".format, NAMES, NAMES), VALUES), max_size=3).map(tuple),
    ),
    max_size=4,
)


@given(RESULTS, st.data())
def test_what_the_grammar_allows_is_read_as_it_was_meant(wanted: list[MethodResult], data: st.DataObject) -> None:
    """Comments, folds and white space in every place where RFC 8601 has them; each value as a quoted string."""

    def space(least: str = "") -> str:
        kind = data.draw(st.integers(0, 3))
        comment = f"({data.draw(COMMENTS)})" if kind == 3 else ""
        return ("", " ", "\r\n\t", f" {comment} ")[kind] or least

    def quoted(value: str) -> str:
        return '"' + "".join(f"\\{char}" if char in '"\\' else char for char in value) + '"'

    text = f"{space()}MX.Example.org{space(' ')}"
    for method, result, properties in wanted:
        text += f";{space()}{method.upper()}{space()}={space()}{result}"
        for name, value in properties:
            text += f"{space(' ')}{name.replace('.', f'{space()}.{space()}')}{space()}={space()}{quoted(value)}"
        text += space()
    parsed = parse_authentication_results(text)
    assert parsed is not None
    assert (parsed.authserv_id, parsed.results) == ("mx.example.org", tuple(wanted))


@given(VALUES)
def test_whatever_a_stranger_puts_into_a_quoted_value_or_a_comment_stays_there(text: str) -> None:
    """A server that quotes (RFC 8601, section 2.2) cannot be made to say what it did not, if to say nothing."""
    quoted = "".join(f"\\{char}" if char in '"\\' else char for char in text)
    plain = "".join(f"\\{char}" if char in "()\\" else char for char in text)
    wanted = (MethodResult("spf", "fail", (("smtp.mailfrom", text),)),)
    assert results(f'mx; spf=fail ({plain.replace(QUOTE, ESCAPED_QUOTE)}) smtp.mailfrom="{quoted}"') == wanted
    assert results(f'mx; spf=fail ({plain}) smtp.mailfrom="{quoted}"') in (wanted, None)
