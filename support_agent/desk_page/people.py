"""Who may do what on the desk's page: a person is an address with a role, by the settings.

Invariant: roles come from the settings of now, never from a session, so that whoever is removed is out at once.
Checked by tests/unit/desk_page/test_people.py.
"""

from __future__ import annotations

from enum import StrEnum

from support_agent.cases.route import staff_addresses
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import lower_address
from support_agent.errors import ConfigError


class Role(StrEnum):
    """What a person may do: look at everything; decide cases; also change documents and how the agent runs."""

    READ = "read"
    ANSWER = "answer"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Whether this role may do what needs the other."""
        order = tuple(Role)
        return order.index(self) >= order.index(needed)


class Person(Frozen):
    """A person who is signed in."""

    address: str
    role: Role


def person_of(settings: Settings, address: str) -> Person | None:
    """The person with this address; None: nobody who may see the page."""
    plain, page = lower_address(address), settings.desk_page
    is_staff = plain in staff_addresses(settings)
    if is_staff and plain in map(lower_address, page.admins):
        return Person(address=plain, role=Role.ADMIN)
    if is_staff:
        return Person(address=plain, role=Role.ANSWER)
    return Person(address=plain, role=Role.READ) if plain in map(lower_address, page.readers) else None


def check_people(settings: Settings) -> None:
    """Refuse settings under which nobody could use the page.

    Raises:
        ConfigError: an admin is not of the staff, or the one-time link would be served to other machines.
    """
    staff, page = staff_addresses(settings), settings.desk_page
    if strangers := [address for address in page.admins if lower_address(address) not in staff]:
        todo = "add them to desk.staff: what an admin sends to a customer is a staff member's mail"
        raise ConfigError(f"desk_page.admins are not of the staff: {', '.join(strangers)}: {todo}")
    if page.sign_in == "link" and not page.is_loopback:
        todo = 'set desk_page.sign_in = "proxy" or "oidc", or host = "127.0.0.1"'
        raise ConfigError(f"desk_page.host = {page.host} can be reached by other machines: {todo}")
    if page.sign_in == "oidc" and not (page.oidc_issuer and page.oidc_client_id):
        raise ConfigError('desk_page.sign_in = "oidc" needs desk_page.oidc_issuer and desk_page.oidc_client_id')
