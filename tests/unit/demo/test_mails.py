"""The demo's mails: whole RFC 5322 messages, from the senders that the demo needs."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

import pytest

from support_agent.demo import AUTHSERV_ID, SUPPORT_ADDRESS, read_mails
from support_agent.demo.seed import ACCOUNTS

RAW = dict(read_mails())
CUSTOMERS = {account.address for account in ACCOUNTS}
NOT_TO_BE_ANSWERED = {"13-out-of-office.eml", "14-bounce.eml"}


def parsed(name: str) -> EmailMessage:
    return email.message_from_bytes(RAW[name], policy=email.policy.default)


def sender(mail: EmailMessage) -> str:
    (address,) = mail["From"].addresses
    return str(address.addr_spec)


def dmarc_domain(mail: EmailMessage) -> str | None:
    """The domain for which the company's own server says dmarc=pass, or None."""
    verdicts = mail.get_all("Authentication-Results", [])
    found = [re.search(r"dmarc=pass header\.from=(\S+)", verdict) for verdict in verdicts]
    return next((match.group(1) for match in found if match), None)


def is_level_3(mail: EmailMessage) -> bool:
    return sender(mail) in CUSTOMERS and dmarc_domain(mail) == sender(mail).rpartition("@")[2]


def test_there_are_at_least_twelve_mails_of_customers() -> None:
    """Numbered from 1 without a gap, so that the demo shows them in this order."""
    assert [int(name[:2]) for name in RAW] == list(range(1, len(RAW) + 1))
    assert len(set(RAW) - NOT_TO_BE_ANSWERED) >= 12


@pytest.mark.parametrize("name", RAW)
def test_mail_is_a_whole_message(name: str) -> None:
    """The standard parser finds no defect, RFC 5322's fields are there, lines end in CRLF within limits."""
    mail = parsed(name)
    assert [part.defects for part in mail.walk() if part.defects] == []
    assert [field.defects for field in mail.values() if field.defects] == []
    assert [address.addr_spec for address in mail["To"].addresses] == [SUPPORT_ADDRESS]
    assert re.fullmatch(r"<[^<>@\s]+@[^<>@\s]+>", mail["Message-ID"])
    assert parsedate_to_datetime(mail["Date"]).tzinfo is not None
    assert sender(mail)
    assert mail["Return-Path"] is not None
    assert b"\n" not in RAW[name].replace(b"\r\n", b"")
    assert max(map(len, RAW[name].split(b"\r\n"))) <= 998


@pytest.mark.parametrize("name", RAW)
def test_mail_has_something_to_read(name: str) -> None:
    """A body that the standard parser can decode and that is not empty."""
    body = parsed(name).get_body(("plain", "html"))
    assert body is not None
    assert body.get_content().strip()


def test_message_ids_are_unique() -> None:
    """A Message-ID that came twice would be one mail to the agent."""
    ids = [parsed(name)["Message-ID"] for name in RAW]
    assert len(set(ids)) == len(ids)


def test_only_the_company_s_own_server_vouches_for_senders() -> None:
    """Each Authentication-Results is of the authserv-id that the demo trusts (RFC 8601)."""
    for name in RAW:
        for verdict in parsed(name).get_all("Authentication-Results", []):
            assert verdict.split(";")[0] == AUTHSERV_ID, name


def test_forged_sender_is_a_customer_s_address_without_proof() -> None:
    """The forged mail names a customer who may ask for invoices, and nothing vouches for it."""
    mail = parsed("12-forged-sender.eml")
    assert sender(mail) in CUSTOMERS
    assert mail["Authentication-Results"] is None


def test_prospect_is_authenticated_but_no_customer() -> None:
    """Level 2: DMARC passes for the From domain, and the address is unknown."""
    mail = parsed("09-prospect-discount.eml")
    assert dmarc_domain(mail) == sender(mail).rpartition("@")[2]
    assert sender(mail) not in CUSTOMERS


def test_all_other_askers_are_known_customers() -> None:
    """Every further mail is at level 3, so that account values can be shown."""
    others = set(RAW) - {"09-prospect-discount.eml", "12-forged-sender.eml", "14-bounce.eml"}
    assert [name for name in sorted(others) if not is_level_3(parsed(name))] == []


def test_machine_mails_are_marked_as_such() -> None:
    """An automatic reply says so (RFC 3834), and a bounce has the null sender and a report (RFC 3464)."""
    assert parsed("13-out-of-office.eml")["Auto-Submitted"] == "auto-replied"
    bounce = parsed("14-bounce.eml")
    assert bounce["Return-Path"] == "<>"
    assert bounce.get_content_type() == "multipart/report"
    statuses = [part for part in bounce.walk() if part.get_content_type() == "message/delivery-status"]
    assert len(statuses) == 1


def test_html_only_mail_has_no_text_part() -> None:
    """One mail can only be read by turning its HTML into text."""
    mail = parsed("07-html-only.eml")
    assert mail.get_body(("plain",)) is None
    assert mail.get_body(("html",)) is not None
