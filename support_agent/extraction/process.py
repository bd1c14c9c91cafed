"""Reads an untrusted file in a separate process, with limits on time, memory and text.

Invariant: for any file, reading ends in bounded time and memory, raises nothing, and reports if something was left
unread. The child's environment holds no setting of the program. Checked by
tests/unit/extraction/test_process.py.
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
SECRET_VARIABLES = "SUPPORT_AGENT__"


class FileKind(StrEnum):
    """The kinds of files that the child process reads."""

    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"


class Limits(Frozen):
    """The limits for reading one file."""

    max_characters: int
    max_pages: int
    timeout_s: float
    memory_bytes: int


class Extracted(Frozen):
    """The blocks that were read; `refusal` is None if that is the whole file."""

    blocks: tuple[Block, ...] = ()
    refusal: Refusal | None = None


def extract(kind: FileKind, raw: bytes, limits: Limits) -> Extracted:
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
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith(SECRET_VARIABLES)}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGES), kept.get("PYTHONPATH"))))}
