"""Reads the file of a measurement, given by its own path or by its folder.

Checked by tests/unit/ops/evals/test_files.py.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from support_agent.errors import ConfigError


def data_file(data: Path, name: str) -> Path:
    """The file itself, or the one of that name in the folder.

    Raises:
        ConfigError: it is not there.
    """
    path = data / name if data.is_dir() else data
    if not path.is_file():
        raise ConfigError(f"{path}: no such file: name the folder that holds {name}, or the file, with --data")
    return path


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}: name a file that can be read") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text: save it as UTF-8") from None


def first_problem(error: ValidationError) -> str:
    """What is wrong with a line of a file, and where in it."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
