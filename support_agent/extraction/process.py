"""Reads an untrusted file in a separate process, with limits on time, memory and text.

Invariant: for any file, reading ends in bounded time and memory, raises nothing, and reports if something was left
unread. Of the environment the child gets only `KEPT_VARIABLES`, because passwords and database URLs may have any name.
Checked by tests/unit/extraction/test_process.py.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from support_agent.core.frozen import Frozen
from support_agent.extraction.blocks import Block, Refusal

CHILD = "support_agent.extraction.child"
PACKAGES = Path(__file__).parents[2]
"""The folder where the child finds this package: its path lacks the working folder."""
KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "TZ"}
    | {"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY"}
    | {"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONPLATLIBDIR"}
    | {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONHASHSEED"}
    | {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "__PYVENV_LAUNCHER__", "SYSTEMROOT", "WINDIR"}
)
"""What the interpreter and its libraries need to be found and to start: paths, the locale, folders for temporary files
(HOME and PYTHONUSERBASE lead to packages that a user installed for herself), and what macOS and Windows need."""


class FileKind(StrEnum):
    """The kinds of files that the child process reads."""

    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"


class ExtractionLimits(Frozen):
    """The limits for reading one file."""

    max_characters: int
    max_pages: int
    timeout_s: float
    memory_bytes: int


class Extracted(Frozen):
    """The blocks that were read; `refusal` is None if that is the whole file."""

    blocks: tuple[Block, ...] = ()
    refusal: Refusal | None = None


def extract(kind: FileKind, raw: bytes, limits: ExtractionLimits) -> Extracted:
    """Read the text of a file as blocks.

    A pdf gives one paragraph for each page, with its lines, because it has no other structure.
    """
    numbers = (limits.max_characters, limits.max_pages, math.ceil(limits.timeout_s), limits.memory_bytes)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", CHILD, kind.value, *map(str, numbers)],
            input=raw,
            capture_output=True,
            timeout=limits.timeout_s,
            env=_environment(),
            check=True,
        )
        return Extracted.model_validate_json(done.stdout)
    except (OSError, ValidationError, subprocess.SubprocessError):
        return Extracted(refusal=Refusal.TOO_MUCH)


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in KEPT_VARIABLES}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGES), kept.get("PYTHONPATH"))))}
