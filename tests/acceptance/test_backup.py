"""`backup`, `backup verify` and `restore`, as an operator runs them."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from support_agent.demo.workspace import CONFIG_FILE, SECRET_FILE
from support_agent.store.keys import KeySettings
from support_agent.store.store import Store
from tests.acceptance.program import files_in
from tests.acceptance.test_older_version import KEPT
from tests.contract.store.examples import case, record
from tests.servers.program import ForkedProgram

STORE = "support-agent.sqlite3"


def test_a_store_is_backed_up_lost_and_restored(program: ForkedProgram, workspace: Path, tmp_path: Path) -> None:
    """One of an older version; a backup neither upgrades it nor has any secret."""
    (workspace / STORE).write_bytes(gzip.decompress((KEPT / "store.sqlite3.gz").read_bytes()))
    made = program.run("backup", tmp_path / "backups", "--json", folder=workspace)
    assert made.code == 0, made
    (report,) = made.lines
    archive = Path(report["path"])
    assert report["left_out"] == [str(workspace / SECRET_FILE)]
    assert SECRET_FILE in made.err
    secret = (workspace / SECRET_FILE).read_bytes().strip()
    assert not [name for name, content in files_in(archive).items() if secret in content]
    checked = program.run("backup", "verify", archive, folder=tmp_path)
    assert (checked.code, "whole, of " in checked.out) == (0, True)

    (workspace / STORE).write_bytes(b"lost")
    refused = program.run("restore", archive, folder=workspace)
    assert (refused.code, "--replace" in refused.err) == (2, True)
    done = program.run("restore", archive, "--replace", folder=workspace)
    assert done.code == 0, done
    assert re.search(rf"the store before is kept in \S+{STORE}\.replaced-", done.out)
    assert len(program.run("cases", "--json", folder=workspace).lines[0]) == 11


def test_the_companys_files_are_written_into_a_new_folder(
    program: ForkedProgram, workspace: Path, tmp_path: Path
) -> None:
    assert program.run("autonomy", folder=workspace).code == 0
    archive = program.run("backup", "create", tmp_path / "backups", folder=workspace).out.strip()
    to = tmp_path / "new"
    written = program.run("restore", archive, "--to", to, folder=tmp_path)
    assert written.code == 0, written
    assert f"--config {to / CONFIG_FILE}" in written.err
    assert SECRET_FILE in written.err
    kept = files_in(workspace)
    assert files_in(to) == {name: kept[name] for name in files_in(to)}
    assert {CONFIG_FILE, "accounts.toml", "policies/001-refund-policy.md"} <= set(files_in(to))
    assert program.run("restore", archive, "--to", to, folder=tmp_path).code == 2


def test_only_the_newest_backups_are_kept_and_a_damaged_one_is_found(
    program: ForkedProgram, workspace: Path, tmp_path: Path
) -> None:
    assert program.run("autonomy", folder=workspace).code == 0
    made = [program.run("backup", tmp_path / "b", "--keep", "2", folder=workspace).out.strip() for _ in range(3)]
    assert [Path(path).exists() for path in made] == [False, True, True]
    part = Path(made[2], "files", CONFIG_FILE)
    part.write_text(part.read_text("utf-8") + "#", "utf-8")
    damaged = program.run("backup", "verify", made[2], folder=tmp_path)
    assert (damaged.code, "has changed since the backup was made" in damaged.err) == (1, True)
    assert program.run("backup", "verify", tmp_path, folder=tmp_path).code == 2


@pytest.mark.servers
def test_a_store_moves_to_a_server_with_its_keys(
    program: ForkedProgram, workspace: Path, tmp_path: Path, postgres_url: str
) -> None:
    """Rule: the commands of docs/scale.md; without the keys the restore refuses and says what to do."""
    with Store.open(f"sqlite:///{workspace / STORE}", keys=KeySettings(seals=True)) as store:
        store.upgrade()
        store.cases.open(case(), record(store, 1))
    archive = program.run("backup", tmp_path / "move", folder=workspace).out.strip()
    server = {"STORE__URL": postgres_url}
    refused = program.run("restore", archive, "--exact", folder=workspace, settings=server)
    assert (refused.code, "there are no keys" in refused.err) == (2, True), refused
    copied = program.run("keys", "copy", "support-agent-keys.sqlite3", folder=workspace, settings=server)
    assert (copied.code, copied.out.startswith("keys copied to postgresql")) == (0, True), copied
    assert "no master key wraps them" in copied.err
    nobody = program.run("keys", "copy", "x.sqlite3", "--brand", "none", folder=workspace, settings=server)
    assert (nobody.code, "there is no brand 'none'" in nobody.err) == (2, True)
    moved = program.run("restore", archive, "--exact", folder=workspace, settings=server)
    assert moved.code == 0, moved
    assert program.run("cases", "--json", folder=workspace, settings=server).lines[0][0]["case"]["subject"] == "Refund?"
