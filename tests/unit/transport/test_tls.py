"""TLS is verified, and no setting turns that off."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from pydantic import ValidationError

from support_agent.config.mail_servers import ImapSettings, Security, SmtpSettings
from support_agent.errors import ConfigError
from support_agent.transport.tls import client_context


def test_certificates_and_names_are_verified() -> None:
    context = client_context(SmtpSettings(host="mail.example.net"), "smtp")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("content", [None, "nothing"])
def test_an_authority_that_cannot_be_read_names_its_setting(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=r"imap\.ca_file"):
        client_context(ImapSettings(host="localhost", ca_file=file), "imap")


def test_s36_plain_connections_are_for_loopback_only() -> None:
    with pytest.raises(ValidationError, match="loopback"):
        ImapSettings(host="mail.example.net", security=Security.PLAIN)
