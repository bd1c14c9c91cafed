"""Questions whose right topics are known: example questions that are left out, and labelled mails."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic, topics_of
from support_agent.ops.evals.leaving_out import examples_of, left_out, of_mails, without_topic
from support_agent.ops.evals.mail_labels import MailLabel
from support_agent.planner.choice import NONE_KEY
from tests.fakes_journey import make_company
from tests.unit.facts.test_search import WordEmbedder

REFUND = Topic(key="document:1", title="Money", questions=("My refund?", "A refund please"))
PASSWORD = Topic(key="document:6", title="Access", questions=("Lost password",))
INVOICE = Topic(key="field:invoice", title="Invoice")
TOPICS = (REFUND, PASSWORD, INVOICE)
EXAMPLES = {topic.key: [(text,) for text in topic.questions] for topic in TOPICS}


@pytest.fixture
def search(request: pytest.FixtureRequest) -> CompanySearch:
    embedder = WordEmbedder()
    name = f"left-{abs(hash(request.node.name)) % 10**8}"
    made = CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name=name)})
    made.update(TOPICS)
    return made


def test_each_example_question_is_asked_of_an_index_that_lacks_it(search: CompanySearch) -> None:
    """One that found itself would always be right."""
    asked = list(left_out(TOPICS, EXAMPLES, search))
    assert {(one.question, *one.right) for one in asked} == {
        ("My refund?", "document:1"),
        ("A refund please", "document:1"),
        ("Lost password", "document:6"),
    }
    of = {one.question: {match.topic: match for match in one.matches} for one in asked}
    assert of["My refund?"]["document:1"].score == pytest.approx(1.0, abs=1e-3)  # the other refund question is there
    assert of["Lost password"]["document:6"].score < 0.5
    signals = of["My refund?"]["document:1"].signals
    assert signals is not None
    assert signals.examples == 1


def test_what_says_the_same_in_another_language_is_left_out_together(search: CompanySearch) -> None:
    """A translation of the question would answer for it."""
    together = EXAMPLES | {"document:1": [REFUND.questions]}
    asked = [one for one in left_out(TOPICS, together, search) if one.right == {"document:1"}]
    assert len(asked) == 2
    for one in asked:
        (match,) = (match for match in one.matches if match.topic == "document:1")
        assert match.score < 0.5


def test_without_its_topic_and_the_nearest_one_no_topic_answers_a_question(search: CompanySearch) -> None:
    asked = list(without_topic(TOPICS, EXAMPLES, search))
    assert [one.question for one in asked] == ["My refund?", "Lost password"]
    for one, own in zip(asked, ("document:1", "document:6"), strict=True):
        assert one.right == {NONE_KEY}
        assert own not in {match.topic for match in one.matches}
        assert len(one.matches) == len(TOPICS) - 2


def test_the_examples_of_a_company_are_those_of_its_documents_and_accounts(tmp_path: Path) -> None:
    company = Company.load(make_company(tmp_path))
    topics = topics_of(company)
    examples = examples_of(company, topics)
    company.accounts.close()
    for topic in topics:
        assert sorted(text for alike in examples[topic.key] for text in alike) == sorted(topic.questions)
    in_languages = {document.number for document in company.translations if document.head.questions}
    for number in in_languages:
        assert any(len(alike) > 1 for alike in examples[f"document:{number}"])


def mail(folder: Path, name: str, *expected: tuple[str, ...], level: int = 3, text: str = "My refund?") -> MailLabel:
    path = folder / f"{name}.eml"
    path.write_bytes(f"From: a@example.org\r\nSubject: \r\n\r\n{text}\r\n".encode())
    return MailLabel(path, None, level, "mail", "en", expected)


def test_a_mails_question_has_the_topics_of_its_label(search: CompanySearch, tmp_path: Path) -> None:
    labels = [
        mail(tmp_path, "a", ("send_document(1)", "escalate")),
        mail(tmp_path, "b", ("escalate",)),
        mail(tmp_path, "stranger", ("escalate",), level=1),
        mail(tmp_path, "two", ("send_document(1)",), ("send_document(6)",)),
    ]
    asked = list(of_mails(labels, search, lambda _: True))
    assert [(one.question, one.right) for one in asked] == [
        ("My refund?", frozenset({"document:1", NONE_KEY})),
        ("My refund?", frozenset({NONE_KEY})),
    ]
    assert asked[0].matches[0].topic == "document:1"
    assert not list(of_mails(labels, search, lambda _: False))
