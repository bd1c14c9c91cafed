"""`python -m tests.golden`: approve what is rendered now."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.golden.answers import APPROVED, rendered


def approve(approved: Path) -> list[str]:
    """Write every part, delete files of answers that are no more; the names of those that changed."""
    with tempfile.TemporaryDirectory() as folder:
        parts = dict(rendered(Path(folder)))
    approved.mkdir(exist_ok=True)
    before = {path.name: path.read_bytes() for path in approved.iterdir()}
    for name in before.keys() - parts.keys():
        (approved / name).unlink()
    for name, content in parts.items():
        (approved / name).write_bytes(content)
    return sorted(name for name in before.keys() | parts.keys() if before.get(name) != parts.get(name))


if __name__ == "__main__":
    changed = approve(APPROVED)
    sys.stdout.write("".join(f"{name}\n" for name in changed) + f"{len(changed)} files changed: read the diff\n")
