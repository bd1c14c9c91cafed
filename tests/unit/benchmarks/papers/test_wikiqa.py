"""The ranking of sentences: measures against values worked out by hand, on a file of WikiQA's form."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from support_agent.config.facts import Ways
from support_agent.errors import ConfigError
from support_agent.facts.material import Passage
from tests.benchmarks.papers.wikiqa import average_precision, evaluate, load_questions, right_ranks, table
from tests.unit.benchmarks.papers.indexes import open_index

HEAD = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
ROWS = (
    'Q1\thow deep is lake "x"\tD1\tLake X\tD1-0\tLake X lies in the north.\t0',
    "Q1\thow deep is lake x\tD1\tLake X\tD1-1\tIt is 40 metres deep.\t1",
    'Q1\thow deep is lake x\tD1\tLake X\tD1-2\t"Deep is the lake, sang the poet.\t0',
    "Q1\thow deep is lake x\tD1\tLake X\tD1-3\tIts depth is said to be 41 metres.\t1",
    "Q2\twho built the mill\tD2\tMill\tD2-0\tThe mill burned down.\t0",
    "Q3\twho wrote the song\tD3\tSong\tD3-0\tAnn Smith wrote the song.\t1",
    "Q3\twho wrote the song\tD3\tSong\tD3-1\tIt was popular.\t0",
)


def write(path: Path, *rows: str, head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", "utf-8")
    return path


class Told:
    """A search that says what it is told, and keeps what may be found."""

    def __init__(self, *found: str) -> None:
        self.found = found
        self.allowed: list[AbstractSet[str]] = []

    def find(self, question: str, n: int, allowed: AbstractSet[str] | None = None) -> Sequence[Passage]:
        assert allowed is not None
        self.allowed.append(allowed)
        found = [key for key in self.found if key in allowed]
        return [Passage(source=key, first=0, last=0, heading="", text="", score=1.0) for key in found][:n]


def test_average_precision_by_hand() -> None:
    """Rule: the mean of the precision down to each right one."""
    assert average_precision([1]) == 1.0
    assert average_precision([3]) == pytest.approx(1 / 3)
    assert average_precision([1, 3]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([2, 4]) == pytest.approx(0.5)
    assert right_ranks(["a", "b", "c", "d"], {"b", "d"}) == [2, 4]


def test_a_file_is_read_as_it_was_published(tmp_path: Path) -> None:
    """Rule: quotation marks are letters; questions and sentences are in the order of the file."""
    questions = load_questions(write(tmp_path / "WikiQA-test.tsv", *ROWS).parent)
    assert [question.key for question in questions] == ["Q1", "Q2", "Q3"]
    assert questions[0].text == 'how deep is lake "x"'
    assert questions[0].candidates[2].text == '"Deep is the lake, sang the poet.'
    assert [candidate.is_right for candidate in questions[0].candidates] == [False, True, False, True]


def test_measures_by_hand(tmp_path: Path) -> None:
    """Rule: only questions with a right sentence count; what is not found comes last, in the order of the page.

    Q1: found D1-2 and D1-1, then D1-0 and D1-3: ranks 2 and 4. Q3: found D3-0: rank 1. Q2 does not count.
    """
    told = Told("Q1/D1-2", "Q1/D1-1", "Q3/D3-0", "Q2/D2-0")
    report = evaluate(load_questions(write(tmp_path / "x.tsv", *ROWS)), lambda _way, _sources: told, ways=(Ways.BOTH,))
    assert (report.questions, report.counted, report.sentences) == (3, 2, 6)
    (row,) = report.rows
    assert (row.map, row.mrr, row.right) == pytest.approx((0.75, 0.75, 0.5))
    assert told.allowed[1] == {"Q3/D3-0", "Q3/D3-1"}


def test_the_rooms_own_parts_are_what_is_measured(tmp_path: Path) -> None:
    """Rule: each way in its row; a sentence with the words of the question is first by all of them here."""
    questions = load_questions(write(tmp_path / "x.tsv", *ROWS[-2:]))
    report = evaluate(questions, open_index)
    assert [(row.way, row.mrr) for row in report.rows] == [(Ways.VECTORS, 1), (Ways.WORDS, 1), (Ways.BOTH, 1)]
    lines = table(report).splitlines()
    assert lines[0] == "WikiQA: 1 of 1 questions have a right sentence, 2 sentences"
    assert lines[3].split() == ["Vectors", "1.0000", "1.0000", "100.0%"]


@pytest.mark.parametrize(
    ("rows", "head", "told"),
    [
        (ROWS, HEAD.replace("\tLabel", ""), "no column Label: this is no WikiQA file"),
        (ROWS, HEAD.replace("\t", ","), "no column QuestionID, Question"),
        ((*ROWS, "Q4\twhat"), HEAD, r"x\.tsv:9: DocumentTitle: Input should be a valid string: correct that line"),
        ((*ROWS, ROWS[0][:-1] + "yes"), HEAD, r"x\.tsv:9: Label: Input should be '0' or '1'"),
        ((*ROWS, ROWS[0] + "\t1"), HEAD, r"x\.tsv:9: more than 7 columns"),
        ((*ROWS, ROWS[0]), HEAD, "stands twice"),
        ((ROWS[0],), HEAD, "no sentence has the label 1"),
        ((), HEAD, "no sentence has the label 1"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, rows: Sequence[str], head: str, told: str) -> None:
    """Rule: one line that says what is wrong, where, and what to do."""
    with pytest.raises(ConfigError, match=told):
        load_questions(write(tmp_path / "x.tsv", *rows, head=head))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Rule: what to give with --data."""
    with pytest.raises(ConfigError, match=r"WikiQA-test\.tsv: no such file: .* --data"):
        load_questions(tmp_path)
