"""Templates as one frozen set: reading, hashing, falling back, words."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.answer.templates import Templates, TemplatesUnusable


def make(**files: str) -> Templates:
    return Templates.from_files({name.replace("__", "/") + ".txt.j2": text for name, text in files.items()})


def test_what_is_stored_makes_the_same_templates(templates: Templates) -> None:
    """Replay builds them from the store: same files, same version."""
    again = Templates.from_files(templates.as_files())
    assert again == templates
    assert again.version == templates.version
    assert hash(again) == hash(templates)
    assert make(en__a="x") != make(en__a="y")


def test_the_version_changes_with_any_byte_and_any_name() -> None:
    """A version stands for exactly one set of files."""
    versions = {
        make(en__a="x").version,
        make(en__a="y").version,
        make(en__b="x").version,
        make(en__a="x", en__b="").version,
        make(en__a="", en__b="x").version,
    }
    assert len(versions) == 5


def test_line_ends_do_not_change_the_version() -> None:
    """A checkout on Windows replays what Linux sent."""
    assert make(en__a="x\r\ny").version == make(en__a="x\ny\n").version


def test_a_language_falls_back_to_english_file_by_file() -> None:
    """A half-translated set still answers."""
    templates = make(en__a="a", en__b="b", de__a="A")
    assert templates.resolve("a.txt.j2", "de-AT") == "de/a.txt.j2"
    assert templates.resolve("b.txt.j2", "de-AT") == "en/b.txt.j2"
    assert templates.resolve("c.txt.j2", "de-AT") is None


def test_a_country_may_have_templates_of_its_own() -> None:
    """What Austria says differently stands in de-AT, in whatever case the tag is written; the rest is German."""
    templates = Templates.from_files(
        {"en/a.txt.j2": "a", "de/a.txt.j2": "A", "de-AT/a.txt.j2": "Ä", "de/b.txt.j2": "B", "pt-BR/a.txt.j2": "P"}
    )
    assert templates.resolve("a.txt.j2", "de-at") == "de-AT/a.txt.j2"
    assert templates.resolve("b.txt.j2", "de-AT") == "de/b.txt.j2"
    assert templates.resolve("a.txt.j2", "de-DE") == "de/a.txt.j2"
    assert [tag for tag in ("pt-BR", "pt", "en-GB", "fr", "") if templates.has_language(tag)] == ["pt-BR", "en-GB"]


def test_dates_follow_the_language_of_the_words() -> None:
    """A Spanish customer without Spanish templates gets English words and English dates, not a mixture."""
    templates = make(en__a="a", de__a="A")
    assert (templates.locale_for("es-ES"), templates.locale_for("de-AT")) == ("en", "de-AT")


def test_words_know_their_line(templates: Templates) -> None:
    """`why` shows where a word stands."""
    word = templates.word("aggregation", "total", "de-DE")
    assert word is not None
    assert word.text == "Summe"
    assert templates.source(word.name).split("\n")[word.line - 1].strip() == "total: Summe"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"de/a.txt.j2": "x"}, "no template in en/"),
        ({"en/a.txt.j2": "ok\n\ue000t0\ue001x\ue002"}, "en/a.txt.j2:2: U+E000 cannot be seen"),
        ({"en/a.txt.j2": "a\u202eb"}, "U+202E cannot be seen"),
        ({"en/a.txt.j2": "a\x00b"}, "U+0000"),
    ],
)
def test_unusable_files_are_refused_with_their_place(files: dict[str, str], message: str) -> None:
    """A template that holds the marks of spans could forge a source."""
    with pytest.raises(TemplatesUnusable, match=message.replace("+", r"\+")):
        Templates.from_files(files)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a: [b", "not YAML"),
        ("- a", "not a table"),
        ("period: x", "not a table"),
        ("period:\n  year:\n", "year' has no word"),
    ],
)
def test_a_table_of_words_that_is_none_is_refused(words: str, message: str) -> None:
    """Words are sections of codes, each with one phrase."""
    templates = Templates.from_files({"en/words.yaml": words})
    with pytest.raises(TemplatesUnusable, match=message):
        templates.word("period", "year", "en")


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With what to do about it."""
    with pytest.raises(TemplatesUnusable, match=r"set company\.templates or run `init`"):
        Templates.load(tmp_path / "none")


def test_a_file_that_is_not_utf_8_is_said(tmp_path: Path) -> None:
    """With its name."""
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "answer.txt.j2").write_bytes(b"\xff")
    with pytest.raises(TemplatesUnusable, match=r"en/answer\.txt\.j2: not UTF-8"):
        Templates.load(tmp_path)
