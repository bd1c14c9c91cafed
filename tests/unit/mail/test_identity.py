"""The sender's level; rows S20 to S22."""

from __future__ import annotations

import pytest

from support_agent.mail.identity import Sender, identify
from support_agent.mail.message import parse
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


@pytest.mark.parametrize("line", ["spf=pass smtp.mailfrom=example.net", "dkim=pass header.d=example.net"])
def test_s21_spf_or_dkim_alone_are_level_1_even_for_a_customer(line: str) -> None:
    assert level(OURS + line) == 1
    assert level(OURS + line + "; dmarc=fail header.from=example.net") == 1


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
