"""The raw test mails of tests/emails, and the settings of the company they were sent to."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.mail.message import Message, parse

EMAILS = Path(__file__).parents[2] / "emails"
AGENT = AgentSettings(
    address="support@harborfile.example",
    name="Harborfile Support",
    aliases=("help@harborfile.example",),
    authserv_ids=("mx.harborfile.example",),
    secret=SecretStr("0123456789abcdef0123456789abcdef"),
)
DESK = DeskSettings(address="desk@harborfile.example")


def raw_mail(name: str) -> bytes:
    """The bytes of tests/emails/NAME.eml."""
    return (EMAILS / f"{name}.eml").read_bytes()


def mail(name: str) -> Message:
    """tests/emails/NAME.eml, parsed."""
    return parse(raw_mail(name))


def with_header(name: str, *lines: str) -> Message:
    """A mail of tests/emails with header lines on top of it."""
    return parse("".join(f"{line}\r\n" for line in lines).encode() + raw_mail(name))
