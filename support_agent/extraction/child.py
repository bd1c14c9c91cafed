"""The child process: reads one file from standard input and writes its text to standard output, as JSON.

Invariant: it opens no file and no connection, and uses no more memory and processor time than its arguments allow, so a
hostile file costs its parent only a bounded wait. It imports little, to start quickly. `process` starts it. Checked by
tests/unit/extraction/test_process.py.
"""

from __future__ import annotations

import io
import json
import sys

from support_agent.extraction.blocks import BlockKind, Collector, FileRefused, Refusal
from support_agent.extraction.page import read_page
from support_agent.extraction.word import read_word


def read_pdf(raw: bytes, found: Collector, max_pages: int) -> None:
    """Read the text of a pdf, one block for each page with text; scanned pages have none.

    Raises:
        FileRefused: the file needs a password, or has too many pages or characters.
    """
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(raw), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):  # an empty password is common, to forbid printing
        raise FileRefused(Refusal.ENCRYPTED)
    for number, page in enumerate(reader.pages):
        if number == max_pages:
            raise FileRefused(Refusal.TOO_MUCH)
        found.add(BlockKind.PARAGRAPH, page.extract_text().strip())


def _limit(cpu_s: int, memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not available on this system; the parent's time limit still applies
        return
    limits = ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0))
    for limit, value in limits:
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # a lower limit is already set, or this system lacks it
            continue


def main(kind: str, max_characters: int, max_pages: int, cpu_s: int, memory_bytes: int) -> None:
    """Read the file from standard input and write {"blocks", "refusal"}; a broken file gives no blocks."""
    _limit(cpu_s, memory_bytes)
    found, refusal = Collector(max_characters), None
    try:
        raw = sys.stdin.buffer.read()
        match kind:
            case "pdf":
                read_pdf(raw, found, max_pages)
            case "docx":
                read_word(raw, found)
            case _:
                read_page(raw, found)
    except FileRefused as refused:
        refusal = refused.refusal
    except Exception as error:  # libraries may raise anything on hostile bytes, MemoryError and RecursionError too
        found.blocks.clear()
        refusal = Refusal.TOO_MUCH if isinstance(error, MemoryError) else Refusal.BROKEN
    sys.stdout.write(json.dumps({"blocks": found.blocks, "refusal": refusal}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]))
