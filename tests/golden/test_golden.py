"""Every approved answer is what is rendered now, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.answer.final_answer import FieldItem
from support_agent.answer.item_kinds import KINDS
from support_agent.company.company import Company
from support_agent.company.values import ValueType
from tests.fakes_journey import make_company
from tests.golden.__main__ import approve
from tests.golden.answers import APPROVED, CALLS, LOCALES, final_answer, rendered

NAMES = sorted(path.name for path in APPROVED.iterdir())


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return dict(rendered(tmp_path_factory.mktemp("golden")))


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_sent_as_it_was_approved(name: str, parts: dict[str, bytes]) -> None:
    """A change of any byte is seen by a person: `python -m tests.golden`, then the diff."""
    assert parts[name].decode() == (APPROVED / name).read_text("utf-8")
    assert parts[name] == (APPROVED / name).read_bytes()


def test_every_answer_is_approved(parts: dict[str, bytes]) -> None:
    """None is left out, and none is there that is not made any more."""
    assert sorted(parts) == NAMES
    assert len(NAMES) == (len(CALLS) + 1) * len(LOCALES) * 3 + len(CALLS)


def test_every_kind_of_item_and_of_value_is_among_them(tmp_path: Path) -> None:
    """A new kind needs an approved answer too."""
    company = Company.load(make_company(tmp_path))
    try:
        answers = [block for name in CALLS for block in final_answer(name, company, "en").answers]
    finally:
        company.accounts.close()
    items = [item for block in answers for item in block.items]
    assert {item.kind for item in items} == set(KINDS)
    values = [item.value for item in items if isinstance(item, FieldItem)]
    assert {value.type if value else None for value in values} == {*map(str, ValueType), None}


def test_approving_tells_what_changed(tmp_path: Path, parts: dict[str, bytes]) -> None:
    """Files that are alike are not named; a file of an answer that is no more goes."""
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "values.en-GB.text").write_text("Hello", "utf-8")
    (tmp_path / "gone.en-GB.text").write_text("Hello", "utf-8")
    assert approve(tmp_path) == ["gone.en-GB.text", "values.en-GB.text"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == parts
