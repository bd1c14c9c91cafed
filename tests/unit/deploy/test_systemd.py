"""The units: without a mistake, and hardened: systemd's own measure of exposure is at most 2.0."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.postgres import skip_or_fail
from tests.unit.deploy.files import DEPLOY, assert_settings

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MOST_EXPOSURE = 2.0
PROGRAMS = "/opt/support-agent/bin/"


def analyze(*arguments: str | Path) -> str:
    """What systemd-analyze prints."""
    if shutil.which("systemd-analyze") is None:
        skip_or_fail("systemd-analyze is not installed: deploy/ has the script that installs it")
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_no_mistake(unit: Path, tmp_path: Path) -> None:
    """With programs in the place of those that the unit names, which are not on this machine."""
    for name in ("support-agent", "chroma"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    copied = tmp_path / unit.name.replace("@", "@1")
    copied.write_text(unit.read_text("utf-8").replace(PROGRAMS, f"{tmp_path}/"))
    assert analyze("verify", "--man=no", copied) == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_exposure_is_low(unit: Path) -> None:
    said = analyze("security", "--offline=true", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert found is not None, said
    assert float(found[1]) <= MOST_EXPOSURE


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_runs_what_is_installed_as_its_own_user(unit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its environment holds settings."""
    service = lines_of(unit)["Service"]
    assert service["User"] == service["Group"] == ["support-agent"]
    assert service["ExecStart"][0].startswith(PROGRAMS)
    assert service["WorkingDirectory"] == ["/var/lib/support-agent"]
    words = [word for line in service.get("Environment", ()) for word in shlex.split(line)]
    assert_settings(dict(word.split("=", 1) for word in words), monkeypatch)
    assert "u support-agent " in (DEPLOY / "systemd" / "support-agent.sysusers").read_text("utf-8")


def test_a_worker_has_more_time_to_stop_than_it_takes() -> None:
    """Else systemd kills it while it finishes its mails, which costs one of their interruptions."""
    from support_agent.config.settings import EngineSettings

    (seconds,) = lines_of(DEPLOY / "systemd" / "support-agent@.service")["Service"]["TimeoutStopSec"]
    assert float(seconds) > EngineSettings().stop_timeout_s


@pytest.mark.parametrize("name", ["support-agent@", "support-agent-desk"])
def test_what_failed_and_may_pass_is_started_again_however_long_that_takes(name: str) -> None:
    """Failure: after ten starts, which take two minutes, systemd gave up for good, though a clock or a database was
    only late.
    """
    unit = lines_of(DEPLOY / "systemd" / f"{name}.service")
    assert unit["Unit"]["StartLimitIntervalSec"] == ["0"]
    assert unit["Service"]["Restart"] == ["on-failure"]
    assert unit["Service"]["RestartPreventExitStatus"] == ["2"]


def lines_of(unit: Path) -> dict[str, dict[str, list[str]]]:
    """The sections of a unit, their keys, and the values of each: a key may be there more than once."""
    found: dict[str, dict[str, list[str]]] = {}
    section = ""
    for line in unit.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(section, {}).setdefault(key, []).append(value)
    return found
