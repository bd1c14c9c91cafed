"""A private Postfix for tests: submission with TLS and login, delivery into the mailboxes of the private
Dovecot.

It accepts mail for any address under `DOMAINS`, with or without a tag (user+tag@),
except `refused@example.net` (550) and `later@example.net` (450), and relays nothing. Postfix starts as root
only; without it its tests are skipped, and fail where `CI` is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from support_agent.config.mail_servers import Security, SmtpSettings
from support_agent.demo import AUTHSERV_ID
from tests.servers.certificates import Certificates
from tests.servers.dovecot import PASSWORD, STOP_S, Dovecot, free_port, wait_for_port
from tests.servers.postgres import skip_or_fail

DOMAINS = "example.net example.org example.com harborfile.example canary.example"
PROVEN = "canary.example"
"""Mail from this domain is proven by the server, as a border server does it (RFC 8601)."""
REFUSED = "refused@example.net"
LATER = "later@example.net"
MAX_MESSAGE_BYTES = 1_000_000
LDA = Path("/usr/lib/dovecot/dovecot-lda")

SERVICES = """
{smtps_port} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes -o syslog_name=smtps
{submission_port} inet n - n - - smtpd -o smtpd_tls_security_level=encrypt -o syslog_name=submission
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
lda unix - n n - - pipe flags=DORhu user=mail argv={lda} -c {dovecot} -f ${{sender}} -d ${{user}}@${{domain}}
"""


class Postfix:
    """A running server."""

    def __init__(self, folder: Path, certificates: Certificates) -> None:
        self.folder = folder
        self.smtps_port = free_port()
        self.submission_port = free_port()
        self._certificates = certificates

    def settings(self, **changes: object) -> SmtpSettings:
        """How the agent sends, over verified TLS unless changed."""
        base: dict[str, object] = {
            "host": "localhost",
            "port": self.smtps_port,
            "security": Security.TLS,
            "user": "support@harborfile.example",
            "password": SecretStr(PASSWORD),
            "timeout_s": 20.0,
            "ca_file": self._certificates.authority,
        }
        return SmtpSettings.model_validate(base | changes)


def _configuration(server: Postfix, dovecot: Dovecot, certificates: Certificates) -> str:
    folder = server.folder
    return f"""
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file_prefixes = {folder}
maillog_file = {folder}/log
myhostname = mx.harborfile.example
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination =
mynetworks =
alias_maps =
alias_database =
message_size_limit = {MAX_MESSAGE_BYTES}
virtual_mailbox_domains = {DOMAINS}
virtual_mailbox_maps = static:all
virtual_transport = lda
lda_destination_recipient_limit = 1
recipient_delimiter = +
smtputf8_enable = no
smtpd_tls_cert_file = {certificates.certificate}
smtpd_tls_key_file = {certificates.key}
smtpd_tls_security_level = may
smtpd_tls_auth_only = yes
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = {dovecot.auth_socket}
smtpd_delay_reject = no
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_sender_restrictions =
  check_sender_access inline:{{ {{{PROVEN} = PREPEND Authentication-Results:
  {AUTHSERV_ID}; dmarc=pass header.from={PROVEN}}} }}
smtpd_recipient_restrictions =
  check_recipient_access inline:{{ {{{REFUSED} = 550 5.1.1 no such user}} {{{LATER} = 450 4.2.1 try later}} }}
"""


@pytest.fixture(scope="session")
def postfix(dovecot: Dovecot, certificates: Certificates) -> Iterator[Postfix]:
    """One server for the whole run."""
    if not Path("/usr/sbin/postfix").exists() or not LDA.exists():
        skip_or_fail("Postfix is not installed: deploy/install-servers.sh installs it")
    if os.geteuid() != 0:
        skip_or_fail("Postfix starts as root only")
    folder = Path(tempfile.mkdtemp(prefix="sa-postfix-"))
    folder.chmod(0o755)
    server = Postfix(folder, certificates)
    config = folder / "config"
    for name in ("config", "queue", "data"):
        (folder / name).mkdir()
    shutil.chown(folder / "data", "postfix")
    (config / "main.cf").write_text(_configuration(server, dovecot, certificates))
    (config / "master.cf").write_text(
        SERVICES.format(
            smtps_port=f"127.0.0.1:{server.smtps_port}",
            submission_port=f"127.0.0.1:{server.submission_port}",
            lda=LDA,
            dovecot=dovecot.config,
        )
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(["/usr/sbin/postfix", "-c", config, "start-fg"], **quiet)  # type: ignore[call-overload]
    try:
        wait_for_port(server.smtps_port, process, folder / "log")
        yield server
    finally:
        subprocess.run(["/usr/sbin/postfix", "-c", config, "abort"], **quiet, check=False)  # type: ignore[call-overload]
        process.wait(STOP_S)
        shutil.rmtree(folder, ignore_errors=True)
