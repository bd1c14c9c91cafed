"""`ops.template_checks.check_templates` for tests about something else: what was sound once, byte by byte, is sound.

It renders every sample in every language, which takes longer than most tests. tests/unit/ops/test_template_checks.py
asks the function itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path

from support_agent.core.findings import Finding
from support_agent.ops.template_checks import check_templates
from tests.shared_folder import shared_folder


class CheckedOnce:
    """Remembers which files had no finding, for all processes; where there is one, its place is told anew each time."""

    def __call__(self, directory: Path, codes: Mapping[str, Collection[str]] | None = None) -> list[Finding]:
        """What `check_templates` finds."""
        state = sha256(repr({section: sorted(names) for section, names in (codes or {}).items()}).encode())
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            state.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode() + path.read_bytes())
        shared = shared_folder()
        sound = shared and shared / f"{state.hexdigest()}.sound"
        if sound and sound.exists():
            return []
        findings = check_templates(directory, codes)
        if sound and not findings:
            sound.touch()
        return findings
