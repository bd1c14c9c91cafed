"""Which neighbouring questions are one, and which one is several: told by the topics nearest to them.

Invariant: no question is lost in its neighbour, and no word is added. Checked by
tests/unit/planner/test_neighbours.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from support_agent.company.text import split_sentences
from support_agent.planner.questions import LAST_STATEMENT, LIST_ITEM, clauses_of, is_order, is_question

Nearest = Callable[[str], tuple[str, float]]
"""Gives the nearest topic of a text ("document:3", "field:plan") and how near it is, -1..1."""
OWN_TOPIC = 0.45
"""A question whose nearest topic is farther away asks nothing that is known."""
OWN_TOPIC_OF_STATEMENT = 0.7
"""The same for a wish or complaint beside a question. Both chosen on the tuning mails."""
SURE_TOPIC = 0.6
"""Two questions whose nearest topic is the same are about one thing, if it is so near to both."""
NAMED_VALUE = 0.75
"""What is so near to the name of an account value names it."""
LIST_WORDS = 60
"""A longer question is a story, and no list of values."""
ACCOUNT_TOPICS = ("field:", "series:")
_AND = re.compile(r"(?:,? (?:and|und|y|plus|sowie|as well as|along with)(?: also)?|,) ", re.IGNORECASE)
OWN_WORDS = 1
"""A question with so many words of its own asks something, whether or not it is known."""
_REQUESTS = re.compile(
    r"^(?:and |but )?(?:(?:also|additionally),? (?:i|we)\b|(?:i|we)(?:'d| would)? also\b|"
    r"außerdem\b|zusätzlich\b|además\b|también\b)",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(
    r"\b(it|its|(?<!after )that|this|those|these|them|they|one|ones|"
    r"es|das|dies\w*|ihn|sie|damit|dafür|dazu|davon|lo|la|eso|esto|ello|ese|esa)\b",
    re.IGNORECASE,
)
_LITTLE_WORDS = """
    about advise after again all also already always and answer any anyone are asap back before been but can could
    did does doing done else ever exactly find for from get give going happen happens has have help here how into
    its just keep know let like long lot make many may maybe mean more much must myself need new not now off one
    only other our out over please possible quickly really reply respond right see should show some something soon
    still take tell than thank thanks that the their them then there these they thing this those too try under until
    urgently use using very via want was way well were what when where whether which while who why will with work
    works would yes yet you your
    aber alle alles als also auch auf aus bei bin bitte brauche das dass dem den der des die dies doch dort durch
    ein eine einen einer etwas für geben geht gibt habe haben hat hier ich ihnen ihr ihre immer ist jetzt kann kein
    keine können lange machen man mehr mein meine mich mir mit muss nach nicht noch nun nur oder ohne schon sehr
    sein sich sie sind soll tun über und uns unser vom von vor wann war warum was weil welche wenn wer werden wie
    wieder wir wird wissen wo wohin zum zur
    algo alguien aquí así aún cada como cómo con cual cuál cuando cuándo cuánto debo del desde donde dónde ella
    ellos entre era eres ese eso esta está están este esto favor fue gracias hacer hago hasta hay las les los más
    mis mucho muy nos nuestro otra otro para pero poder por porque puede puedo que qué quien quién sin sobre son tan
    tengo tiempo tiene todo una uno usted ustedes
"""
LITTLE_WORDS = frozenset(_LITTLE_WORDS.split())
"""Words that say nothing of what a question is about."""


def parted(questions: Sequence[str], nearest: Nearest) -> tuple[str, ...]:
    """Part a question that names several values of an account: "my plan, the renewal date and my balance".

    Args:
        questions: In the order of the mail.
        nearest: Topics of the company, by similarity.
    """
    kept: list[str] = []
    for question in questions:
        rest = question
        for join in _AND.finditer(question) if len(question.split()) <= LIST_WORDS else ():
            left, right = rest[: join.start() - len(question)], question[join.end() :]
            if _names_value(left, nearest) and _names_value(right, nearest) and nearest(left)[0] != nearest(right)[0]:
                kept.append(left)
                rest = right
        kept.append(rest)
    return tuple(kept)


def _names_value(text: str, nearest: Nearest) -> bool:
    topic, score = nearest(text)
    return topic.startswith(ACCOUNT_TOPICS) and score >= NAMED_VALUE


def folded(questions: Sequence[str], nearest: Nearest) -> tuple[str, ...]:
    """Join neighbours that are one question: about the same topic, or one of them about nothing of its own.

    A question is never lost in its neighbour: one that points back at the question before it ("and how do I switch
    it on?") is asked again together with that one, so that what answers both is said once and what answers the
    second alone is said too; one with words of its own stays alone, even if nothing known is near it.

    Args:
        questions: In the order of the mail, at least one.
        nearest: Topics of the company, by similarity.
    """
    kept = [questions[0]]
    for question in questions[1:]:
        before, after = nearest(kept[-1]), nearest(question)
        is_open = _is_known(kept[-1], before[1])
        is_alike = before[0] == after[0]
        says_nothing = bool(asked_in(question)) and not _own_words(question)
        is_other = is_open and _is_known(question, after[1]) and not is_alike and not says_nothing
        is_new = is_open and _stands_alone(question) and min(before[1], after[1]) < SURE_TOPIC
        is_order_of_its_own = bool(_own_words(question)) and any(map(is_order, asked_in(question)))
        if LIST_ITEM.match(question) or is_other or is_new or (is_open and is_order_of_its_own):
            kept.append(question)
        elif is_open and not is_alike and _points_back(question) and _own_words(question):
            kept.append(f"{kept[-1]} {question}")
        else:
            kept[-1] = f"{kept[-1]} {question}"
    return tuple(kept)


def _is_known(question: str, score: float) -> bool:
    return score >= (OWN_TOPIC if asked_in(question) else OWN_TOPIC_OF_STATEMENT)


def _points_back(question: str) -> bool:
    return any(_REFERS_BACK.search(clause) for clause in asked_in(question))


def _stands_alone(question: str) -> bool:
    """Whether it asks with words of its own, and of nothing that was said before."""
    return len(_own_words(question)) >= OWN_WORDS and not _points_back(question)


def _own_words(question: str) -> set[str]:
    words = {word.lower() for clause in asked_in(question) for word in re.findall(r"[^\W\d_]{3,}", clause)}
    return words - LITTLE_WORDS


def asked_in(question: str) -> list[str]:
    """The clauses that are questions or requests, not wishes or complaints."""
    clauses = [clause for sentence in split_sentences(question) for clause in clauses_of(sentence)]
    ends = [LAST_STATEMENT.split(clause)[-1] for clause in clauses]
    return [clause for clause in ends if is_question(clause) or _REQUESTS.match(clause) or is_order(clause)]
