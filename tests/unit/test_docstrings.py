"""A docstring that names the test which checks it names one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "support_agent", ROOT / "tests" / "benchmarks" / "papers")
MODULES = sorted(path for place in PLACES for path in place.rglob("*.py"))
NAMED = re.compile(r"\btests/[\w/]+(?:\.py)?")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_tests_that_a_module_names_exist(module: Path) -> None:
    named = NAMED.findall(module.read_text(encoding="utf-8"))
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


def test_most_modules_name_a_test() -> None:
    """The test above would prove nothing if none did."""
    assert sum(bool(NAMED.search(module.read_text(encoding="utf-8"))) for module in MODULES) > len(MODULES) / 2
