"""Checks the section about the desk's page: who could use it, and whether others could.

Checked by tests/unit/ops/test_check_page.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from support_agent.cases.route import staff_addresses
from support_agent.config.settings import Settings
from support_agent.core.findings import Finding, Severity
from support_agent.core.levels import lower_address
from support_agent.ops.config_file import ConfigFile, address_findings

EVERY_ADDRESS = ("0.0.0.0", "::")
"""Hosts that stand for every address of this machine; no browser asks for them."""


def check_page(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with `[desk_page]`; the page is not served with an error."""
    page, staff = settings.desk_page, staff_addresses(settings)
    yield from address_findings(config, "desk_page.readers", page.readers, "the address of a person")
    yield from address_findings(config, "desk_page.admins", page.admins, "the address of a person")
    if others := [address for address in page.admins if lower_address(address) not in staff]:
        what = f"desk_page.admins are not of the staff: {', '.join(others)}"
        todo = "add them to desk.staff, because what an admin sends to a customer is a staff member's mail"
        yield config.finding("desk_page.admins", what, todo)
    yield from _sign_in(settings, config)
    if page.host in EVERY_ADDRESS and not page.public_url:
        what = f"desk_page.public_url is not set, and no browser asks for {page.host}"
        yield config.finding("desk_page.public_url", what, "write the page's address as browsers see it")
    elif page.sign_in != "link" and not page.is_loopback and not page.is_https:
        what = f"browsers reach the page at {page.origin} without TLS, so sessions and mails can be read on the way"
        todo = "put a proxy with TLS in front, and write its https address into desk_page.public_url"
        yield config.finding("desk_page.public_url", what, todo, severity=Severity.WARNING)


def _sign_in(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    page = settings.desk_page
    match page.sign_in:
        case "link":
            if not page.is_loopback:
                what = f"desk_page.host = {page.host!r} can be reached by other machines, and the link is for this one"
                yield config.finding(
                    "desk_page.host", what, 'set desk_page.sign_in = "proxy" or "oidc", or host = "127.0.0.1"'
                )
        case "proxy":
            if not page.proxy_addresses:
                what = "desk_page.proxy_addresses is empty, so no proxy can say who people are"
                yield config.finding("desk_page.proxy_addresses", what, 'write the proxy\'s network: ["10.0.0.7/32"]')
        case "oidc":
            needed = {"oidc_issuer": page.oidc_issuer, "oidc_client_id": page.oidc_client_id}
            for key, value in needed.items():
                if not value:
                    what = f'desk_page.{key} is not set, and desk_page.sign_in = "oidc"'
                    yield config.finding(f"desk_page.{key}", what, "write what your provider shows for this client")
