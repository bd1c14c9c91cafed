"""The house stays as small at its top as it was promised, and is counted rightly."""

from __future__ import annotations

import pytest

from tests.benchmarks.house import PACKAGE, code_lines, layers, main, observed

SAMPLE = '''"""What a module is for.

Two lines more.
"""

# A comment.
TEXT = """a value,
no docstring"""


def one() -> int:
    """What it does."""
    return 1  # and why
'''


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert code_lines(SAMPLE) == 4


def test_at_the_top_lies_only_what_everybody_starts_from() -> None:
    assert len([path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]) <= 8
    assert 1 < len(layers()) <= 14


def test_the_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    printed = capsys.readouterr().out
    assert "errors.py, pipeline.py" in printed
    assert all(room in printed for room in ("workflow", "lines with code", "bytes of README.md"))


def test_what_an_answer_crosses_knows_no_model_no_planner_and_no_fact_room() -> None:
    """Not only do these modules not import them: none of theirs does anything while an answer is made and sent."""
    rooms = {module.split(".")[1] for module in observed().modules}
    assert {"answer", "mail", "outbound", "store", "workflow"} <= rooms
    assert not rooms & {"facts", "models", "tools"}


def test_few_types_carry_an_answer_from_the_decision_to_smtp() -> None:
    """What decided it comes in, the mail as it is sent goes out."""
    assert {"Decision", "FinalAnswer", "OutgoingMail"} <= observed().types
