"""Fixtures of the acceptance tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.settings import ModelSettings, Settings
from support_agent.models.embedders import needed_models
from support_agent.models.pinned import LANGUAGE_MODEL
from support_agent.models.pulling import cache_dir, locate
from tests.acceptance.program import workspace_in
from tests.servers.postgres import skip_or_fail
from tests.servers.program import ForkedProgram


@pytest.fixture
def workspace(program: ForkedProgram, tmp_path: Path) -> Path:
    """A workspace as `init` writes it."""
    return workspace_in(tmp_path, program.run)


@pytest.fixture(scope="session")
def models() -> None:
    """All models are in the user's cache; without them the test is skipped, and fails where `CI` is set."""
    for model in (LANGUAGE_MODEL, *needed_models(Settings())):
        if locate(model, cache_dir(ModelSettings())) is None:
            skip_or_fail("the models are not in the cache: run 'support-agent model pull'")
