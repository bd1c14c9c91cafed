"""The sets of questions: WikiQA as published, the made facts, and anybody's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.web_questions import SetName, load_set
from tests.unit.benchmarks.papers.test_wikiqa import HEAD, ROWS

PHRASES = (
    "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tP1\tP2\tP3",
    "Q1\thow deep is lake x\tD1\tLake X\tD1-1\tIt is 40 metres deep.\t40 metres\t40 metres deep\tNO_ANS",
    "Q1\thow deep is lake x\tD1\tLake X\tD1-3\tIts depth is said to be 41 metres.\t41 metres\t\t",
    "Q3\twho wrote the song\tD3\tSong\tD3-0\tAnn Smith wrote the song.\tNO_ANS\t\t",
)


def wikiqa(folder: Path, *phrases: str) -> Path:
    """The folder of the download."""
    (folder / "WikiQA-test.tsv").write_text("\n".join([HEAD, *ROWS]) + "\n", "utf-8")
    if phrases:
        (folder / "WikiQASent.pos.ans.tsv").write_text("\n".join(phrases) + "\n", "utf-8")
    return folder


def test_recent_facts_are_each_answered_by_their_own_page_alone() -> None:
    """Rule: 40 or more; no question gives its answer away, and no other page holds it."""
    asked = load_set(SetName.RECENT, None)
    assert len(asked.questions) == len(asked.articles) >= 40
    assert len({one.question for one in asked.questions}) == len(asked.questions)
    for number, one in enumerate(asked.questions):
        assert not is_contained(one.answer, one.question)
        assert [n for n, page in enumerate(asked.articles) if is_contained(one.answer, page.text)] == [number]
        assert not is_contained(one.answer, asked.articles[number].title)


def test_wikiqas_pages_are_those_of_all_its_questions(tmp_path: Path) -> None:
    """Rule: asked is what has a right sentence; the page of the question without one distracts."""
    asked = load_set(SetName.WIKIQA, wikiqa(tmp_path))
    assert [(one.question, one.answer) for one in asked.questions] == [
        ('how deep is lake "x"', ("It is 40 metres deep.", "Its depth is said to be 41 metres.")),
        ("who wrote the song", ("Ann Smith wrote the song.",)),
    ]
    assert [page.title for page in asked.articles] == ["Lake X", "Mill", "Song"]
    assert asked.articles[2].text == "Ann Smith wrote the song. It was popular."


def test_marked_phrases_are_the_answers_where_they_lie_beside(tmp_path: Path) -> None:
    """Rule: a question whose annotators marked nothing keeps its whole sentences."""
    asked = load_set(SetName.WIKIQA, wikiqa(tmp_path, *PHRASES))
    assert [one.answer for one in asked.questions] == [
        ("40 metres", "40 metres deep", "41 metres"),
        ("Ann Smith wrote the song.",),
    ]
    with pytest.raises(ConfigError, match=r"pos\.ans\.tsv:2: no 3 phrases"):
        load_set(SetName.WIKIQA, wikiqa(tmp_path, PHRASES[0], "Q1\tcut"))


def test_own_questions_have_an_answer_or_several_and_no_pages(tmp_path: Path) -> None:
    """Rule: one JSON object a line."""
    path = tmp_path / "search.jsonl"
    path.write_text('{"question": "a", "answer": "b"}\n{"question": "c", "answer": ["d", "e"]}\n', "utf-8")
    asked = load_set(SetName.OWN, tmp_path)
    assert ([one.answer for one in asked.questions], asked.articles) == ([("b",), ("d", "e")], ())
    path.write_text('{"question": "a", "answer": []}\n', "utf-8")
    with pytest.raises(ConfigError, match=r"search\.jsonl:1: answer: Tuple should have at least 1 item"):
        load_set(SetName.OWN, tmp_path)


def test_a_sample_is_drawn_by_its_seed_and_keeps_all_pages() -> None:
    whole = load_set(SetName.RECENT, None)
    sample = whole.sampled(5, 1)
    assert (len(sample.questions), sample.articles) == (5, whole.articles)
    assert sample == whole.sampled(5, 1) != whole.sampled(5, 2)
    assert whole.sampled(0, 1) == whole.sampled(1000, 1) == whole
