"""The topics of a company: what each says, in every language, and what the customer's own values are."""

from __future__ import annotations

from support_agent.facts.topics import Topic, topics_of
from tests.fakes_journey import Office


def test_a_document_speaks_by_its_title_its_examples_and_its_sections(office: Office) -> None:
    topics = {topic.key: topic for topic in topics_of(office.decider.company)}
    refund = topics["document:1"]
    assert refund.title == "Refund policy"
    assert "refund please" in refund.questions
    assert any(section.startswith("Refund policy: Yearly plans. A yearly plan") for section in refund.sections)


def test_every_kind_of_account_data_is_a_topic(office: Office) -> None:
    kinds = {topic.key.partition(":")[0] for topic in topics_of(office.decider.company)}
    assert kinds == {"document", "field", "series", "record"}


def test_a_topic_without_a_summary_has_its_title_alone() -> None:
    assert Topic(key="document:1", title="Refund").texts() == {"head": ("Refund",), "question": (), "section": ()}
