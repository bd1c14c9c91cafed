"""The configuration file, so that findings on settings name their lines in it.

Checked by tests/unit/ops/test_check.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support_agent.config.agent import AgentSettings
from support_agent.config.sources import ENVIRONMENT, SettingProblem
from support_agent.config.toml_file import TomlFile, read_toml
from support_agent.core.findings import Finding, Severity
from support_agent.core.levels import lower_address
from support_agent.errors import ConfigError
from support_agent.mail.addresses import is_own, normal_address


@dataclass(frozen=True)
class ConfigFile:
    """The configuration file, as far as it can be read."""

    path: Path | None
    file: TomlFile | None

    @classmethod
    def read(cls, path: Path | None) -> ConfigFile:
        """Read the file; None: the settings come from elsewhere."""
        try:
            return cls(path, read_toml(path) if path else None)
        except ConfigError:
            return cls(path, None)

    def finding(self, key: str, what: str, todo: str, *, severity: Severity = Severity.ERROR, nth: int = 0) -> Finding:
        """A finding on a setting.

        Args:
            key: Dotted ("desk.address", "desk.routes.topics"); a key that the file lacks gets the line of its section.
            nth: Counts the tables of a list of tables, from 0.
        """
        table, _, name = key.rpartition(".")
        line = self.file.line(table, name, nth) if self.file else None
        if line is None and self.file and "." in table:
            section, _, key_of_tables = table.partition(".")
            line = self.file.line(section, key_of_tables)
        return Finding(severity=severity, path=self.path, line=line, what=what, todo=todo)

    def refused(self, problem: SettingProblem) -> Finding:
        """A setting that `load` refused; it has a line only if it comes from the file."""
        section, key, text, todo = problem
        what, line = text.removeprefix(f"{self.path}: "), None
        if self.file is not None and not text.startswith(ENVIRONMENT):
            if not section:
                line = _line_of_key(self.file.text, key)
            elif not key or key in self.file.data.get(section, {}):
                line = self.file.line(section, key)
        return Finding.error(self.path if line else None, line, what, todo or "correct it")


def address_findings(
    config: ConfigFile, key: str, addresses: Iterable[str], meaning: str, nth: int = 0
) -> Iterator[Finding]:
    """What is wrong with the addresses of a setting; `nth` as in `ConfigFile.finding`."""
    for address in addresses:
        plain = normal_address(address)
        if not address:
            yield config.finding(key, f"{key} is not set", f"write {meaning}", nth=nth)
        elif plain is None or not plain.isascii():
            what = f"{key}: {address!r} is no plain address such as help@example.com"
            yield config.finding(key, what, f"write {meaning}", nth=nth)
        elif plain != lower_address(address):
            what = f"{key}: {address!r} is not written as mails carry it, so their addresses would be no match"
            yield config.finding(key, what, f"write {plain}", nth=nth)


def people_findings(
    config: ConfigFile, agent: AgentSettings, key: str, addresses: Sequence[str], meaning: str, nth: int = 0
) -> Iterator[Finding]:
    """What is wrong with the addresses of a setting to which the agent writes; `nth` as in `ConfigFile.finding`."""
    yield from address_findings(config, key, addresses, meaning, nth)
    if any(is_own(normal_address(address) or "", agent) for address in addresses):
        what = f"{key} is the agent's own address, so mail for people comes back to the agent"
        yield config.finding(key, what, "write an address that people read", nth=nth)


def _line_of_key(text: str, key: str) -> int | None:
    """The line of a key that is above the first section."""
    start = re.compile(rf"\s*{re.escape(key)}\s*=")
    return next((number for number, line in enumerate(text.splitlines(), 1) if start.match(line)), None)
