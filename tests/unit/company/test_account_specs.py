"""What `accounts.toml` may declare: words in the plural forms of their language, words for values, levels."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.company.account_specs import AccountSpecs, read_specs
from support_agent.company.values import Noun
from support_agent.config.toml_file import read_toml

SEAT = "en = { one = 'seat', other = 'seats' }"


def declared(tmp_path: Path, *lines: str, kind: str = "count") -> tuple[AccountSpecs | None, list[str]]:
    """The specs of a file with one field that has these lines, and what is wrong with them."""
    path = tmp_path / "accounts.toml"
    head = ["[database]", "url = 'sqlite:///x'", "[customer]", "query = 'SELECT 1 WHERE :address'", "[fields.seats]"]
    own = ["label = { en = 'Seats' }", "summary = 'x'", f"type = '{kind}'", "query = 'SELECT 1 WHERE :customer_id'"]
    path.write_text("\n".join([*head, *own, *lines]), "utf-8")
    specs, findings = read_specs(read_toml(path))
    return specs, [f"{finding.line}: {finding.what}: {finding.todo}" for finding in findings]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("'GB'", ("GB", "GB")),
        ("{ en = 'GB', de = 'Gigabyte' }", ("GB", "Gigabyte")),
        (f"{{ {SEAT} }}", (Noun(one="seat", other="seats"), Noun(one="seat", other="seats"))),
        (f"{{ {SEAT}, de = 'Stück' }}", (Noun(one="seat", other="seats"), "Stück")),
        (f"{{ {SEAT}, ja = {{ other = '席' }} }}", (Noun(one="seat", other="seats"), Noun(one="seat", other="seats"))),
    ],
)
def test_a_unit_is_one_word_or_a_noun_for_each_locale(tmp_path: Path, words: str, expected: tuple[object, ...]) -> None:
    """The simplest form that is true is enough: "GB" reads the same beside every number and in every language."""
    specs, findings = declared(tmp_path, f"unit = {words}")
    assert findings == []
    assert specs is not None
    assert (specs.fields["seats"].unit_for("en-GB"), specs.fields["seats"].unit_for("de-AT")) == expected


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        (["unit = { en = { other = 'seats' } }"], "10: [fields.seats] unit: en lacks the plural form one: add it"),
        (["unit = { en = { one = 'seat', few = 'x', other = 'seats' } }"], "unit: en has no plural form few: write"),
        ([f"unit = {{ {SEAT}, pl = {{ one = 'a', other = 'b' }} }}"], "unit: pl lacks the plural form few, many"),
        (["unit = { en = { one = 'seat' } }"], '10: [fields.seats] unit cannot be used: write { en = { one = "seat"'),
        (["unit = { one = 'seat', other = 'seats' }"], "unit: 'one' is no locale: write a language such as de"),
        (["unit = { de = 'Plätze' }"], "10: [fields.seats] unit: no English text"),
        (['unit = { en = "G\\u202eB" }'], "10: [fields.seats] unit: forbidden character U+202E: delete it"),
        (["level = 2"], "10: [fields.seats] level: a customer is known only at level 3: write level = 3, or leave"),
        (["values.on = { en = 'on' }"], "10: [fields.seats] values: only a text has words for its values: delete it"),
        (["values.on = { english = 'on' }"], "values: 'english' is no locale"),
        (["values.on = 'an'"], "10: [fields.seats] values cannot be used: write the words of each value"),
    ],
)
def test_words_that_would_read_wrong_are_refused(tmp_path: Path, lines: list[str], finding: str) -> None:
    """A plural form that is missing, one that the language has not, a locale that is none, a level without effect."""
    specs, findings = declared(tmp_path, *lines)
    assert specs is None
    assert len([text for text in findings if finding in text]) == 1, findings


def test_a_text_has_the_words_of_the_readers_language(tmp_path: Path) -> None:
    """The tag, its language, English, and at last the value itself: one that has no words is shown as it is."""
    lines = ("values.on = { en = 'switched on', de = 'an' }", "values.off = { de = 'aus' }")
    specs, findings = declared(tmp_path, *lines, kind="text")
    assert findings == []
    assert specs is not None
    words = specs.fields["seats"].word_for
    assert [words("on", locale) for locale in ("de-AT", "en", "fr")] == ["an", "switched on", "switched on"]
    assert [words("off", locale) for locale in ("de", "en")] == ["aus", "off"]
    assert words("paused", "de") == "paused"
