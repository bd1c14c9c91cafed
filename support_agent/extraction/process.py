"""Reads a file of others in a process of its own, with bounds on time, memory and text.

Invariant: whatever the file is, this ends in bounded time and memory, raises nothing, and says where something was
left unread. The child gets no setting of the program in its environment. Checked by
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
"""Where the child finds this package: it starts without the working folder in its path."""
SECRET_VARIABLES = "SUPPORT_AGENT__"


class FileKind(StrEnum):
    """The files that are read in a process of their own."""

    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"


class Limits(Frozen):
    """What one file may cost."""

    max_characters: int
    max_pages: int
    timeout_s: float
    memory_bytes: int


class Extracted(Frozen):
    """The blocks as far as they were read; `refusal` is None where that is all of them."""

    blocks: tuple[Block, ...] = ()
    refusal: Refusal | None = None


def extract(kind: FileKind, raw: bytes, limits: Limits) -> Extracted:
    """The text of a file as blocks.

    A pdf has one paragraph for each page, with its lines: it knows of no other blocks.
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
