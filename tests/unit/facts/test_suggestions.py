"""Suggested example questions: model text for a person to read, without what would do harm as an example."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
import yaml

from support_agent.company.documents import check_documents
from support_agent.errors import ConfigError
from support_agent.facts.suggestions import Suggested, chosen, suggest, write_suggestions
from support_agent.tools.base import Match
from tests.fakes_facts import ScriptedWriter
from tests.unit.tools.fakes import document

DAY = date(2026, 11, 21)
REFUNDS = document(1, questions="['Can I get my money back?']")


class ByWords:
    """A search in which a text with one of these words is nearest to that topic, and equal texts alone are alike."""

    def __init__(self, **topics: str) -> None:
        self.topics = topics

    def nearest(self, text: str) -> tuple[Match, ...]:
        found = next((topic for word, topic in self.topics.items() if word in text), "document:1")
        return (Match(topic=found, score=0.9),)

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]:
        return [float(set(text.lower().split()) == set(other.lower().split())) for other in others]


def of(*texts: str, count: int = 5, search: ByWords | None = None) -> Suggested:
    """What is proposed of these texts; the model writes nothing else."""
    return suggest(REFUNDS, search or ByWords(), ScriptedWriter([*texts, *[""] * 8]), count, seed=1)


def reasons(suggested: Suggested) -> list[str]:
    return [one.why for one in suggested.left_out]


def test_what_the_model_wrote_is_proposed_line_by_line_without_its_numbers_and_quotation_marks() -> None:
    made = of('1. "How long do I have for a refund?"\n\n- Is there a fee?\nQ3: Who pays for that?')
    assert made.questions == ("How long do I have for a refund?", "Is there a fee?", "Who pays for that?")
    assert made.left_out == ()


@pytest.mark.parametrize(
    "line", ["Here are three questions:", "Refunds take 14 days.", "?", "Really " * 30 + "so?", "Is it?"]
)
def test_what_asks_nothing_or_is_no_short_question_is_left_out(line: str) -> None:
    made = of(line)
    assert made.questions == ()
    assert reasons(made) == ["not a question"]


@pytest.mark.parametrize("line", ["返金にはどのくらいかかりますか\uff1f", "كم من الوقت يستغرق رد المبلغ\u061f"])
def test_a_question_mark_of_any_script_counts(line: str) -> None:
    assert of(line).questions == (line,)


def test_what_is_like_an_example_that_is_there_is_left_out() -> None:
    made = of("can I get my money back?")
    assert made.questions == ()
    assert reasons(made) == ["like 'Can I get my money back?'"]


def test_what_is_like_another_suggestion_is_left_out() -> None:
    made = of("Is there a fee?", "is there a fee?")
    assert made.questions == ("Is there a fee?",)
    assert reasons(made) == ["like 'Is there a fee?'"]


def test_what_the_search_of_the_company_finds_nearer_to_something_else_is_left_out() -> None:
    """As an example it would draw the other topic's questions to this document."""
    made = of("What do I pay each month?\nIs there a fee?", search=ByWords(month="field:next_invoice"))
    assert made.questions == ("Is there a fee?",)
    assert reasons(made) == ["nearer to field:next_invoice"]


def test_characters_that_no_document_may_have_are_left_out_and_escaped(tmp_path: Path) -> None:
    made = of("Is there a \u202eeef?")
    assert made.questions == ()
    assert reasons(made) == ["forbidden character U+202E"]
    write_suggestions(tmp_path / "s.yaml", tmp_path / "policies", "m", DAY, [made])
    assert "\u202e" not in (tmp_path / "s.yaml").read_text("utf-8")


def test_each_section_is_asked_about_and_gets_its_turn() -> None:
    writer = ScriptedWriter(["How long does it take?\nAnd a renewal?", "Bought in a store?", "Is there a fee?", ""])
    made = suggest(REFUNDS, ByWords(), writer, 3, seed=7)
    assert made.questions == ("How long does it take?", "Bought in a store?", "And a renewal?")
    headings = [written.material[1][1].partition(": ")[2].partition(".")[0] for written in writer.history]
    assert headings == ["Time", "Exceptions"]
    assert [written.seed for written in writer.history] == [7, 8]


def test_no_more_than_wanted_are_proposed() -> None:
    assert len(of("How is it paid?\nIs there a fee?\nWho pays it?\nWhen is that?", count=2).questions) == 2


def test_the_file_says_what_it_is_and_has_what_a_front_matter_takes(tmp_path: Path) -> None:
    """Whatever the model wrote: it stays in its line and is a string of YAML."""
    sly = "Is this: {a} # 'fee' \\ or --- not?"
    file = tmp_path / "suggested.yaml"
    write_suggestions(file, tmp_path / "policies", "model\nx", DAY, [of(f"{sly}\nNo question.")])
    text = file.read_text("utf-8")
    assert text.startswith(
        "# Example questions that a language model (model x) proposed on 2026-11-21. Nobody has read"
    )
    assert yaml.safe_load(text) == {"questions": [sly]}
    assert '# left out: "No question.": not a question' in text


def test_check_does_not_take_the_file_for_a_document(tmp_path: Path) -> None:
    """Whoever moves it among the documents under the name of one is told that it is none."""
    file = tmp_path / "suggested.yaml"
    write_suggestions(file, tmp_path / "policies", "m", DAY, [of("Is there a fee?")])
    (tmp_path / "policies").mkdir()
    file.rename(tmp_path / "policies" / "001-refunds.md")
    assert "no front matter" in [finding.what for finding in check_documents(tmp_path / "policies", DAY)]


def test_nothing_is_written_among_the_documents_or_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    with pytest.raises(ConfigError, match="among the documents"):
        write_suggestions(tmp_path / "policies" / "s.md", tmp_path / "policies", "m", DAY, [])
    (tmp_path / "mine.yaml").write_text("mine", "utf-8")
    with pytest.raises(ConfigError, match="exists"):
        write_suggestions(tmp_path / "mine.yaml", tmp_path / "policies", "m", DAY, [])
    assert (tmp_path / "mine.yaml").read_text("utf-8") == "mine"
    with pytest.raises(ConfigError, match="cannot be written"):
        write_suggestions(tmp_path / "no" / "s.yaml", tmp_path / "policies", "m", DAY, [])


def test_a_document_is_chosen_by_its_number_or_all_are() -> None:
    documents = (REFUNDS, document(7))
    assert chosen(documents, None) == documents
    assert chosen(documents, 7) == documents[1:]
    with pytest.raises(ConfigError, match="--document 8"):
        chosen(documents, 8)
