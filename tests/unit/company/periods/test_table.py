"""The tables of words around periods, and the names that come from CLDR."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support_agent.company.periods import table as period_table
from support_agent.company.periods.spaceless import SPACELESS
from support_agent.company.periods.table import TABLES, Table, as_written, folded, month_names, normalised, table_of

SPACED = sorted(TABLES - SPACELESS)
EVERY_MONTH = set(range(1, 13))


@pytest.mark.parametrize("language", sorted(TABLES))
def test_a_table_has_the_words_that_make_a_period_doubtful(language: str) -> None:
    """Without them "since May" would be read as May."""
    table = table_of(language)
    assert all([table.units, table.other, table.day, table.now])
    assert all([table.this or table.this_behind, table.last or table.last_behind])
    assert all([table.joint, table.ordinal])
    assert table.particle if language in SPACELESS else all([table.outside, table.month, table.year, table.each])
    assert len(table.forms) in (0, 12)


@pytest.mark.parametrize("language", SPACED)
def test_every_month_has_a_name_of_its_own(language: str) -> None:
    assert set(month_names(language).wide.values()) == EVERY_MONTH


def test_names_do_not_depend_on_the_language_that_was_read_before() -> None:
    """Babel 2.18 keeps stand-alone names of one language for the next that has none of its own."""
    for language in (*SPACED, *reversed(SPACED)):
        names = [*month_names(language).wide, *month_names(language).short]
        assert not [name for name in names if re.search(r"[\d月]", name)], language
    assert month_names("sv").wide["januari"] == 1


def test_declined_months_are_known_in_the_case_behind_in() -> None:
    """CLDR has the nominative and the genitive alone."""
    assert month_names("pl").wide["marcu"] == month_names("pl").wide["marca"] == month_names("pl").wide["marzec"] == 3
    assert month_names("cs").wide["červnu"] == 6
    assert month_names("cs").wide["červenci"] == 7
    assert month_names("hr").wide["listopad"] == 10
    assert month_names("pl").wide["listopad"] == 11


def test_texts_are_compared_by_their_letters() -> None:
    assert normalised("L\u2019ANN\u00c9E\n\uff12\uff10\uff12\uff14") == "l' année 2024"
    assert folded("février") == "fevrier"
    assert as_written("aujourd'\\ hui").search("Aujourd\u2019hui ?")


def test_the_page_beside_the_tables_explains_every_key() -> None:
    page = (Path(period_table.__file__).parent / "tables" / "README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in page.splitlines() if "| `" in line)))
    assert explained == set(Table.model_fields)
