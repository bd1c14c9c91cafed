"""The image and the compose file: what they promise, and what their linters say. No container engine is needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from tests.unit.deploy.files import DEPLOY, ROOT, USER, assert_pinned, assert_settings, documents

CONTAINERFILE = DEPLOY / "Containerfile"
TEXT = re.sub(r"\\\n", " ", CONTAINERFILE.read_text("utf-8"))
STEPS = [(line.split()[0], line.partition(" ")[2].strip()) for line in TEXT.splitlines() if re.match(r"[A-Z]+ ", line)]
LAST_STAGE = STEPS[max(at for at, (word, _) in enumerate(STEPS) if word == "FROM") :]
COMPOSE = (DEPLOY / "compose.yaml").read_text("utf-8")
SERVICES: dict[str, dict[str, Any]] = documents(DEPLOY / "compose.yaml")[0]["services"]


def steps(word: str, of: list[tuple[str, str]] = LAST_STAGE) -> list[str]:
    """The arguments of each instruction of this name."""
    return [rest for name, rest in of if name == word]


def variables() -> dict[str, str]:
    """What the image sets in the environment."""
    return dict(pair.split("=", 1) for line in steps("ENV") for pair in shlex.split(line))


def test_hadolint_has_no_complaint() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hadolint"), CONTAINERFILE], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""


def test_the_image_runs_as_nobody_in_particular_and_says_whether_it_is_well() -> None:
    """Never as root, by number, so that a cluster can see it without the image's users."""
    assert steps("USER") == [f"{USER}:{USER}"]
    assert steps("VOLUME") == ['["/workspace", "/var/cache/support-agent"]']
    (check,) = steps("HEALTHCHECK")
    assert f"127.0.0.1:{variables()['SUPPORT_AGENT__WATCH__PORT']}/healthz" in check
    assert steps("ENTRYPOINT") == ['["support-agent"]']


def test_the_image_writes_only_where_volumes_are() -> None:
    """With a read-only root, the models' folder and the home of libraries are on a volume or in /tmp."""
    environment = variables()
    assert environment["XDG_CACHE_HOME"] == "/var/cache"
    assert environment["HOME"] == "/tmp"
    assert environment["SUPPORT_AGENT_CONFIG"].startswith("/workspace/")
    assert environment["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_variables_of_the_image_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one would keep every container from starting."""
    assert_settings(variables(), monkeypatch)


def test_the_base_is_pinned_to_a_python_that_the_program_runs_on() -> None:
    (base,) = [rest.partition("=")[2] for word, rest in STEPS if word == "ARG" and rest.startswith("BASE=")]
    assert_pinned(base)
    assert re.search(r"python:3\.1[1-3]-slim-", base)
    assert steps("FROM", STEPS) == ["${BASE} AS build", "${BASE}"]


def test_the_last_stage_has_no_compiler_and_no_source() -> None:
    """What is not there has no holes to close."""
    assert steps("COPY") == ["--from=build /opt/support-agent /opt/support-agent"]
    assert "build-essential" not in " ".join(steps("RUN"))


def test_what_is_copied_is_there_and_not_ignored() -> None:
    """The ignore file lets in only what the build needs; a secret beside it never gets into a layer."""
    copied = {name for line in steps("COPY", STEPS) if not line.startswith("--") for name in line.split()[:-1]}
    lines = (DEPLOY / "Containerfile.dockerignore").read_text("utf-8").splitlines()
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied
    assert all((ROOT / name).exists() for name in copied)


def test_the_compose_file_is_one() -> None:
    """Read by another implementation of the specification, which knows every key, and the volumes and secrets."""
    without_variables = yaml.safe_load(re.sub(r"\$\{WORKSPACE:-([^}]+)\}", r"\1", COMPOSE))
    named = PyCompose.from_yaml(yaml.safe_dump(without_variables))
    named.validate()
    assert set(named.service_names()) == set(SERVICES) == {"models", "worker", "desk", "chroma", "postgres"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_service_is_hardened_limited_and_watched(name: str) -> None:
    """Non-root, read-only root, no capability, no new privileges, a limit of memory, a check."""
    service = SERVICES[name]
    assert service["user"] in ("postgres", f"{USER}:{USER}")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert {"cpus", "memory"} <= set(service["deploy"]["resources"]["limits"])
    assert_pinned(service["image"])
    if name == "models":  # ends by itself
        assert service["command"] == ["model", "pull"]
    elif name != "worker":  # has the image's
        assert service["healthcheck"]["test"]
    assert "ports" not in service or name == "desk"


def test_only_this_machine_reaches_the_page_and_only_the_agent_the_databases() -> None:
    assert SERVICES["desk"]["ports"] == ["127.0.0.1:8035:8035"]
    networks = documents(DEPLOY / "compose.yaml")[0]["networks"]
    assert networks["data"] == {"internal": True}
    assert [name for name, one in sorted(SERVICES.items()) if "outside" not in one["networks"]] == [
        "chroma",
        "postgres",
    ]


@pytest.mark.parametrize("name", ["models", "worker", "desk"])
def test_the_variables_of_the_compose_file_are_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The passwords are files of its secrets."""
    environment, secrets = SERVICES[name]["environment"], SERVICES[name]["secrets"]
    assert_settings(environment, monkeypatch)
    files = {value for key, value in environment.items() if key.endswith("_FILE")}
    assert files == {f"/run/secrets/{secret}" for secret in secrets}
