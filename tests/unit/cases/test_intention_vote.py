"""What a reply means, by the chances of its pieces: every piece must close for a mail to close its case."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import pytest

from support_agent.cases.intention_vote import COURTESY, IntentionVote, intention_of, open_intentions, packaged_examples
from support_agent.cases.intentions import Intent, Intention
from support_agent.config.intentions import IntentionSettings
from tests.unit.facts.words import WordEmbedder

WORDS = {
    "thanks": Intent.THANKS,
    "works": Intent.SOLVED,
    "mind": Intent.WITHDRAWN,
    "useless": Intent.NOT_HELPED,
    "news": Intent.ANY_NEWS,
    "regards": COURTESY,
    "hello": COURTESY,
}


class ByWord:
    """Sure of the class whose word stands in the piece, unless the piece has "invoice" or two classes.

    A piece with "service" is as near to an example of another class.
    """

    def chances(self, text: str) -> Mapping[str, float]:
        found = {name for word, name in WORDS.items() if word in text.lower()}
        sure = Intent.NONE if "invoice" in text or "refund" in text or not found else sorted(found)[0]
        return {name: 0.96 if name == sure else 0.01 for name in (*Intent, COURTESY)}

    def likeness(self, text: str) -> Mapping[str, float]:
        near = 0.93 if "service" in text else 0.01
        return {**self.chances(text), Intent.NONE: near}


def told(text: str, *, has_more: bool = False, **values: float) -> Intention:
    return intention_of(text, ByWord(), IntentionSettings(**values), "v", has_more=has_more)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Thanks!", "thanks"),
        ("Hello,\n\nthanks a lot.\n\nRegards", "thanks"),
        ("It works now. Thanks.", "solved"),
        ("Never mind. Thanks anyway.", "withdrawn"),
        ("That was useless.", "not_helped"),
        ("That was useless. Where is my invoice?", "not_helped"),
        ("Hello,\nany news?", "any_news"),
        ("Thanks. Any news?", "any_news"),
        ("Where is my invoice?", "none"),
        ("Hello.\n\nRegards", "none"),
        ("", "none"),
        ("...", "none"),
    ],
)
def test_a_mail_means_what_all_its_pieces_mean(text: str, intent: str) -> None:
    assert told(text).intent == intent


@pytest.mark.parametrize(
    "text",
    [
        "Thanks. Please send the invoice.",
        "thanks. send the invoice",
        "Thanks, please send the invoice.",
        "Thanks - and the invoice.",
        "Thanks (the invoice is missing).",
        "Never mind the delay, please refund me.",
        "thanks for all of it and now the invoice please",
        "Thanks?",
        "Works?",
        "Thanks, 40.",
        "Thanks https://example.com",
        "Any news? And the invoice?",
        "谢谢\uff0cinvoice",
        "Thanks. " * 30 + "Thanks.",
        "thanks " * 70,
    ],
)
def test_thanks_beside_anything_else_are_a_question(text: str) -> None:
    """A question mark, a number or a link is enough; so is a mail that is too long for a thank-you."""
    assert told(text).intent is Intent.NONE


def test_a_file_keeps_a_case_open() -> None:
    """It may say more than the text; a mail that did not help or asks for news does not close anyway."""
    assert told("Thanks!", has_more=True).intent is Intent.NONE
    assert told("Any news?", has_more=True).intent is Intent.ANY_NEWS


def test_what_is_not_sure_enough_is_none() -> None:
    assert told("Thank you for mind.", closes_from=1.0).intent is Intent.NONE
    assert told("Any news?", any_news_from=1.0).intent is Intent.NONE
    assert told("That was useless.", not_helped_from=1.0).intent is Intent.NONE


@pytest.mark.parametrize("text", ["Never mind the service.", "Thanks. The service works.", "thanks, the service works"])
def test_each_piece_is_nearer_to_what_closes_than_to_anything_else(text: str) -> None:
    """A request may be worded like a withdrawal ("I no longer need ..."); an example of it stands as near then."""
    assert told(text).intent is Intent.NONE
    assert told(text.replace("service", "thing")).intent.closes


@cache
def vote() -> IntentionVote:
    return IntentionVote(WordEmbedder(), "words", IntentionSettings())


def test_the_same_examples_give_the_same_intention_and_version() -> None:
    again = IntentionVote(WordEmbedder(), "words", IntentionSettings())
    assert again.version == vote().version
    assert (
        vote().version != IntentionVote(WordEmbedder(), "words", IntentionSettings(), packaged_examples()[:2]).version
    )
    assert again.of("Never mind.") == vote().of("Never mind.")
    assert vote().of("Never mind.").intent is Intent.WITHDRAWN
    assert vote().of("Where do I find my invoice?").intent is Intent.NONE


def test_every_class_has_examples_in_eight_languages() -> None:
    given = tomllib.loads((files("support_agent.cases") / "intentions.toml").read_text("utf-8"))
    assert sorted(given) == ["de", "en", "es", "fr", "it", "nl", "pl", "pt"]
    for of_class in given.values():
        assert set(of_class) == {*Intent, COURTESY}
        assert all(len(texts) >= 14 for texts in of_class.values())


def test_only_an_embedder_of_many_languages_is_asked() -> None:
    """Without one each reply is a question, as it is where the vote is switched off."""
    settings = IntentionSettings()
    assert open_intentions({"minilm": WordEmbedder()}, settings) is None
    assert open_intentions({"use": WordEmbedder()}, IntentionSettings(enabled=False)) is None
    opened = open_intentions({"minilm": WordEmbedder(), "e5": WordEmbedder(), "use": WordEmbedder()}, settings)
    assert opened is not None
    assert opened.version.startswith("use-")
