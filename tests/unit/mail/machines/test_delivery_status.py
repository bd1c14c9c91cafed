"""The fields of a delivery report (RFC 3464), as servers keep to them and as they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.machines.delivery_status import read_delivery_status, usable_address

REPORT = """Reporting-MTA: dns; mx.example.org
Original-Envelope-Id: case-1
Arrival-Date: Tue, 10 Mar 2026 09:15:00 +0100

Original-Recipient: rfc822;Tom.Berg@Example.org
Final-Recipient: rfc822; box17@store.example.org
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no mailbox
 here by that name

Final-Recipient: rfc822; mara@example.net
Action: delayed (still trying)
Status: 4.4.1
"""


def recipients(text: str) -> list[tuple[str, str, str]]:
    return [(found.address, found.action, found.status) for found in read_delivery_status(text).recipients]


def test_s64_each_recipient_has_its_address_action_and_status() -> None:
    """The original recipient is the one we wrote to; the final one may be a box that it was forwarded to."""
    read = read_delivery_status(REPORT)
    assert [tuple(found) for found in read.recipients] == [
        ("tom.berg@example.org", "failed", "5.1.1"),
        ("mara@example.net", "delayed", "4.4.1"),
    ]
    assert read.envelope_ids == ("case-1",)
    assert [(found.is_failed, found.is_delayed) for found in read.recipients] == [(True, False), (False, True)]


def test_blank_lines_too_few_or_too_many_keep_the_fields_with_their_recipient() -> None:
    told = recipients(REPORT)
    body = REPORT.partition("\n\n")[2]
    assert recipients(body.replace("\n\n", "\n")) == told
    assert recipients(body.replace("Action:", "\nAction:").replace("Status:", "\n\nStatus:")) == told


@pytest.mark.parametrize(
    ("field", "address"),
    [
        ("rfc822; tom@example.org", "tom@example.org"),
        ("RFC822;<tom@example.org>", "tom@example.org"),
        ("<tom@example.org>", "tom@example.org"),
        ("tom@example.org", "tom@example.org"),
        ("rfc822; tom@example.org (Tom Berg)", "tom@example.org"),
        ("x400; /S=berg/O=example/", ""),
        ("rfc822; tom...@example.org", ""),
        ("local; tom", ""),
        ("utf-8; jürgen@bücher.example", "jürgen@xn--bcher-kva.example"),
        (r"utf-8; j\x{FC}rgen@b\x{fc}cher.example", "jürgen@xn--bcher-kva.example"),
        (r"utf-8; tom\x{D800}\x{0}\x{FFFFFF}@example.org", ""),
    ],
)
def test_a_recipient_field_in_any_form_gives_the_address_or_nothing(field: str, address: str) -> None:
    assert recipients(f"Final-Recipient: {field}\nAction: failed\nStatus: 5.0.0") == [(address, "failed", "5.0.0")]


def test_the_diagnostic_makes_a_vague_status_exact_but_not_another_class_of_it() -> None:
    vague = "Final-Recipient: rfc822; tom@example.org\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; {}"
    assert recipients(vague.format("550 5.2.2 mailbox full"))[0][2] == "5.2.2"
    assert recipients(vague.format("450 4.2.2 mailbox full"))[0][2] == "5.0.0"
    assert recipients(vague.format("550 from 5.1.1.7 says no"))[0][2] == "5.0.0"


def test_a_report_without_an_action_is_read_by_its_status() -> None:
    failed, delayed, delivered = read_delivery_status(
        "\n\n".join(
            f"Final-Recipient: rfc822; a{code[0]}@example.org\nStatus: {code}" for code in ["5.1.1", "4.2.2", "2.0.0"]
        )
    ).recipients
    assert (failed.is_failed, delayed.is_delayed, delivered.is_delivered) == (True, True, True)


def test_what_is_no_address_is_not_used() -> None:
    assert [usable_address(text) for text in ("", "tom", "a@", "@b", "mailto:Tom@example.org.", "=40@x.org")] == [
        *[""] * 4,
        "tom@example.org",
        "",
    ]


@given(
    st.lists(st.sampled_from([*REPORT.splitlines(), "", ":", "Action:", "Status: x", "\x00", "é: é"])).map("\n".join)
)
def test_any_text_is_read(text: str) -> None:
    assert all(found.action or found.status for found in read_delivery_status(text).recipients)
