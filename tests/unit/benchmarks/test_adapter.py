"""What the adapter is learnt from: made-up companies that are measured nowhere, and what counts as right."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks.adapter import REPORTED, step_of
from tests.benchmarks.companies import COMPANIES, FITTED
from tests.benchmarks.trades import NOTHING, Trade, read_trade, trades

TEXT = """# Quillmoor | boats | en
## 1 Hiring | Boats by the day. Not by the week.
### 1.1 Prices
40 euros a day.
### 1.2 Deposit
200 euros, back the same evening.
## F1 Deposit held | What we hold now.
? en 1.2 what about the guarantee
? de 1.1 Was kostet ein Tag?
? pl F1 ile teraz macie mojej kaucji
? it - posso comprare una barca
~ fr 1.1 et pour un kayak, ça fait combien
"""


@pytest.fixture
def trade(tmp_path: Path) -> Trade:
    path = tmp_path / "boats.txt"
    path.write_text(TEXT, encoding="utf-8")
    return read_trade(path)


def test_a_page_is_read_as_the_search_reads_it(trade: Trade) -> None:
    assert [(page.number, page.text) for page in trade.pages] == [
        ("1", "Hiring. Boats by the day. Not by the week."),
        ("1.1", "Hiring: Prices. 40 euros a day."),
        ("1.2", "Hiring: Deposit. 200 euros, back the same evening."),
        ("F1", "Deposit held. What we hold now."),
    ]
    assert trade.questions[0] == ("en", "1.2", "what about the guarantee", "")


def test_nothing_answers_a_question_that_a_page_is_beside(trade: Trade) -> None:
    assert trade.questions[-1] == ("fr", NOTHING, "et pour un kayak, ça fait combien", "1.1")


@pytest.mark.parametrize(("line", "wrong"), [("? en 1.2", "? en 1.3"), ("~ fr 1.1", "~ fr 1.3")])
def test_a_question_to_a_page_that_is_not_there_is_an_error(tmp_path: Path, line: str, wrong: str) -> None:
    path = tmp_path / "boats.txt"
    path.write_text(TEXT.replace(line, wrong), encoding="utf-8")
    with pytest.raises(ValueError, match=r"boats\.txt: .* 1\.3"):
        read_trade(path)


def test_the_section_and_its_document_answer_a_question_and_other_sections_of_it_are_ignored(trade: Trade) -> None:
    """Rule: the constant answers what nothing else does; a question is no example of itself."""
    chance = random.Random(0)
    step = next(step for step in (step_of(trade, chance) for _ in range(100)) if step.examples == (0, 2))
    guarantee, price, held, nothing, beside = range(5)
    assert step.right == ((0, 2), (0, 1), (3,), (6,), (6,))
    assert set(step.ignored[guarantee]) == {1, 4}
    assert set(step.ignored[price]) == {2, 4}
    assert step.ignored[held] == (5,)
    assert step.ignored[nothing] == step.ignored[beside] == ()
    assert step.sections == ((0, 2), (1, 1), (2, 3))


def test_no_company_that_is_measured_is_learnt_from() -> None:
    names = {trade.name for trade in trades()}
    assert not names & {*FITTED, *REPORTED}
    assert not names & {path.name for path in COMPANIES.iterdir()}


def test_a_company_has_a_hundred_questions_in_eight_languages_or_more() -> None:
    for trade in trades():
        languages = Counter(question.language for question in trade.questions)
        assert len(trade.questions) >= 100, trade.name
        assert set(languages) == {"en", "de", "es", "fr", "it", "nl", "pt", "pl"}, trade.name
        assert sum(question.page == NOTHING for question in trade.questions) >= 12, trade.name
        assert len({question.text for question in trade.questions}) == len(trade.questions), trade.name


def test_each_company_has_as_many_questions_that_a_page_is_beside_as_plain_ones_like_them() -> None:
    for trade in trades():
        beside = Counter(question.beside for question in trade.questions if question.beside)
        assert beside.total() == 8, trade.name
        answered = {question.page for question in trade.questions}
        assert set(beside) <= answered, trade.name
