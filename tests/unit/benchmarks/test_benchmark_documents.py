"""What the benchmark of the passages asks: its documents and questions are what it says they are."""

from __future__ import annotations

from tests.benchmarks.documents import MOST, by_code, code_of, documents, in_other_words, key_of, topics


def test_the_same_seed_makes_the_same_and_a_smaller_size_is_part_of_a_larger() -> None:
    """Rule: else the sizes could not be compared, nor two runs."""
    assert topics(50, 4) == topics(100, 4)[:50] != topics(50, 5)
    assert documents(topics(50, 4), 4, 2) == documents(topics(100, 4), 4, 2)[:50]
    assert len(set(topics(MOST, 4))) == MOST == 10_000


def test_a_question_in_other_words_has_none_of_the_action_and_one_by_code_has_the_code_alone() -> None:
    """Rule: the first is hard for words, the second for meaning; each has one document that answers it."""
    chosen = topics(300, 4)
    sources = {source.key: source for source in documents(chosen, 4, 1)}
    for number, question in enumerate(in_other_words(chosen, 200, 4)):
        assert question.keys == {key_of(number)}
        assert chosen[number].action[0] not in question.text.lower().split()
    for number, question in enumerate(by_code(chosen, 200, 4)):
        has_code = [key for key, source in sources.items() if code_of(number) in source.sentences[-1].text]
        assert has_code == [key_of(number)] == list(question.keys)
        assert code_of(number) in question.text
    assert len({code_of(number) for number in range(MOST)}) == MOST


def test_questions_about_few_documents_go_around() -> None:
    """Rule: as many questions at each size; with twenty documents each is asked for ten times."""
    asked = in_other_words(topics(20, 4), 200, 4)
    assert len(asked) == 200
    assert len({question.keys for question in asked}) == 20
    assert len({question.text for question in asked}) > 100
