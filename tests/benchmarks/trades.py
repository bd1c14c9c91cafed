"""Reads `tests/trades/NAME.txt`: the pages and account values of made-up companies, and questions to them.

They are there for fitting the adapter of E5 (`adapter`) and the vote on kinds of answers (`answer_kinds`) alone, so a
file is short: no database, no mails, nothing of a company that is measured or of its trade. A line is one of

    # Company | what it does | language of its pages
    ## 1 Title of a document | summary
    ### 1.1 Heading of a section, its text on the next line
    ## F1 Label of an account value | summary
    ? en 1.1 question that the section answers
    ? pl F1 question
    ? de - question that nothing of this company answers
    ~ fr 1.1 question that the section is nearest to and does not answer: of another case, place or reason
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TRADES = Path(__file__).parents[1] / "trades"
NOTHING = "-"


class Page(NamedTuple):
    """A text to find: of a section, or of the title and summary of a document or an account value."""

    number: str
    """Of the section, "1.2", or of the topic, "1" or "F1"."""
    text: str

    @property
    def topic(self) -> str:
        return topic_of(self.number)

    @property
    def is_exact(self) -> bool:
        """Whether a question is labelled with its number: a section or an account value."""
        return "." in self.number or is_account(self.number)


class Question(NamedTuple):
    """A question and the number of the page that answers it; `NOTHING` if none does, but one may be `beside` it."""

    language: str
    page: str
    text: str
    beside: str = ""


class Trade(NamedTuple):
    """A made-up company."""

    name: str
    pages: tuple[Page, ...]
    questions: tuple[Question, ...]


def topic_of(number: str) -> str:
    """The topic of a section or a topic."""
    return number.partition(".")[0]


def is_account(page: str) -> bool:
    """Whether the number is that of an account value."""
    return page.startswith("F")


def trades() -> Iterator[Trade]:
    """Every company, by name."""
    for path in sorted(TRADES.glob("*.txt")):
        yield read_trade(path)


def read_trade(path: Path) -> Trade:
    """One company.

    Raises:
        ValueError: a line is of none of these kinds, or a question is labelled with a page that is not there.
    """
    pages, questions = [], []
    title = ""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        mark, _, rest = line.partition(" ")
        match mark:
            case "##":
                number, _, about = rest.partition(" ")
                title, _, summary = about.partition(" | ")
                pages.append(Page(number, f"{title}. {summary}"))
            case "###":
                number, _, heading = rest.partition(" ")
                pages.append(Page(number, f"{title}: {heading}. {next(lines)}"))
            case "?":
                questions.append(Question(*rest.split(" ", 2)))
            case "~":
                language, beside, text = rest.split(" ", 2)
                questions.append(Question(language, NOTHING, text, beside))
            case "#":
                continue
            case _:
                raise ValueError(f"{path.name}: a line begins with none of #, ##, ###, ? and ~: {line[:40]!r}")
    known = {page.number for page in pages if page.is_exact} | {NOTHING}
    if wrong := sorted({question.beside or question.page for question in questions} - known):
        raise ValueError(f"{path.name}: questions are labelled with pages that it does not have: {', '.join(wrong)}")
    return Trade(path.stem, tuple(pages), tuple(questions))
