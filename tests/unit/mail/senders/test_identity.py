"""The sender's level; rows S20 to S22."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.message import parse
from support_agent.mail.senders.dkim_check import verify_dkim
from support_agent.mail.senders.identity import Sender, identify
from tests.dkim_signing import Names, make_key, sign
from tests.unit.mail.mails import AGENT, mail, raw_mail, with_header

OURS = "Authentication-Results: mx.harborfile.example; "
DMARC = OURS + "dmarc=pass header.from=example.net"


def nobody(address: str) -> bool:
    return False


def everybody(address: str) -> bool:
    return True


def level(*lines: str) -> int:
    return identify(with_header("plain_question", *lines), AGENT, everybody).level


def test_s21_a_known_customer_with_dmarc_pass_has_level_3() -> None:
    message = with_header("plain_question", DMARC)
    sender = identify(message, AGENT, lambda address: address == "anna.keller@example.net")
    assert (sender.address, sender.level) == ("anna.keller@example.net", 3)
    assert "dmarc=pass" in sender.why


def test_s21_dmarc_pass_of_a_stranger_is_level_2() -> None:
    assert identify(with_header("plain_question", DMARC), AGENT, nobody).level == 2


UNALIGNED = [
    "spf=pass smtp.mailfrom=bounces.mailer.example",
    "spf=pass smtp.mailfrom=anna@mailer.example",
    "spf=pass smtp.helo=example.net",
    "spf=pass smtp.mailfrom=",
    "spf=pass",
    "dkim=pass header.d=mailer.example",
    "dkim=pass header.d=mailer.example header.i=@example.net",
    "dkim=pass header.i=@mailer.example",
    "dkim=pass header.d=example.net header.d=mailer.example",
    "dkim=pass header.d=net",
    "dkim=pass header.b=example.net",
]


@pytest.mark.parametrize("line", UNALIGNED)
def test_s21_spf_or_dkim_of_another_domain_are_level_1_even_for_a_customer(line: str) -> None:
    assert level(OURS + line) == 1
    assert level(OURS + line + "; dmarc=none header.from=example.net") == 1


@pytest.mark.parametrize("result", ["fail", "temperror", "permerror", "quarantine", "fail (p=reject)"])
@pytest.mark.parametrize("line", UNALIGNED)
def test_s21_a_dmarc_result_that_is_no_pass_is_level_0_whatever_passed_for_another_domain(
    line: str, result: str
) -> None:
    """From may name a third party, who must hear nothing of us: a domain of the forger's own passes SPF and DKIM."""
    assert level(OURS + line + f"; dmarc={result} header.from=example.net") == 0
    assert level(OURS + f"dmarc={result} header.from=example.net; " + line) == 0


ALIGNED = [
    "spf=pass smtp.mailfrom=example.net",
    "spf=pass smtp.mailfrom=anyone@Example.NET.",
    "dkim=pass header.d=example.net",
    "dkim=pass (2048-bit key) header.i=@example.net header.s=s1",
    "dkim=fail header.d=example.net; dkim=pass header.d=mailer.example; dkim=pass header.d=example.net",
    "dkim=none; spf=pass smtp.mailfrom=example.net",
]


@pytest.mark.parametrize("line", ALIGNED)
@pytest.mark.parametrize("dmarc", ["", "; dmarc=none", "; dmarc=bestguesspass action=none header.from=example.net"])
def test_s21_a_pass_for_the_from_domain_itself_proves_it_where_no_policy_is_reported(line: str, dmarc: str) -> None:
    """RFC 7489, section 3.1: it is aligned under every policy there is."""
    assert level(OURS + line + dmarc) == 3
    sender = identify(with_header("plain_question", OURS + line + dmarc), AGENT, nobody)
    assert sender.level == 2
    assert sender.why.endswith("=pass for example.net, aligned with example.net, not a known customer")


@pytest.mark.parametrize("line", ALIGNED)
@pytest.mark.parametrize("dmarc", ["fail", "temperror", "permerror", "quarantine"])
def test_s21_a_dmarc_result_that_is_no_pass_outweighs_an_aligned_one(line: str, dmarc: str) -> None:
    assert level(f"{OURS}{line}; dmarc={dmarc}") == 0
    assert level(f"{OURS}{line}; dmarc=none header.from=other.example") == 1


def test_s21_a_subdomain_is_aligned_only_where_the_settings_say_relaxed() -> None:
    """Its own policy could forbid it, and without the DNS that is not known."""
    relaxed = AGENT.model_copy(update={"alignment": "relaxed"})
    for line, wanted in (
        ("dkim=pass header.d=mail.example.net", 2),
        ("spf=pass smtp.mailfrom=x@bounces.example.net", 2),
        ("dkim=pass header.d=mailer.example", 1),
        ("dkim=pass header.d=net", 1),
    ):
        message = with_header("plain_question", OURS + line)
        assert identify(message, AGENT, nobody).level == 1
        assert identify(message, relaxed, nobody).level == wanted


@pytest.mark.parametrize("line", ["none", "spf=fail smtp.mailfrom=example.net", "spf=softfail x.y=z; dkim=neutral"])
def test_s21_without_a_pass_the_level_is_0(line: str) -> None:
    assert level(OURS + line) == 0


@pytest.mark.parametrize(
    "line",
    [
        "dmarc=pass",
        "dmarc=pass header.from=example.org",
        "dmarc=pass header.from=mail.example.net",
        "dmarc=pass header.from=net",
        "dmarc=pass header.from=example.net; dmarc=fail header.from=example.net",
        "dmarc=pass header.from=example.net; dmarc=pass header.from=example.org",
        "dmarc=bestguesspass header.from=example.net",
    ],
)
def test_s21_dmarc_counts_for_exactly_the_from_domain_and_without_contradiction(line: str) -> None:
    assert level(OURS + line) == 0


@pytest.mark.parametrize(
    ("lines", "anywhere", "on_top"),
    [
        ((DMARC, "Received: by mx"), 3, 3),
        (("Received: by mx", DMARC), 3, 0),
        (("Received: by mx", DMARC, "Received: by b"), 3, 0),
        (("Authentication-Results: other.example; dmarc=pass header.from=example.net", DMARC, "Received: by mx"), 3, 0),
        ((OURS + "spf=none", DMARC, "Received: by mx"), 3, 3),
        ((DMARC,), 3, 3),
        ((OURS + "spf=none", DMARC), 0, 0),
        (("X-Spam: no", DMARC), 3, 0),
    ],
)
def test_s20_on_top_believes_nothing_that_can_have_come_with_the_mail(
    lines: tuple[str, ...], anywhere: int, on_top: int
) -> None:
    """A border server that adds none to some mail leaves the forged one of a mail as the topmost of ours."""
    message = with_header("plain_question", *lines)
    strict = AGENT.model_copy(update={"believes_results_at": "top"})
    assert identify(message, AGENT, everybody).level == anywhere
    assert identify(message, strict, everybody).level == on_top


def test_s20_only_the_topmost_header_of_our_server_counts() -> None:
    assert level(OURS + "dmarc=fail header.from=example.net", DMARC) == 0
    assert level(DMARC, OURS + "dmarc=fail header.from=example.net") == 3


@pytest.mark.parametrize(
    "line",
    [
        "Authentication-Results: mx.evil.example; dmarc=pass header.from=example.net",
        "Authentication-Results: mx.harborfile.example.evil.example; dmarc=pass header.from=example.net",
        "Authentication-Results: (mx.harborfile.example) mx.evil.example; dmarc=pass header.from=example.net",
        "Authentication-Results: mx.harborfile.example 2; dmarc=pass header.from=example.net",
        "X-Authentication-Results: mx.harborfile.example; dmarc=pass header.from=example.net",
        "ARC-Authentication-Results: i=1; mx.harborfile.example; dmarc=pass header.from=example.net",
        "Received-SPF: pass",
    ],
)
def test_s20_headers_that_are_not_our_servers_are_ignored(line: str) -> None:
    assert level(line) == 0


def test_s20_a_foreign_header_above_ours_does_not_hide_it() -> None:
    assert level("Authentication-Results: other.example; dmarc=fail header.from=example.net", DMARC) == 3


@pytest.mark.parametrize("broken", ["dmarc=fail (unclosed", "dmarc fail", "2; dmarc=fail"])
def test_s20_a_header_of_ours_that_cannot_be_read_does_not_open_the_way_for_a_forged_one(broken: str) -> None:
    assert level(OURS + broken, DMARC) == 0


RECEIVED = "Received: from mail.example.net by mx.harborfile.example; Fri, 20 Nov 2026 12:00:00 +0000"
SPF = OURS + "spf=fail smtp.mailfrom=example.net"


def test_s20_fields_of_ours_above_every_received_field_count_together() -> None:
    """Only our own server can write there (RFC 5321, section 4.4); some write one field for each method."""
    assert level(SPF, "Received-SPF: fail", DMARC, RECEIVED) == 3
    assert level(DMARC, SPF, RECEIVED) == 3
    assert level(DMARC, OURS + "dmarc=fail header.from=example.net", RECEIVED) == 0
    assert level(DMARC, OURS + "broken", RECEIVED) == 0


def test_s20_a_field_of_ours_that_could_have_come_with_the_mail_does_not_count_beside_another() -> None:
    assert level(SPF, RECEIVED, DMARC) == 0
    assert level(RECEIVED, SPF, DMARC) == 0
    assert level(RECEIVED, SPF, DMARC, RECEIVED) == 0


def test_s20_an_internal_hop_above_the_border_server_changes_nothing() -> None:
    internal = "Received: from mx.harborfile.example by store.harborfile.example with LMTP"
    assert level(internal, DMARC, RECEIVED) == 3
    assert level(internal, RECEIVED, DMARC) == 3


@pytest.mark.parametrize(
    "forged", ["mx.harborfile.example\u212a", "m\uff58.harborfile.example", "mx.harborfile.exampl\u0435"]
)
def test_s20_an_authserv_id_is_compared_as_ascii_without_case(forged: str) -> None:
    assert level(f"Authentication-Results: {forged}; dmarc=pass header.from=example.net") == 0


def test_s20_the_kelvin_sign_is_no_k() -> None:
    """`str.lower` makes one of it; a server that strips forged fields looks for its own name only."""
    agent = AGENT.model_copy(update={"authserv_ids": ("MX.bank.example",)})
    for authserv_id, wanted in (("mx.BANK.example", 2), ("mx.ban\u212a.example", 0)):
        line = f"Authentication-Results: {authserv_id}; dmarc=pass header.from=example.net"
        assert identify(with_header("plain_question", line), agent, nobody).level == wanted


WITHOUT_ID = (
    "Authentication-Results: spf=pass (sender IP is 192.0.2.7)\r\n smtp.mailfrom=example.net; dkim=none (message not"
    " signed)\r\n header.d=none;dmarc=pass action=none\r\n header.from=example.net;compauth=pass reason=100"
)


def test_s20_a_field_without_an_authserv_id_counts_only_on_top_and_where_the_settings_say_so() -> None:
    """Exchange Online writes no authserv-id."""
    agent = AGENT.model_copy(update={"authserv_ids": (), "believes_results_without_id": True})

    def given(*lines: str) -> int:
        return identify(with_header("plain_question", *lines), agent, nobody).level

    other = "Authentication-Results: mx.other.example; dmarc=pass header.from=example.net"
    assert level(WITHOUT_ID) == 0
    assert given(WITHOUT_ID) == 2
    assert given(RECEIVED, WITHOUT_ID, other) == 2
    assert given(WITHOUT_ID.replace("dmarc=pass", "dmarc=fail"), WITHOUT_ID, RECEIVED) == 0
    assert given(other, WITHOUT_ID) == 0
    assert given(DMARC) == 0


def test_s20_a_field_of_any_size_is_read_or_refused() -> None:
    assert level(OURS + "x=y; " * 10_000, DMARC) == 0
    assert level(OURS[:-2] + " 9" + "9" * 5_000 + "; dmarc=pass", DMARC) == 0


def test_s20_without_a_configured_authserv_id_nobody_has_a_level() -> None:
    agent = AGENT.model_copy(update={"authserv_ids": ()})
    sender = identify(with_header("plain_question", DMARC), agent, everybody)
    assert (sender.level, sender.why) == (0, "no agent.authserv_ids configured")


def test_s20_folding_comments_and_case_change_nothing() -> None:
    assert (
        level(
            "authentication-results: MX.harborfile.example (ours);\r\n\tDMARC=PASS (p=none)\r\n header.from=Example.NET"
        )
        == 3
    )


def test_s20_an_encoded_word_in_a_property_is_not_decoded_into_a_result() -> None:
    encoded = "=?utf-8?q?x=3B_dmarc=3Dpass_header=2Efrom=3Dexample=2Enet?="
    assert level(OURS + f"spf=fail smtp.mailfrom={encoded}") == 0


@pytest.mark.parametrize("name", ["from_twice", "from_two_addresses", "from_group", "from_address_in_display_name"])
def test_s22_without_exactly_one_from_address_there_is_no_sender(name: str) -> None:
    sender = identify(with_header(name, DMARC), AGENT, everybody)
    assert (sender.address, sender.level) == ("", 0)


def test_s22_domains_are_compared_as_a_labels() -> None:
    line = OURS + "dmarc=pass header.from=bücher.example\r\n"
    sender = identify(parse(line.encode() + raw_mail("from_idn_domain")), AGENT, nobody)
    assert (sender.address, sender.level) == ("anna@xn--bcher-kva.example", 2)


def test_the_company_is_not_asked_about_a_forged_sender() -> None:
    """Else the time of the answer would tell whether an account exists."""
    asked: list[str] = []

    def ask(address: str) -> bool:
        asked.append(address)
        return True

    sender: Sender = identify(mail("plain_question"), AGENT, ask)
    assert (sender.level, asked) == (0, [])


@pytest.mark.parametrize(
    ("from_domain", "reported", "wanted"),
    [
        ("Example.NET", "example.net", 2),
        ("example.net.", "example.net", 2),
        ("example.net", "EXAMPLE.NET.", 2),
        ("b\u00fccher.example", "xn--bcher-kva.example", 2),
        ("B\u00dcCHER.example", "B\u00fccher.example.", 2),
        ("xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE", 2),
        ("ex\u0430mple.net", "example.net", 0),
        ("example.net", "ex\u0430mple.net", 0),
        ("bucher.example", "b\u00fccher.example", 0),
        ("example.net..", "example.net", 0),
        ("example.net", "example.net.evil.example", 0),
    ],
)
def test_s22_domains_that_look_alike_are_not_alike(from_domain: str, reported: str, wanted: int) -> None:
    """A Cyrillic letter, a dot at the end, capitals: what is compared are the A-labels (RFC 5890)."""
    head = f"{OURS}dmarc=pass header.from={reported}\r\nFrom: anna@{from_domain}\r\nSubject: x\r\n\r\nx\r\n"
    assert identify(parse(head.encode()), AGENT, nobody).level == wanted


KEY = make_key()
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PUBLISHED = {"s1._domainkey.example.net": KEY.record, "s1._domainkey.mailer.example": KEY.record}


def checked(raw: bytes, *lines: str, lookup: Names | None = None) -> Sender:
    """Who sent a mail, with our own check of its signatures; `lines` stand on top of it."""
    whole = "".join(f"{line}\r\n" for line in lines).encode() + raw
    names = Names(PUBLISHED) if lookup is None else lookup
    return identify(parse(whole), AGENT, nobody, lambda domain: verify_dkim(whole, domain, AGENT, NOON, names))


def test_s21_our_own_check_gives_level_2_where_our_server_says_nothing_of_dkim() -> None:
    raw = sign(raw_mail("plain_question"), KEY, "example.net")
    sender = checked(raw)
    assert (sender.level, sender.why) == (2, "DKIM signature of example.net, checked by us, not a known customer")
    assert checked(raw, OURS + "spf=fail smtp.mailfrom=example.net").level == 2
    assert checked(raw, "Authentication-Results: mx.evil.example; dkim=fail header.d=example.net").level == 2


@pytest.mark.parametrize(
    "results", ["dkim=fail header.d=example.net", "dmarc=fail header.from=example.net", "none (broken", "dmarc fail"]
)
def test_s21_our_own_check_does_not_outweigh_what_our_server_says_of_dkim(results: str) -> None:
    lookup = Names(PUBLISHED)
    assert checked(sign(raw_mail("plain_question"), KEY, "example.net"), OURS + results, lookup=lookup).level == 0
    assert lookup.asked == []


def test_s21_our_own_check_is_not_made_where_it_can_add_nothing() -> None:
    lookup = Names(PUBLISHED)
    assert checked(sign(raw_mail("plain_question"), KEY, "example.net"), DMARC, lookup=lookup).level == 2
    assert checked(sign(raw_mail("from_twice"), KEY, "example.net"), lookup=lookup).level == 0
    assert lookup.asked == []


def test_s21_a_signature_of_another_domain_that_we_check_is_level_1() -> None:
    sender = checked(sign(raw_mail("plain_question"), KEY, "mailer.example"))
    assert (sender.level, sender.why) == (
        1,
        "DKIM signature of mailer.example, checked by us, but not aligned with example.net",
    )


def test_s21_without_proof_why_says_what_was_looked_at() -> None:
    silent = Names(PUBLISHED, silent=["s1._domainkey.example.net"])
    sender = checked(sign(raw_mail("plain_question"), KEY, "example.net"), lookup=silent)
    assert (sender.level, sender.why) == (
        0,
        "no Authentication-Results of our server; DKIM: example.net: the DNS did not answer",
    )
    assert checked(raw_mail("plain_question")).why == "no Authentication-Results of our server; DKIM: no signature"


FIELDS = st.sampled_from(
    [
        DMARC,
        SPF,
        RECEIVED,
        OURS + "dkim=pass header.d=example.net",
        OURS + "dmarc=fail header.from=example.net",
        OURS + "2; broken (",
        OURS + "arc=pass",
        "Authentication-Results: mx.evil.example; dmarc=pass header.from=example.net",
        WITHOUT_ID,
    ]
)


@given(st.lists(FIELDS, max_size=4), st.lists(FIELDS, max_size=6))
def test_s20_nothing_below_our_own_field_changes_the_level(ours: list[str], brought: list[str]) -> None:
    """What a border server that adds one field wrote counts, whatever came with the mail below it."""
    top = next((line for line in ours if line.startswith(OURS)), SPF)
    assert level(top, RECEIVED, *brought) == level(top, RECEIVED)
    assert level(RECEIVED, top, *brought) == level(RECEIVED, top)
