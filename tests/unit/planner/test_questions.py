"""A mail's questions: each found, none forgotten, and no word in them that the customer did not write."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.planner.questions import asked_in, questions_of
from support_agent.tools.base import SegmentReading
from tests.fakes_reading import read_apart, read_by, reading


def asked(text: str, subject: str = "") -> tuple[str, ...]:
    return questions_of(subject, text, read_apart)


def test_a_single_question_is_the_mail_with_its_subject() -> None:
    """The subject says what "it" is; what surrounds the question stays with it."""
    text = "Hello,\n\nI bought it last week. Can I get my money back?\n\nKind regards,\nAnna Keller"
    assert asked(text, "Re: AW: Pro plan") == ("Pro plan. I bought it last week. Can I get my money back?",)


def test_two_questions_are_two_and_the_subject_is_not_repeated() -> None:
    """What stands between them belongs to the one before it; what stands first to the first."""
    text = (
        "We are a small school. How many seats do we have? We asked in May too.\n\n"
        "Where do I find my invoices? The page is empty."
    )
    assert asked(text, "Seats and invoices") == (
        "We are a small school. How many seats do we have? We asked in May too.",
        "Where do I find my invoices? The page is empty.",
    )


VALUES = {"plan": "field:plan", "renew": "field:renewal_date", "balance": "series:balance"}


def values(piece: str) -> dict[str, float]:
    """Each value is near to a piece with its word in it, the less the more others stand there."""
    found = [topic for word, topic in VALUES.items() if word in piece.lower()]
    return {"document:1": 0.1, **{topic: 0.9 - 0.1 * len(found) for topic in found}}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Please tell me my plan, the renewal date and the open balance.",
         ("Please tell me my plan,", "the renewal date", "and the open balance.")),
        ("Mein Abo renewt wann und meine balance?", ("Mein Abo renewt wann", "und meine balance?")),
    ],
)  # fmt: skip
def test_several_values_of_the_account_in_one_sentence_are_parted(sentence: str, expected: tuple[str, ...]) -> None:
    """Each is one call, in any language; no word is lost."""
    assert questions_of("", sentence, read_by(values)) == expected


def test_two_documents_in_one_sentence_are_not_parted() -> None:
    """ "Share a folder and set a password" is one thing to do, though each half resembles something else."""
    question = "How do I share a folder and set a password?"
    near = {"password": "document:6", "folder": "document:20"}
    read = read_by(lambda piece: {topic: 0.9 for word, topic in near.items() if word in piece})
    assert questions_of("", question, read) == (question,)


def test_two_questions_about_one_topic_are_one_and_about_two_are_two() -> None:
    """The topic decides, not the words between them."""
    questions = "How can I get rid of my account? And how do I take all my files out?"
    same = read_by(lambda piece: {"document:12": 0.5})
    assert questions_of("", questions, same) == (questions,)
    assert len(questions_of("", questions, read_apart)) == 2


def test_what_stands_between_two_questions_goes_to_the_one_that_it_is_about() -> None:
    """Else a question would lose what it is about to the one before it."""
    about = {"refund": "document:1", "money": "document:1", "password": "document:6", "login": "document:6"}
    read = read_by(
        lambda piece: {
            topic: 0.8 * (word in piece) for word, topic in sorted(about.items(), key=lambda e: e[0] in piece)
        }
    )
    first, between, second = "Can I have a refund for it?", "My login is gone.", "How do I set another password?"
    assert questions_of("", f"{first} {between} {second}", read) == (first, f"{between} {second}")


def test_other_scripts_are_cut_by_their_own_marks() -> None:
    """Neither spaces nor capitals part Chinese or Arabic sentences."""
    assert len(asked("我的发票在哪里可以下载呢？我怎样才能更改我的密码呢？")) == 2  # noqa: RUF001
    assert len(asked("أين يمكنني العثور على فواتيري؟ وكيف يمكنني تغيير كلمة المرور؟")) == 2


@pytest.mark.parametrize(
    "sentence",
    [
        "Can I invite a colleague and give her my seat?",
        "I pay by card and when I try to change it nothing happens.",
        "How do I move files and folders, links and all?",
        "What is the price, right?",
    ],
)
def test_a_sentence_without_a_second_question_stays_whole(sentence: str) -> None:
    """ "and" joins more than questions."""
    assert asked(sentence) == (sentence,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how many seats do i have\n\nwhen does my plan renew", 2),
        ("please send me my latest invoice. tell me how to add a member", 2),
        ("what is my plan? how do i cancel it? thanks", 2),
        ("i pay approx. what others pay. my seats are e.g. those of teachers", 1),
        ("I forgot my password. How can I delete a file?", 1),
        ("Bitte senden Sie mir die Rechnung. Wie kündige ich das Abo", 2),
        ("Quiero una factura de marzo. Cómo cancelo mi cuenta", 2),
        ("My upload fails. The app shows an error. It is stuck.", 1),
        ("I would like to cancel. I want my money back.", 2),
    ],
)
def test_no_question_mark_is_needed(text: str, expected: int) -> None:
    """What asks by its words asks; a complaint surrounds a question, or is it where nothing else asks."""
    assert len(asked(text)) == expected


def test_a_numbered_or_dotted_list_is_a_question_a_line() -> None:
    """Each item stands for itself, whether it has a question mark or not."""
    text = "I have two questions:\n1. What is my plan called?\n2) how do I get an invoice\n- When was I charged?"
    assert asked(text) == (
        "I have two questions: 1. What is my plan called?",
        "2) how do I get an invoice",
        "- When was I charged?",
    )


@pytest.mark.parametrize(
    "greeting",
    ["Hi,", "Hello Harborfile team,", "Dear Sir or Madam", "Good morning!", "Hallo zusammen,", "Guten Tag,",
     "Sehr geehrte Damen und Herren,", "Liebes Team", "Hola:", "Buenos días,", "Estimados señores:",
     "To whom it may concern,"],
)  # fmt: skip
@pytest.mark.parametrize(
    "sign_off",
    ["Thanks", "Many thanks,\nAnna", "Kind regards\nAnna Keller\nHead of Music", "Cheers!\n\nTom",
     "Thank you in advance.", "Mit freundlichen Grüßen\nJonas Weber", "Danke und viele Grüße", "Vielen Dank.",
     "Un saludo,\nMaría", "Gracias"],
)  # fmt: skip
def test_greeting_and_sign_off_are_left_out(greeting: str, sign_off: str) -> None:
    """They ask nothing, and would only blur what is compared."""
    assert asked(f"{greeting}\n\nWhat is my plan called?\n\n{sign_off}") == ("What is my plan called?",)


def test_a_greeting_in_front_of_the_question_is_left_out_too() -> None:
    """On the same line, before a comma or a full stop."""
    assert asked("Hi there, what is my plan called?") == ("what is my plan called?",)
    assert asked("Hello. What is my plan called?") == ("What is my plan called?",)


@pytest.mark.parametrize(
    "text",
    ["hi whats my plan", "Hello please cancel my account", "Hi, how do I cancel",
     "Dear team can I get a refund", "Thanks but the reset link is broken", "Best way to move to macOS"],
)  # fmt: skip
def test_a_line_that_greets_or_thanks_and_asks_is_not_lost(text: str) -> None:
    """The whole mail was once dropped as a greeting, and the subject "Hello" was all that was looked up."""
    (question,) = asked(text, "Hello")
    assert question.endswith(text.removeprefix("Hi, "))


def test_a_line_that_greets_or_thanks_and_asks_counts_beside_others() -> None:
    """It is no less asked where the mail says more."""
    assert asked("Hello please cancel my account\n\nIt is too dear.") == (
        "Hello please cancel my account It is too dear.",
    )
    assert asked("Where is the reset page?\nThanks, but the first link is broken.") == (
        "Where is the reset page?",
        "Thanks, but the first link is broken.",
    )


def test_a_mail_that_opens_with_thanks_keeps_what_follows() -> None:
    """A sign-off ends a mail only where something came before it."""
    text = "Thanks for the quick answer.\nHow do I cancel my plan?\nThe button is grey."
    assert asked(text) == ("How do I cancel my plan?", "The button is grey.")


def test_a_postscript_is_not_forgotten() -> None:
    """Below the sign-off a question mark or a PS counts; names, titles and addresses do not."""
    text = (
        "What is my plan called?\n\nBest regards,\nAnna Keller\nHarbour Street 1\n\n"
        "PS: I forgot my password, too.\n\nAnd when was I charged last? Please think before printing."
    )
    assert asked(text) == (
        "What is my plan called?",
        "PS: I forgot my password, too.",
        "And when was I charged last?",
    )


def test_a_mail_in_which_nothing_asks_is_one_question() -> None:
    """Whole, with its subject; another language, too."""
    assert asked("The red cross is back. On all files.", "Sync") == ("Sync. The red cross is back. On all files.",)
    polish = "Gdzie znajdę fakturę? Czy mogę zmienić plan?"
    assert "".join(asked(polish)).replace(" ", "") == polish.replace(" ", "")


@pytest.mark.parametrize(
    ("subject", "text", "expected"),
    [
        ("How do I cancel?", "", "How do I cancel?"),
        ("Re: Cancel", " \n", "Cancel."),
        ("Re:", "", "Re:"),
        ("", "Thanks", "Thanks"),
        ("", "Hello,", "Hello,"),
        ("", "Right?", "Right?"),
    ],
)
def test_there_is_always_one_question(subject: str, text: str, expected: str) -> None:
    """The subject is the question where the text asks nothing; else what little there is."""
    assert asked(text, subject) == (expected,)


def test_every_request_below_a_sign_off_counts_and_a_footer_does_not() -> None:
    """What a customer adds below their name is asked too; what their firm adds to every mail is not."""
    assert asked("Which plan am I on?\nThanks\nAnna\n\nand please delete my account")[1:] == (
        "and please delete my account",
    )
    footer = "If you are not the intended recipient please delete this."
    assert asked(f"Which plan am I on?\n\nThanks\nAnna\n\n{footer}") == ("Which plan am I on?",)


def test_a_sentence_below_a_sign_off_belongs_to_the_question_above_it() -> None:
    """The failure's story: "I mean in June, not today." below the name was dropped, and today's value was sent."""
    text = "How much storage do I use?\n\nThanks!\nAnna Keller\nHead of many things\n\nI mean in June, not today."
    assert asked(text) == ("How much storage do I use? I mean in June, not today.",)


@pytest.mark.parametrize(
    "order", ["Reduce them to 5 please.", "Change it to my new card.", "I was charged twice, please refund me."]
)
def test_an_order_is_a_question_of_its_own(order: str) -> None:
    """Nothing here carries it out: a person must see it."""
    assert asked(f"How many seats are paid? {order}") == ("How many seats are paid?", order)


ABOUT = {"card": {"document:9": 0.8, "document:2": 0.3}, "subscription": {"document:2": 0.7, "document:9": 0.2}}


@pytest.mark.parametrize(
    "behind", ["Please cancel my subscription.", "My subscription is broken and the files are gone."]
)
def test_an_order_or_complaint_about_something_else_is_not_lost_in_the_question_before(behind: str) -> None:
    """It would go unanswered and nobody would see it."""
    read = read_by(lambda piece: next(near for word, near in ABOUT.items() if word in piece))
    assert questions_of("", f"How do I change my card? {behind}", read) == ("How do I change my card?", behind)


def test_what_is_told_of_the_same_thing_stays_with_its_question() -> None:
    read = read_by(lambda piece: ABOUT["card"])
    text = "How do I change my card? The old card is broken and stuck."
    assert questions_of("", text, read) == (text,)


def test_a_sentence_that_names_one_value_as_well_as_its_parts_do_is_not_parted() -> None:
    near = {"how many seats do I pay for": 0.9, "how many seats": 0.8, "do I pay for": 0.75}
    topics = {"how many seats do I pay for": "field:seats_paid", "how many seats": "field:seats_used"}

    def read(pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
        return tuple(
            reading(piece, {topics.get(piece.strip("?"), "field:next_invoice"): near.get(piece.strip("?"), 0.1)})
            for piece in pieces
        )

    assert len(questions_of("", "how many seats do I pay for?", read)) == 1


def test_line_breaks_and_white_space_inside_a_sentence_do_not_matter() -> None:
    """Mail programs break lines where they like."""
    assert asked("What is\r\nmy   plan\r\ncalled?") == ("What is my plan called?",)


# properties

ORDINARY = st.sampled_from(
    ["How do I w{}?", "what is w{} and when is w{} due?", "My w{} is w{}.", "I want a w{}.", "w{} w{}",
     "Please send w{}.", "1. w{}, w{}", "- can I w{}", "Wie geht w{}? Und w{}!", "¿Cuándo w{}?",
     "The w{} is broken; w{}?", "w{}? how do i w{} it. can i w{} it"]
)  # fmt: skip
GREETINGS = st.sampled_from(["", "Hello,", "Dear team", "Guten Tag,"])
SIGN_OFFS = st.sampled_from(["", "Thanks", "Kind regards,", "Viele Grüße"])
SPACES = st.sampled_from([" ", "\n", "\n\n"])


@st.composite
def mails(draw: st.DrawFn) -> tuple[str, int]:
    """A mail and how many numbered words (w0, w1, ...) it has between greeting and sign-off."""
    count = 0
    body = ""
    for pattern in draw(st.lists(ORDINARY, min_size=1, max_size=8)):
        numbers = range(count, count + pattern.count("{}"))
        count += len(numbers)
        body += pattern.format(*numbers) + draw(SPACES)
    return f"{draw(GREETINGS)}\n\n{body}\n\n{draw(SIGN_OFFS)}\n", count


@settings(deadline=None)
@given(mail=mails())
def test_every_word_of_a_mail_is_in_one_question_in_its_order(mail: tuple[str, int]) -> None:
    """Nothing between greeting and sign-off is lost, doubled or moved, however it is cut."""
    text, count = mail
    questions = questions_of("Subject", text, read_apart)
    assert re.findall(r"w\d+", " ".join(questions)) == [f"w{n}" for n in range(count)]
    assert questions
    assert all(question.strip() for question in questions)


PIECES = ["Hi,", "Thanks", "?", ".", "and", "when", "1.", "-", "what", "PS", "is it", "\n\n", "\n"]


@settings(deadline=None)
@given(
    subject=st.text(max_size=30),
    text=st.text(max_size=120) | st.lists(st.sampled_from(PIECES)).map(" ".join),
)
def test_the_questions_are_the_customers_own_words(subject: str, text: str) -> None:
    """Over any text: the customer wrote each character, in that order, but the subject's full stop."""
    questions = questions_of(subject, text, read_apart)
    assert questions
    written = iter(_bare(subject + text))
    assert all(character in written for character in _bare("".join(questions)))
    if _bare(subject + text):
        assert all(questions)


def _bare(text: str) -> str:
    return "".join(text.split()).replace(".", "")


def test_each_item_of_a_numbered_list_is_a_question() -> None:
    """Whoever numbers what they ask says how many questions there are, also where one is only a complaint."""
    text = "Hey,\n\n1. How do I install the app?\n2. On my laptop some photos stay grey.\n\nNoah"
    assert asked(text) == ("1. How do I install the app?", "2. On my laptop some photos stay grey.")


def test_a_condition_is_part_of_the_question_after_it() -> None:
    """A clause with "when" or "if" is no question of its own."""
    sentence = "How much is outstanding? And when a payment fails like mine did, how long is it until you act?"
    assert asked(sentence) == (
        "How much is outstanding?",
        "And when a payment fails like mine did, how long is it until you act?",
    )


def test_the_name_below_a_mail_is_no_part_of_the_question() -> None:
    """A name would be looked for among the topics."""
    assert asked("Where are my invoices?\n\nOlivia Brown\nBrown & Daughters Bakery") == ("Where are my invoices?",)
    assert asked("Invoice Copy") == ("Invoice Copy",)


def test_the_subject_of_a_reply_asks_nothing_beside_a_text_that_asks_nothing() -> None:
    """ "That did the trick" is no question about what the thread was about."""
    assert asked("Perfect, that did the trick.", "Re: Sharing with outsiders") == ("Perfect, that did the trick.",)
    assert asked("Please see below", "Sharing with outsiders")[0].startswith("Sharing with outsiders.")


@pytest.mark.parametrize("greeting", ["Hello Acme,", "Hi Anna and team!", "Hallo Frau Keller:", "Hola equipo Acme,"])
def test_a_greeting_goes_whoever_is_greeted(greeting: str) -> None:
    """A name in it would be looked for among the topics."""
    assert asked(f"{greeting} where are my invoices?") == ("where are my invoices?",)


def test_a_line_with_a_question_is_no_sign_off() -> None:
    """The failure's story: "And when was I charged? Please think before printing." was left out as a footer."""
    assert asked("Which plan am I on?\n\nThanks, can I have a refund for it?")[-1].endswith("refund for it?")


def test_a_word_in_a_script_without_capitals_is_no_name() -> None:
    """The last line of such a mail was taken for a name."""
    assert "请取消" in asked("我的账户\n请取消")[0]


def test_what_is_asked_in_a_question_leaves_out_its_story() -> None:
    """Where nothing asks, all of it may."""
    assert asked_in("We moved. How do I cancel it? It rains.", read_apart) == ["How do I cancel it?"]
    assert asked_in("We moved. It rains.", read_apart) == ["We moved.", "It rains."]
