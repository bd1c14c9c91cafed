"""A test whose server or model is missing is skipped on a laptop and fails in CI, so that none is lost unseen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.outcomes import Failed, Skipped

from tests.servers.postgres import skip_or_fail

TESTS = Path(__file__).parents[1]
THE_PLACE = TESTS / "servers" / "postgres.py"
SKIPS = re.compile(r"pytest\.skip\(|mark\.skip|skipif|importorskip|xfail|SkipTest|collect_ignore")


def test_missing_server_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match="Dovecot is not installed"):
        skip_or_fail("Dovecot is not installed")


@pytest.mark.parametrize("value", [None, ""])
def test_missing_server_is_a_skip_elsewhere(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("CI", raising=False)
    if value is not None:
        monkeypatch.setenv("CI", value)
    with pytest.raises(Skipped, match="Dovecot is not installed"):
        skip_or_fail("Dovecot is not installed")


def test_nothing_else_skips_a_test() -> None:
    """Rule: `skip_or_fail` is the one way, whatever the reason."""
    found = {path for path in TESTS.rglob("*.py") if SKIPS.search(path.read_text("utf-8"))}
    assert found - {Path(__file__)} == {THE_PLACE}
    assert len(SKIPS.findall(THE_PLACE.read_text("utf-8"))) == 1


def test_ci_says_that_it_is_ci() -> None:
    """Without the variable the pipeline would skip as a laptop does."""
    lines = (TESTS.parent / ".ci" / "run").read_text("utf-8").splitlines()
    assert "export CI=true" in lines
    assert lines.index("export CI=true") < lines.index("make test")
