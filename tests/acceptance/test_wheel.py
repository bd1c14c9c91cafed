"""A wheel carries everything that the program needs, and works outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.program import environment

ROOT = Path(__file__).parents[2]
SEES_ONLY_THE_WHEEL = """
import sys, pathlib
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path({root!r})]
import support_agent
assert pathlib.Path(support_agent.__file__).is_relative_to({wheel!r}), support_agent.__file__
from support_agent.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel of this checkout; pip fetches the build backend from its index."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--disable-pip-version-check", "-q", "--wheel-dir", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", str(ROOT), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("support_agent-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_wheel_carries_what_stands_beside_the_code(unpacked: Path) -> None:
    """Weights, tables, pages and mails are in the package, the same files with the same bytes."""
    carried = files(unpacked / "support_agent")
    beside = {name: data for name, data in files(ROOT / "support_agent").items() if not name.endswith(".py")}
    assert {name: carried.get(name) for name in beside} == beside


@pytest.mark.parametrize("name", ["templates", "policies", "migrations"])
def test_the_wheel_carries_the_files_of_the_checkout(unpacked: Path, name: str) -> None:
    """Templates, policies and migrations are inside the package, the same files with the same bytes."""
    carried = files(unpacked / "support_agent" / "_files" / name)
    assert carried
    assert carried == files(ROOT / name)


def test_the_wheel_carries_nothing_of_the_tests(unpacked: Path) -> None:
    """What is installed is the program alone."""
    assert {path.name.partition("-")[0] for path in unpacked.iterdir()} == {"support_agent"}


def test_the_unpacked_wheel_makes_and_checks_a_workspace_outside_the_checkout(unpacked: Path, tmp_path: Path) -> None:
    """The program runs from the wheel's files alone, even where the checkout is installed beside it."""
    code = SEES_ONLY_THE_WHEEL.format(root=str(ROOT), wheel=str(unpacked))
    variables = environment() | {"PYTHONPATH": str(unpacked)}
    assert not tmp_path.is_relative_to(ROOT)
    for arguments in (["init", "workspace"], ["check", "--config", "workspace/support-agent.toml"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]
