"""Who may do what on the desk's page: a person is an address with a role, by the settings.

Invariant: roles come from the settings that are served with, never from a session: after a restart, which ends all
sessions, whoever was removed is out. Checked by tests/unit/desk_page/test_people.py.
"""

from __future__ import annotations

from enum import StrEnum

from support_agent.cases.route import staff_addresses
from support_agent.config.settings import Settings
from support_agent.core.findings import Severity
from support_agent.core.frozen import Frozen
from support_agent.core.levels import lower_address
from support_agent.errors import ConfigError
from support_agent.ops.check_page import check_page
from support_agent.ops.config_file import ConfigFile


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
    is_staff = bool(plain) and plain in staff_addresses(settings)
    if is_staff and plain in map(lower_address, page.admins):
        return Person(address=plain, role=Role.ADMIN)
    if is_staff:
        return Person(address=plain, role=Role.ANSWER)
    return Person(address=plain, role=Role.READ) if plain in map(lower_address, page.readers) else None


def check_people(settings: Settings) -> None:
    """Refuse settings under which nobody could use the page, or others could: what `support-agent check` finds.

    Raises:
        ConfigError: the first such finding, or nobody is there whom the link could sign in.
    """
    for finding in check_page(settings, ConfigFile.read(None)):
        if finding.severity is Severity.ERROR:
            raise ConfigError(str(finding))
    if settings.desk_page.sign_in == "link" and not settings.desk.address:
        raise ConfigError('desk.address is not set, and desk_page.sign_in = "link" signs in that person: write it')
