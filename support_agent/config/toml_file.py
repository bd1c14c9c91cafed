"""Reads TOML files together with the lines of their tables and keys, so that findings can name them.

Invariant: lines only help the reader, and nothing depends on them; a line that cannot be found is None. Checked by
tests/unit/config/test_toml_file.py.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support_agent.errors import ConfigError

_TABLE = re.compile(r"^\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.-]+)\s*=")


@dataclass(frozen=True)
class TomlFile:
    """One parsed TOML file; `data` is the result of tomllib."""

    path: Path
    text: str
    data: dict[str, Any]

    def line(self, table: str, key: str = "", nth: int = 0) -> int | None:
        """The 1-based line of `key` in `[table]`; else of the table; else of its first subtable; else None.

        `nth` counts the tables of an array `[[table]]` from 0.
        """
        current, seen, found, within = "", -1, None, None
        for number, line in self._lines_outside_strings():
            if match := _TABLE.match(line):
                current = match.group(1).replace(" ", "").replace('"', "")
                seen += current == table
                if seen == nth and current == table:
                    found = number
                if current.startswith(f"{table}.") and within is None:
                    within = number
            elif current == table and seen == nth and (match := _KEY.match(line)):
                current_key = match.group(1)
                if key and (current_key == key or current_key.startswith(f"{key}.")):
                    return number
            if key and seen == nth and current == f"{table}.{key}":
                return number
        return found or within

    def _lines_outside_strings(self) -> Iterator[tuple[int, str]]:
        """Yield (1-based number, line) for lines that do not begin inside a multi-line string."""
        is_inside = False
        for number, line in enumerate(self.text.splitlines(), start=1):
            if not is_inside:
                yield number, line
            is_inside ^= (line.count('"""') + line.count("'''")) % 2 == 1


def read_toml(path: Path) -> TomlFile:
    """Read and parse a file.

    Raises:
        ConfigError: the file is missing, is not UTF-8, or is not TOML (the message names the line).
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors begin a file with a byte order mark
        return TomlFile(path, text, tomllib.loads(text))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `support-agent init` writes a commented one") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; check its permissions") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
