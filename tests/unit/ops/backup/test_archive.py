"""The folder of a backup: its manifest, its parts, its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from support_agent.config.agent import AgentSettings
from support_agent.config.settings import CompanySettings, PlannerSettings, Settings
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.backup import archive
from support_agent.ops.backup.archive import (
    MANIFEST,
    ArchivePart,
    Manifest,
    finish,
    new_archive,
    read,
    verify,
    write_part,
)
from support_agent.ops.backup.company_files import Configured, copy_files, left_out, restore_files
from tests.fakes_journey import NOON


def made(folder: Path, **changes: object) -> Path:
    with new_archive(folder, NOON) as (path, named):
        part = write_part(path, "files/a", [b"one", b"two"])
        values = {"program": "1.0", "made_at": NOON, "is_quiet": True, "stores": {}, "engine": None}
        finish(path, Manifest.model_validate({**values, "configuration": "a", "files": (part,), **changes}))
    return named


def test_a_backup_is_named_by_its_time_and_is_private(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path)
    assert [path.name for path in (first, second)] == [
        "support-agent-20261120T120000Z",
        "support-agent-20261120T120000Z-2",
    ]
    assert {oct(path.stat().st_mode & 0o077) for path in (first, *first.rglob("*"))} == {"0o0"}
    assert verify(first).bytes == 6


def test_a_block_that_fails_leaves_no_backup(tmp_path: Path) -> None:
    def dying() -> None:
        with new_archive(tmp_path, NOON) as (path, _):
            (path / "part").write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        dying()
    assert not list(tmp_path.glob("support-agent-*"))


def test_two_backups_at_once_are_refused(tmp_path: Path) -> None:
    with (
        new_archive(tmp_path, NOON),
        pytest.raises(ConfigError, match="another backup is being made"),
        new_archive(tmp_path, NOON),
    ):
        pass


@pytest.mark.parametrize("change", ["program", "sha256", "is_quiet"])
def test_a_changed_manifest_is_damaged(tmp_path: Path, change: str) -> None:
    path = made(tmp_path) / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {change: False}))
    with pytest.raises(PermanentError, match="is damaged"):
        read(path.parent)


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    path = made(tmp_path)
    (path / "files" / "a").unlink()
    with pytest.raises(PermanentError, match=r"lacks .*files/a"):
        verify(path)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "files/../../x", ""])
def test_no_part_leads_out_of_the_backup(path: str) -> None:
    with pytest.raises(ValidationError):
        ArchivePart(path=path, bytes=0, sha256="0" * 64)


def test_the_newest_backups_stay(tmp_path: Path) -> None:
    found = [made(tmp_path) for _ in range(3)]
    (tmp_path / "support-agent-of-somebody").mkdir()
    assert archive.delete_older(tmp_path, 2) == found[:1]
    assert archive.delete_older(tmp_path, 2) == []


def test_files_keep_their_places_and_secrets_stay_out(tmp_path: Path) -> None:
    """Also those that are not below the configuration's folder."""
    base, outside = tmp_path / "base", tmp_path / "outside"
    for folder in (base / "policies", base / "policies" / ".git", outside):
        folder.mkdir(parents=True)
    (base / "policies" / ".git" / "x").touch()
    wanted = {base / "c.toml": "c", base / "policies" / "1.md": "p", outside / "accounts.toml": "a"}
    wanted |= {base / "calibration.json": "{}"}
    for path, text in wanted.items():
        path.write_text(text)
    (base / "secret.key").write_text("s")
    company = CompanySettings(policies=base / "policies", templates=base / "none", accounts=outside / "accounts.toml")
    settings = Settings(
        company=company,
        agent=AgentSettings(secret_file=base / "secret.key", previous_secret_files=(base / "old.key",)),
        planner=PlannerSettings(calibration=base / "calibration.json"),
    )
    parts = copy_files(tmp_path / "made", base / "c.toml", [Configured(base / "c.toml", settings)])
    elsewhere = f"files/elsewhere{outside}/accounts.toml"
    names = {"files/c.toml", "files/policies/1.md", "files/calibration.json", elsewhere}
    assert {part.path for part in parts} == names
    assert left_out(settings) == (str(base / "secret.key"), str(base / "old.key"))
    restore_files(tmp_path / "made", parts, tmp_path / "to")
    assert (tmp_path / "to" / "policies" / "1.md").read_text() == "p"
    with pytest.raises(ConfigError, match="not empty"):
        restore_files(tmp_path / "made", parts, tmp_path / "to")
