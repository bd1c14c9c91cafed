"""What the model writes becomes a graph only as far as it stands in the text, and is asked for once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import Extraction
from support_agent.facts.graph.written_extraction import (
    INSTRUCTION,
    SENTENCES_PER_ASKING,
    KeptExtractor,
    WrittenExtractor,
)
from tests.fakes_facts import ScriptedWriter
from tests.unit.facts.graph.fakes import FixedExtractor, source

REFUND = source("document:1", "Refunds are made within 14 days.", "Annual plans include priority support.")


def extract(given: Source, *texts: str) -> Extraction:
    """What comes of what the model writes."""
    return WrittenExtractor(ScriptedWriter(texts), seed=1).extract(given)


def test_facts_in_the_form_asked_for_are_read() -> None:
    """Rule: number and things, no relation; what else the model says is passed over."""
    found = extract(
        REFUND,
        "Sure! Here you are:\n1 | Refunds | 14 days\n- 2 | plans\n2\n 2 | Annual plans\n2 | priority support\n"
        "x | made\n99999999999 | include",
    )
    assert "relation" not in INSTRUCTION
    assert found.entities == (("Refunds", "14 days"), ("Annual plans", "priority support"))


def test_what_a_hostile_model_invents_is_dropped() -> None:
    """Rule: entities that stand nowhere in the sentence, and numbers of sentences that were not shown."""
    found = extract(REFUND, "1 | Refunds | 900 days\n2 | Refunds | 14 days\n0 | Refunds\n77 | Refunds")
    assert found.entities == (("Refunds",), ())


@given(st.text(max_size=300))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Rule: one tuple of entities a sentence, whatever the model writes."""
    assert len(extract(REFUND, text).entities) == len(REFUND.sentences)


def test_many_sentences_are_asked_some_at_a_time_and_numbered_through() -> None:
    """Rule: the second asking cannot say something of the first one's sentences."""
    many = source("document:1", *(f"Plan{number} costs {number} euros." for number in range(SENTENCES_PER_ASKING + 2)))
    writer = ScriptedWriter(["", f"1 | Plan0 | 0 euros\n{SENTENCES_PER_ASKING + 1} | Plan8 | 8 euros"])
    found = WrittenExtractor(writer, seed=1).extract(many)
    assert [number for number, _ in writer.history[1].material] == ["9", "10"]
    assert [names for names in found.entities if names] == [("Plan8", "8 euros")]


RULES = FixedExtractor(("14 days",), name="rules")


def test_one_content_is_asked_for_once(tmp_path: Path) -> None:
    """Rule: by content, not by name, and also in another process; another model is asked anew."""
    fixed = FixedExtractor(("Refunds",))
    first = KeptExtractor(fixed, tmp_path / "kept", RULES).extract(REFUND)
    assert first.entities == (("Refunds",), ())
    renamed = source("document:9", *(sentence.text for sentence in REFUND.sentences))
    assert KeptExtractor(fixed, tmp_path / "kept", RULES).extract(renamed) == first
    assert fixed.asked == 1
    KeptExtractor(fixed, tmp_path / "kept", RULES).extract(source("document:1", "Refunds are made within 30 days."))
    assert fixed.asked == 2
    other = FixedExtractor(name="another model")
    KeptExtractor(other, tmp_path / "kept", RULES).extract(REFUND)
    assert other.asked == 1


def test_a_kept_file_is_believed_no_more_than_a_model(tmp_path: Path) -> None:
    """Rule: a damaged one is made anew; one that somebody changed adds nothing that stands nowhere."""
    fixed = FixedExtractor(("Refunds",))
    extractor = KeptExtractor(fixed, tmp_path, RULES)
    extractor.extract(REFUND)
    (path,) = tmp_path.iterdir()
    path.write_text('{"entities": [["Ref', encoding="utf-8")
    assert extractor.extract(REFUND).entities == (("Refunds",), ())
    assert fixed.asked == 2
    path.write_text('{"by": "fixed", "entities": [["900 days", "14 days"], ["Refunds"]]}', encoding="utf-8")
    assert extractor.extract(REFUND).entities == (("14 days",), ())
    path.write_text('{"by": "somebody", "entities": [["14 days"], []]}', encoding="utf-8")
    assert extractor.extract(REFUND).entities == (("Refunds",), ())
    assert fixed.asked == 3


@pytest.mark.parametrize("failure", [TransientError("no answer")])
def test_a_model_that_cannot_answer_now_is_asked_no_more(tmp_path: Path, failure: Exception) -> None:
    """The failure's story: ten thousand documents, and a time-out for each. What the rules found is not kept."""
    fixed = FixedExtractor(("Refunds",), failure=failure)
    extractor = KeptExtractor(fixed, tmp_path / "kept", RULES)
    first, second = extractor.extract(REFUND), extractor.extract(source("document:2", "It takes 14 days."))
    assert (first.by, first.entities, second.entities) == ("rules", (("14 days",), ()), (("14 days",),))
    assert (fixed.asked, (tmp_path / "kept").exists()) == (1, False)
    fixed.failure = None
    assert KeptExtractor(fixed, tmp_path / "kept", RULES).extract(REFUND).by == "fixed"


def test_a_document_that_the_model_refuses_stops_no_other(tmp_path: Path) -> None:
    """Rule: what does not fit into the prompt is read by rules."""
    fixed = FixedExtractor(("Refunds",), failure=PermanentError("too long"))
    extractor = KeptExtractor(fixed, tmp_path, RULES)
    assert extractor.extract(REFUND).by == "rules"
    fixed.failure = None
    assert extractor.extract(REFUND).by == "fixed"


def test_a_wrong_key_is_told(tmp_path: Path) -> None:
    """Rule: what the operator must mend is no reason to go on by rules for ever."""
    fixed = FixedExtractor(failure=ConfigError("wrong key"))
    with pytest.raises(ConfigError):
        KeptExtractor(fixed, tmp_path, RULES).extract(REFUND)
