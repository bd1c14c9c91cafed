"""Downloads one file from the hub or from Python packages, and continues an interrupted download.

Packages come from the index in `PIP_INDEX_URL`, else from PyPI (PEP 691 and PEP 700); proxies and certificates come
from the environment (`HTTPS_PROXY`, `SSL_CERT_FILE`).

Invariant: downloaded data is never imported or executed, and no more is written than announced. This module does not
verify files: checksums of parts only show which need no new download; `pulling` compares the pinned checksum. Checked
by tests/unit/models/test_downloads.py.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import ssl
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import httpx
from pydantic import BaseModel, Field, ValidationError

from support_agent.config.settings import ModelSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import TransientError
from support_agent.models.progress import MoveTo

HUB = "https://huggingface.co"
INDEX = "https://pypi.org/simple"
INDEX_TYPE = "application/vnd.pypi.simple.v1+json"
MORE_BYTES = 10_000_000
"""Tolerance for a wheel that is larger than its pinned, approximate size."""


MAX_INDEX_BYTES = 20_000_000
"""Most bytes to read of a package's page."""
MOST_INNER = 4
"""Largest size of an archive, relative to its wheel."""
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,  # encrypted
    KeyError,
    ValueError,
    OSError,  # raised by bzip2
)
"""Errors of reading a damaged or hostile archive."""


class HubFile(Frozen):
    """A file in a public model repository on the Hugging Face hub."""

    repository: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"Hugging Face hub, {self.repository}, {self.file}"


class WheelMember(Frozen):
    """Bytes inside one Python package: a file of its wheel, or a file of a zip archive in its wheel.

    `download_bytes` is the approximate size of the wheel, for the progress bar and the disk space. `platform` is the
    tag of a platform wheel; its data is used on every platform.
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
    """A file joined from members of Python packages, in order."""

    members: Annotated[tuple[WheelMember, ...], Field(min_length=1)]

    def __str__(self) -> str:
        first, last = self.members[0], self.members[-1]
        until = "" if first is last else f" to {last.project}"
        return f"Python packages, {first.project}{until} {first.version}"


Source = HubFile | Wheels


class _IndexFile(BaseModel):
    filename: str
    url: str
    size: Annotated[int, Field(gt=0)]


class _Index(BaseModel):
    """An index's page of a project (PEP 691; sizes since PEP 700)."""

    files: list[_IndexFile]


def download_bytes(source: Source, size_bytes: int) -> int:
    """Approximate download for a file of `size_bytes`."""
    match source:
        case HubFile():
            return size_bytes
        case Wheels():
            return sum(member.download_bytes for member in source.members)


def room_bytes(source: Source, size_bytes: int, partial: Path) -> int:
    """The disk space that a download still needs: the rest of the file, and a wheel."""
    rest_bytes = max(size_bytes - (partial.stat().st_size if partial.exists() else 0), 0)
    match source:
        case HubFile():
            return rest_bytes
        case Wheels():
            return rest_bytes + max(member.download_bytes for member in source.members)


def download(source: Source, size_bytes: int, partial: Path, settings: ModelSettings, move_to: MoveTo) -> None:
    """Complete the file `partial`; its start may come from an earlier call or another source.

    The folder of `partial` is for downloads only. The complete file is not verified.

    Raises:
        TransientError: the source did not deliver; the message says why, in one line.
    """
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.touch()
    silence_s = settings.hub_timeout_s if isinstance(source, HubFile) else settings.download_stall_s
    timeout = httpx.Timeout(silence_s, connect=settings.hub_timeout_s)
    try:
        with httpx.Client(timeout=timeout, verify=ssl.create_default_context(), follow_redirects=True) as client:
            match source:
                case HubFile():
                    hub = os.environ.get("HF_ENDPOINT") or HUB
                    url = f"{hub.rstrip('/')}/{source.repository}/resolve/{source.revision}/{source.file}"
                    _complete(client, url, partial, size_bytes, move_to)
                case Wheels():
                    _join(client, source.members, partial, move_to)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise TransientError(" ".join(str(error).split()) or type(error).__name__) from error


def _complete(client: httpx.Client, url: str, target: Path, size_bytes: int, move_to: MoveTo) -> None:
    """Complete `target`; reconnect after a break as long as each connection brings some bytes."""
    while (start := target.stat().st_size if target.exists() else 0) < size_bytes:
        try:
            _continue(client, url, target, start, size_bytes, move_to)
        except httpx.TransportError:
            if not target.exists() or target.stat().st_size <= start:
                raise


def _continue(client: httpx.Client, url: str, target: Path, start: int, size_bytes: int, move_to: MoveTo) -> None:
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={start}-"}
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response)
        is_whole = response.status_code != httpx.codes.PARTIAL_CONTENT  # the server does not support ranges
        have_bytes = 0 if is_whole else start
        found_bytes = have_bytes + int(response.headers.get("Content-Length", size_bytes - have_bytes))
        if found_bytes != size_bytes:
            raise TransientError(f"{response.url.host} has another file, of {found_bytes} bytes")
        with target.open("wb" if is_whole else "ab") as file:
            for chunk in response.iter_raw():
                have_bytes += len(chunk)
                if have_bytes > size_bytes:
                    raise TransientError(f"{response.url.host} sent more than the {size_bytes} bytes of the file")
                file.write(chunk)
                move_to(have_bytes)
    if have_bytes < size_bytes:
        raise httpx.RemoteProtocolError("the connection was closed before the end of the file")


def _check_status(response: httpx.Response) -> None:
    """The message leaves out the address, which may hold a password."""
    if not response.is_success:
        raise TransientError(f"{response.url.host} answers HTTP {response.status_code}")


def _join(client: httpx.Client, members: Sequence[WheelMember], joined: Path, move_to: MoveTo) -> None:
    """Append the missing members to `joined`, one wheel at a time, to save disk space."""
    kept = _keep_good_members(members, joined)
    done_bytes = sum(member.download_bytes for member in members[:kept])
    move_to(done_bytes)
    for member in members[kept:]:

        def move_within(bytes_now: int, base: int = done_bytes, most: int = member.download_bytes) -> None:
            move_to(base + min(bytes_now, most))

        wheel = joined.with_name(f"{member.project}-{member.version}.whl")
        found = _find_wheel(client, member)
        _complete(client, found.url, wheel, found.size, move_within)
        try:
            content = _member_bytes(member, wheel)
        finally:
            wheel.unlink()
        with joined.open("ab") as file:
            file.write(content)
        done_bytes += member.download_bytes
        move_to(done_bytes)


def _keep_good_members(members: Sequence[WheelMember], joined: Path) -> int:
    """Cut `joined` after its first unchanged members; returns their number."""
    with joined.open("r+b") as file:
        for count, member in enumerate(members):
            start = file.tell()
            if hashlib.sha256(file.read(member.size_bytes)).hexdigest() != member.sha256:
                file.truncate(start)
                return count
        file.truncate(file.tell())
    return len(members)


def _find_wheel(client: httpx.Client, member: WheelMember) -> _IndexFile:
    index = os.environ.get("PIP_INDEX_URL") or INDEX
    headers = {"Accept": INDEX_TYPE, "Accept-Encoding": "identity"}
    wanted = f"{member.project} {member.version}"
    try:
        with client.stream("GET", f"{index.rstrip('/')}/{member.project}/", headers=headers) as response:
            _check_status(response)
            files = _Index.model_validate_json(_page(response)).files
    except TransientError as error:
        raise TransientError(f"{wanted}: {error}") from error
    except ValidationError as error:
        raise TransientError(f"{wanted}: {response.url.host} is no package index with JSON and sizes") from error
    start = f"{re.sub(r'[-_.]+', '_', member.project)}-{member.version}-".lower()
    for file in files:
        name = file.filename.lower()
        if name.startswith(start) and name.endswith(".whl") and member.platform in name:
            if file.size > member.download_bytes + MORE_BYTES:
                raise TransientError(f"{wanted}: {response.url.host} has another wheel, of {file.size} bytes")
            return file.model_copy(update={"url": str(response.url.join(file.url))})
    raise TransientError(f"{wanted}: {response.url.host} has no such wheel")


def _page(response: httpx.Response) -> bytes:
    page = bytearray()
    for chunk in response.iter_raw():
        page += chunk
        if len(page) > MAX_INDEX_BYTES:
            raise TransientError(f"{response.url.host} sent more than {MAX_INDEX_BYTES} bytes of an index page")
    return bytes(page)


def _member_bytes(member: WheelMember, wheel: Path) -> bytes:
    path = member.inner_path or member.path
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member.path) as packed:
            if member.inner_path:
                if archive.getinfo(member.path).file_size > MOST_INNER * member.download_bytes + MORE_BYTES:
                    raise zipfile.BadZipFile("it unpacks to more than it can be")
                with zipfile.ZipFile(packed) as inner, inner.open(member.inner_path) as found:
                    content = found.read(member.size_bytes + 1)
            else:
                content = packed.read(member.size_bytes + 1)
    except UNREADABLE as error:
        raise TransientError(f"{wheel.name} has no {path}: {error}") from error
    if hashlib.sha256(content).hexdigest() != member.sha256:
        raise TransientError(f"{path} in {wheel.name} is not the pinned file")
    return content
