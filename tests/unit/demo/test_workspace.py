"""What `init` writes: everything that is needed, nothing over what is there, comments that tell the truth."""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.core.modes import Mode
from support_agent.demo import workspace
from support_agent.demo.run import run_demo
from support_agent.demo.workspace import CONFIG_FILE, SECRET_FILE, init
from support_agent.errors import ConfigError

TODAY = date(2026, 6, 1)
COMMENTED = re.compile(r"^# (?=[a-z_]+ = )", re.MULTILINE)
EXAMPLES = {
    "agent.aliases", "desk.staff", "imap.user", "imap.password", "smtp.user", "smtp.password",
    "model.base_url", "model.name",
}  # fmt: skip
"""What is commented out and is an example, not the default."""


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("SUPPORT_AGENT__"):
            monkeypatch.delenv(name)


def test_a_new_workspace_writes_to_nobody_by_itself(tmp_path: Path) -> None:
    """Rule: mail that lay in the folder before the first start is left alone, and no answer leaves without a person."""
    init(tmp_path / "new", TODAY)
    settings = load(tmp_path / "new" / CONFIG_FILE)
    assert settings.imap.skip_existing
    assert settings.autonomy.start is Mode.SHADOW


def test_a_new_workspace_can_be_loaded(tmp_path: Path) -> None:
    """Rule: every file that the configuration names is there; `check` has a test of its own."""
    folder = tmp_path / "new" / "workspace"
    written = init(folder, TODAY)
    assert all(path.exists() for path in written)
    assert set(written) == set(folder.iterdir())
    settings = load(folder / CONFIG_FILE)
    company = Company.load(settings.company)
    company.accounts.close()
    assert len(company.documents) == 20
    assert company.questions
    assert company.accounts.series


def test_a_workspace_has_no_leftovers_of_the_package(tmp_path: Path) -> None:
    """No caches and no hidden files: the company edits these folders, and keeps them in version control."""
    init(tmp_path, TODAY)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*")]
    assert not [path for path in files if any(p.startswith((".", "__")) for p in path.parts)]


def test_the_key_is_secret_and_each_workspace_has_its_own(tmp_path: Path) -> None:
    """Who knows it can make Message-IDs that are taken for ours (RFC 3834, section 2)."""
    keys = []
    for name in ("one", "two"):
        init(tmp_path / name, TODAY)
        path = tmp_path / name / SECRET_FILE
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        keys.append(load(tmp_path / name / CONFIG_FILE).agent.secret.get_secret_value())
    assert len(set(keys)) == 2
    assert all(len(key) >= 32 for key in keys)


@pytest.mark.parametrize("name", [CONFIG_FILE, "policies", "templates", "accounts.toml", SECRET_FILE])
def test_nothing_is_written_over_what_is_there(tmp_path: Path, name: str) -> None:
    """A second `init` in the same folder would take away a company's words, or its key."""
    (tmp_path / name).write_text("mine", "utf-8")
    with pytest.raises(ConfigError, match=rf"has {re.escape(name)} already: choose an empty folder"):
        init(tmp_path, TODAY)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text("utf-8") == "mine"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """With its name and what to do."""
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ConfigError, match=r"file/workspace: .*choose a folder that can be written"):
        init(tmp_path / "file" / "workspace", TODAY)


def test_what_is_commented_out_is_the_default(tmp_path: Path) -> None:
    """The file says so in its third line; every key in it is one that there is."""
    written = Path(workspace.__file__).with_name(CONFIG_FILE).read_text("utf-8")
    assert "What is commented out shows its default." in written
    (tmp_path / SECRET_FILE).write_text("k" * 40, "ascii")
    path, defaults = tmp_path / CONFIG_FILE, Settings()
    path.write_text(COMMENTED.sub("", written), "utf-8")
    settings = load(path)
    commented, section = set(), ""
    for line in written.splitlines():
        if line.startswith("["):
            section = line.partition("]")[0].strip("[")
        elif COMMENTED.match(line):
            commented.add(f"{section}.{COMMENTED.sub('', line).split()[0]}")
    assert commented >= EXAMPLES
    for dotted in commented - EXAMPLES:
        section, _, key = dotted.partition(".")
        assert getattr(getattr(settings, section), key) == getattr(getattr(defaults, section), key), dotted


def test_the_demo_deletes_no_workspace_of_a_company(tmp_path: Path) -> None:
    """Failure: `demo --workspace my-desk` deleted what `init my-desk` had begun, with its cases and its keys."""
    init(tmp_path / "my-desk", TODAY)
    before = sorted((tmp_path / "my-desk").rglob("*"))
    with pytest.raises(ConfigError, match="is not a demo workspace"):
        run_demo(tmp_path / "my-desk", datetime(2026, 6, 1, tzinfo=UTC), print)
    assert sorted((tmp_path / "my-desk").rglob("*")) == before
