"""What a language lacks beside its templates."""

from __future__ import annotations

from pathlib import Path

from support_agent.company.translations import untranslated
from support_agent.core.findings import Severity

QUESTIONS = """
[[question]]
number = 2
about = "x"
text = { en = "Which period?" }

[[question]]
number = 1
about = "x"
text = { en = "Which system?", de = "Welches System?" }
"""


def lacking(path: Path, *languages: str) -> set[str]:
    """What lacks any of the languages, with no canned questions."""
    findings = untranslated(path, path.with_name("no.toml"), languages)
    return {finding.what.partition(" has no")[0] for finding in findings}


def test_every_text_without_a_language_is_named_with_its_line(shop: Path) -> None:
    """A label, a unit, a noun, a value, a canned question: warnings, as the English text stands in."""
    questions = shop / "questions.toml"
    questions.write_text(QUESTIONS, "utf-8")
    path = shop / "accounts.toml"
    text = path.read_text("utf-8").replace('label = { en = "Seats", de = "Plätze" }', 'label = { en = "Seats" }')
    path.write_text(text, "utf-8")
    findings = list(untranslated(path, questions, {"en", "en-GB", "de"}))
    assert {finding.severity for finding in findings} == {Severity.WARNING}
    assert [finding.what.partition(" has no")[0] for finding in findings] == [
        "[fields.seats] label",
        "[fields.balance] label",
        "[fields.since] label",
        "[fields.storage] label",
        "[fields.plan] label",
        "question 2",
    ]
    lines = path.read_text("utf-8").splitlines()
    assert all("label" in lines[(finding.line or 0) - 1] for finding in findings[:5])
    assert findings[-1].line == 5


def test_a_third_language_lacks_all_that_is_not_the_same_everywhere(shop: Path) -> None:
    """ "GB" needs no translation, "seats" and a text's own words do; a country's words count for its language."""
    path = shop / "accounts.toml"
    spanish = lacking(path, "es")
    assert {"[fields.seats] unit", "[series.payments] row_noun", "[fields.plan] values.Team"} <= spanish
    assert "[fields.storage] unit" not in spanish
    assert "[fields.seats] unit" not in lacking(path, "de-AT")


def test_files_that_cannot_be_read_are_told_elsewhere(tmp_path: Path) -> None:
    """`check_company` names them; nothing is said twice."""
    assert list(untranslated(tmp_path / "accounts.toml", tmp_path / "questions.toml", {"de"})) == []
