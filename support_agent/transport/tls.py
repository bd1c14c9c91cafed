"""Create TLS client contexts that always verify certificates and host names.

Invariant: no setting turns verification off; a private certificate authority is added by file (`ca_file`).
Checked by tests/unit/transport/test_tls.py and against real servers.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from support_agent.config.mail_servers import Server
from support_agent.errors import ConfigError


def client_context(server: Server, section: str) -> ssl.SSLContext:
    """A verifying context for the server in a section of the settings ("imap", "smtp").

    Raises:
        ConfigError: `ca_file` cannot be read as PEM certificates.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if server.ca_file is not None:
        try:
            context.load_verify_locations(cafile=server.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"{section}.ca_file {server.ca_file} cannot be used ({error}): give a file of PEM certificates",
                code="ca_file",
            ) from error
    return context


def certificate_end(connection: object) -> datetime | None:
    """When the certificate ends that the server of a connection has shown; None: it is not over TLS."""
    if not isinstance(connection, ssl.SSLSocket | ssl.SSLObject):
        return None
    shown = connection.getpeercert()  # empty where nothing was verified, which never is
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), UTC) if shown else None
