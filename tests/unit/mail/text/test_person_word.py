"""The customer's word for a person is heard before any model."""

from __future__ import annotations

import pytest

from support_agent.config.desk import DeskSettings
from support_agent.mail.text.person_word import asks_for_person

WORDS = DeskSettings().person_words


@pytest.mark.parametrize("text", ["Can I talk to a human?{}", "{}Can I talk to a human?", "{}\nHuman!", "Human!\n{}"])
def test_a_person_is_asked_for_at_either_end_of_a_very_long_text(text: str) -> None:
    """The patterns take seconds for a megabyte; the middle of one is not searched."""
    assert asks_for_person(text.format(" a b" * 500_000), WORDS)
    assert not asks_for_person("a " * 500_000 + " Can I talk to a human? " + " a" * 500_000, WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "Can I talk to a human?",
        "I want to speak to an agent",
        "please connect me with a real person",
        "Human please",
        "A human, please!",
        "Human!",
        "I am stuck.\nAgent\nThanks",
        "Are you a real person?",
        "I need a human",
        "let me talk to a human, not a bot",
        "I would like to speak with one of your representatives",
        "Could someone real look at this?",
        "Can a human look at this?",
        "put me through to a representative",
        "I want to talk to someone about my bill",
        "I NEED TO SPEAK\nTO A PERSON",
        "Ich möchte mit einem Menschen sprechen",
        "Kann ich bitte mit einem Mitarbeiter sprechen?",
        "Bitte verbinden Sie mich mit einem Mitarbeiter.",
        "Könnte ich mit jemandem telefonieren?",
        "Kann mich ein Mensch anrufen?",
        "quiero hablar con una persona",
        "Quiero hablar con un agente, por favor",
        "necesito hablar con alguien",
        "Je voudrais parler à un humain",
    ],
)
def test_a_request_for_a_person_is_recognised(text: str) -> None:
    assert asks_for_person(text, WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "The user agent string is wrong",
        "our sync agent crashed",
        "Restart the sync agent please",
        "I need an agent installer for Linux",
        "I need the agent logs",
        "Is there a human-readable export?",
        "a person in my team cannot log in",
        "invite a person to my team",
        "How many persons can use it?",
        "Can someone please help me with my invoice?",
        "Could you please tell me the price for one person?",
        "Kann ich einen Ordner mit einem Mitarbeiter teilen?",
        "Bitte laden Sie den Mitarbeiter Tom ein",
        "compartir con una persona un enlace",
        "personne ne peut se connecter",
        "",
    ],
)
def test_the_words_alone_are_no_request(text: str) -> None:
    """Each false alarm costs a person's time, and "agent" is also a program."""
    assert asks_for_person(text, WORDS) is None


def test_the_words_are_settings() -> None:
    assert asks_for_person("can I talk to a wizard?", WORDS) is None
    assert asks_for_person("can I talk to a wizard?", ("wizard",)) == "talk to a wizard"
    assert asks_for_person("my grand wizard is gone", ("grand wizard",)) == "grand wizard"
    assert asks_for_person("c++ (", ("c++ (",)) == "c++ ("
