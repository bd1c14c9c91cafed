"""Cuts a mail into the customer's questions, without a model, so that none is forgotten.

A question is a run of text that asks: a sentence with a question mark, an opening question word, or a wish
or complaint; clauses joined by "and when", "und wie", ... are separate. What asks nothing goes to the
question before it (or the first one after it) as its context. Greetings and sign-offs are dropped. A mail
in which nothing asks is one question, whole. English, German and Spanish are known; another language is one
question, whole.

Invariant: the questions hold only the customer's own words, in order. Checked by
tests/unit/planner/test_questions.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from support_agent.company.text import collapse, split_sentences

_GREETING = re.compile(
    r"^(hi|hello|hey|dear|good (morning|afternoon|evening|day)|greetings|hallo|guten (tag|morgen|abend)|"
    r"sehr geehrte\w*|liebe\w*|moin|servus|hola|buen[oa]s\b|estimad\w+|to whom it may concern)\b"
    r"[^.?!]{0,40}[,.!:;]?$",
    re.IGNORECASE,
)
_GREETING_START = re.compile(
    r"^(hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|hola)"
    r"(?: (?:there|team|all|everyone|support|harborfile|zusammen|liebes team|equipo))*\s*[,!.:]\s*",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    r"^(many |with )?(thanks|thank you|thx|ty|cheers|regards|best|kind(est)? regards|"
    r"best (regards|wishes)|warm regards|sincerely|yours|greetings|all the best|take care|"
    r"danke|vielen dank|besten dank|mfg|mit freundlichen gr\w+|viele gr\w+|"
    r"(liebe|beste|schöne|freundliche) gr\w+|lg|"
    r"gracias|muchas gracias|saludos|un saludo|atentamente|cordialmente)\b"
    r"[^?]{0,60}$",
    re.IGNORECASE,
)
_ASKS_FIRST = re.compile(
    r"^(and |also,? |so |but |plus,? |second(ly)?,? |another (thing|question):? |und |außerdem |y |"
    r"además,? |[-*\d.)]+ )*"
    r"(what|when|where|which|who|whose|why|how|can|could|may|is|are|am|do|does|did|will|would|should|"
    r"has|have|any chance|"
    r"please|pls|tell me|show me|send me|give me|list|let me know|explain|"
    r"was|wann|wo|welche\w*|wer|warum|wie|wieso|kann|könn\w+|ist|sind|gibt|darf|bitte|habe ich|haben sie|"
    r"qué|que tengo|cuándo|cuando|dónde|cuál\w*|quién|cómo|como|cuánt\w+|puedo|puede\w*|es posible|"
    r"hay|por favor|quiero|¿)\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\b(i|we|i'd|we'd) (want|need|would like|wish|like|require|forgot|lost|can ?not|can'?t|"
    r"could ?n'?t|cannot)\b|"
    r"\b(i'd|we'd|i would|we would) (like|love|prefer)\b|"
    r"\b(wondering|curious|looking for|trying to|unable to|how to|not working|does ?n'?t|won'?t|is ?n'?t|"
    r"fails?|failed|failing|stuck|error|broken|refuses|rejected|declined)\b|"
    r"\b(ich (möchte|will|brauche|würde|kann)|funktioniert nicht|geht nicht|fehler|"
    r"quisiera|necesito|me gustaría|no puedo|no funciona)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?:,? (?:and|und|y|also|plus|as well as|but)(?: also| please)?|[,;]) "
    r"(?=(?:what|when|where|which|how (?:do|can|much|many|long|often|is|are)|can (?:i|we|you)|"
    r"could (?:i|we|you)|is (?:it|there)|do (?:i|we|you)|"
    r"wann|wie (?:kann|viel)|welche\w*|kann ich|cuándo|cuánt\w+|cómo|qué) )",
    re.IGNORECASE,
)
MIN_WORDS = 3
"""Fewer words between question marks are an exclamation ("Right?"), not a question."""


def questions_of(subject: str, text: str, *, most: int) -> tuple[str, ...]:
    """The customer's questions in the order of the mail: one at least, `most` at the most, the rest joined.

    Args:
        subject: The mail's subject; it is the question where the text asks nothing, and context of a single
            one.
        text: What the customer wrote now, without quotation and signature.
    """
    sentences = _sentences(text)
    groups: list[list[str]] = []
    context: list[str] = []
    for sentence in sentences:
        for clause in _clauses(sentence):
            if not _asks(clause):
                (groups[-1] if groups else context).append(clause)
            elif groups and not _is_question(clause) and not _is_question(groups[-1][0]):
                groups[-1].append(clause)
            else:
                groups.append([*context, clause])
                context = []
    if len(groups) <= 1:
        whole = collapse(" ".join([_clean_subject(subject), *sentences]))
        return (whole,) if whole else (collapse(text) or collapse(subject),)
    joined = [collapse(" ".join(group)) for group in groups]
    if len(joined) > most:
        joined[most - 1 :] = [collapse(" ".join(joined[most - 1 :]))]
    return tuple(joined)


def _sentences(text: str) -> list[str]:
    kept: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)]) )", text):
        lines = [line.strip() for line in paragraph.splitlines()]
        lines = [line for line in lines if line and not _GREETING.match(line)]
        end = next(
            (i for i, line in enumerate(lines) if _SIGN_OFF.match(line) and len(line) < 60), len(lines)
        )
        body = _GREETING_START.sub("", collapse(" ".join(lines[:end])))
        kept += [sentence for sentence in split_sentences(body) if not _SIGN_OFF.match(sentence)]
        if end < len(lines) and kept:
            break
    return kept


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that ask each for itself; one without a second question stays whole."""
    parts = _JOINED.split(sentence)
    if len(parts) < 2 or not _is_question(parts[0]):
        return [sentence]
    clauses = [parts[0]]
    for part in parts[1:]:
        if len(part.split()) >= MIN_WORDS:
            clauses.append(part)
        else:
            clauses[-1] = f"{clauses[-1]} {part}"
    return clauses


def _asks(clause: str) -> bool:
    return _is_question(clause) or bool(_WISHES.search(clause))


def _is_question(clause: str) -> bool:
    words = len(clause.split())
    return (clause.rstrip().endswith("?") or bool(_ASKS_FIRST.match(clause))) and words >= MIN_WORDS


def _clean_subject(subject: str) -> str:
    cleaned = re.sub(r"^((re|aw|fw|fwd|wg|rv)\s*:\s*)+", "", subject.strip(), flags=re.IGNORECASE)
    return cleaned if not cleaned or cleaned[-1] in ".?!" else f"{cleaned}."


OWN_TOPIC = 0.45
"""A question whose nearest topic is farther away than this asks nothing of its own: it belongs to its neighbour."""
OWN_TOPIC_OF_STATEMENT = 0.6
"""The same for a wish or complaint beside a question. Both chosen on the tuning mails."""


def folded(questions: Sequence[str], nearest: Callable[[str], tuple[str, float]]) -> tuple[str, ...]:
    """Join neighbours that are one question: about the same topic, or one of them about none.

    Args:
        questions: In the order of the mail, at least one.
        nearest: Gives the nearest topic of a text and how near it is, -1..1.
    """
    kept = [questions[0]]
    for question in questions[1:]:
        before, after = _own_topic(kept[-1], nearest), _own_topic(question, nearest)
        if before is None or after is None or before == after:
            kept[-1] = f"{kept[-1]} {question}"
        else:
            kept.append(question)
    return tuple(kept)


def _own_topic(question: str, nearest: Callable[[str], tuple[str, float]]) -> str | None:
    topic, score = nearest(question)
    asks = any(_is_question(clause) for sentence in split_sentences(question) for clause in _clauses(sentence))
    return topic if score >= (OWN_TOPIC if asks else OWN_TOPIC_OF_STATEMENT) else None
