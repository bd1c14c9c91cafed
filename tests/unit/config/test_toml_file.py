"""TOML files with the lines of their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.toml_file import read_toml
from support_agent.errors import ConfigError

TEXT = '''# [a]
[a]
key = 1
long = """
[b]
key = 2
"""
[b]  # the real one
key.sub = 3

[[c]]
key = 4
[[c]]
x = 5
[c.key]
y = 6
[ "d" . e ]
key = 7
'''


def test_lines_of_tables_and_keys_are_found(tmp_path: Path) -> None:
    """Comments and long strings do not count; `nth` counts array tables; a sub-table is a key's line."""
    path = tmp_path / "x.toml"
    path.write_text(TEXT, "utf-8")
    file = read_toml(path)
    lines = TEXT.splitlines()
    assert file.line("a") == lines.index("[a]") + 1
    assert file.line("a", "key") == lines.index("key = 1") + 1
    assert file.line("b", "key") == lines.index("key.sub = 3") + 1
    assert file.line("c", "key", 0) == lines.index("key = 4") + 1
    assert file.line("c", "key", 1) == lines.index("[c.key]") + 1
    assert file.line("c", "missing", 1) == lines.index("x = 5")
    assert file.line("d.e", "key") == lines.index("key = 7") + 1
    assert file.line("d") == file.line("d.e")
    assert file.line("z") is None


def test_a_file_that_cannot_be_used_is_a_config_error(tmp_path: Path) -> None:
    """It names the file and what to do."""
    path = tmp_path / "x.toml"
    with pytest.raises(ConfigError, match="no such file"):
        read_toml(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="save it as UTF-8"):
        read_toml(path)
    path.write_text("a = 1\nb = x\n")
    with pytest.raises(ConfigError, match="line 2"):
        read_toml(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_toml(tmp_path)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    """Failure: a file that Notepad saved was refused as "not valid TOML", though it looked right in each editor."""
    path = tmp_path / "x.toml"
    path.write_text("[a]\nkey = 1\n", "utf-8-sig")
    assert (read_toml(path).data, read_toml(path).line("a", "key")) == ({"a": {"key": 1}}, 2)
