"""Canned questions: numbered, by locale."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.company.questions import check_questions, load_questions
from support_agent.core.locales import localised
from support_agent.errors import ConfigError

GOOD = """
[[question]]
number = 2
about = "The system is unclear."
[question.text]
en = "Which system do you use?"
de = "Welches System nutzen Sie?"

[[question]]
number = 1
about = "The account is unclear."
text = { en = "Which account?" }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "questions.toml"
    path.write_text(text, "utf-8")
    return path


def test_questions_are_loaded_by_number(tmp_path: Path) -> None:
    """Order is that of the numbers; the words are exactly the file's."""
    first, second = load_questions(write(tmp_path, GOOD))
    assert (first.number, second.number) == (1, 2)
    assert second.text_for("de-AT") == "Welches System nutzen Sie?"


def test_a_missing_locale_falls_back_to_english() -> None:
    """Tag, then language, then English."""
    texts = {"en": "Plan", "de": "Tarif", "de-AT": "Paket"}
    assert localised(texts, "de-AT") == "Paket"
    assert localised(texts, "de_AT") == "Paket"
    assert localised(texts, "de-DE") == "Tarif"
    assert localised(texts, "es-ES") == "Plan"
    assert localised(texts, "") == "Plan"


def test_no_file_means_no_questions(tmp_path: Path) -> None:
    """Asking back is optional."""
    assert load_questions(tmp_path / "questions.toml") == ()
    assert check_questions(tmp_path / "questions.toml") == []


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("number = 1", "number = 2", 10, "is used twice"),
        ("number = 1\n", "", 9, "number is missing"),
        ("number = 1", "numbr = 1\nnumber = 1", 10, "unknown key numbr: delete it, did you mean number?"),
        ('text = { en = "Which account?" }', 'text = { de = "Welches?" }', 12, "no English text"),
        ('en = "Which system', 'en = "\\u202eWhich system', 5, "U+202E"),
        ('en = "Which system', 'en = "Which\\nsystem', 5, "U+000A"),
        ("number = 1", "number = 0", 10, "number cannot be used"),
        ("[[question]]\nnumber = 2", "[other]\nx = 1\n[[question]]\nnumber = 2", 2, "unknown key other"),
        ("number = 1", "number = ", None, "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, line: int | None, what: str) -> None:
    """Each finding names file, line and what to do; loading refuses the same."""
    path = write(tmp_path, GOOD.replace(old, new, 1))
    (finding,) = check_questions(path)
    assert (finding.path, finding.line) == (path, line)
    assert what in str(finding)
    with pytest.raises(ConfigError, match=r"questions\.toml"):
        load_questions(path)
