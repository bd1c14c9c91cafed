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

from support_agent.company.text import collapse, split_sentences

_GREETING = re.compile(
    r"^(hi|hello|hey|dear|good (morning|afternoon|evening|day)|greetings|hallo|guten (tag|morgen|abend)|"
    r"sehr geehrte\w*|liebe\w*|moin|servus|hola|buen[oa]s\b|estimad\w+|to whom it may concern)\b"
    r"[^.?!]{0,40}[,.!:;]?$",
    re.IGNORECASE,
)
_GREETING_START = re.compile(
    r"^(hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|hola)"
    r"(?:(?: (?:there|team|all|everyone|support|zusammen|liebes team|equipo))*\s*[,!.:]|(?: \w+){1,3}\s*[,!:])\s*",
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
    r"^(and |also,? |so |but |plus,? |then,? |if (not|so),? |after (?:that|which),? |afterwards,? |second(ly)?,? |"
    r"another (thing|question):? |und |"
    r"außerdem |falls nicht,? |danach |y |además,? |si no,? |luego |[-*\d.)]+ )*"
    r"(what|when|where|which|who|whose|why|how|can|could|may|is|are|am|do|does|did|will|would|should|"
    r"has|have|any chance|"
    r"please|pls|tell me|show me|send me|give me|list|let me know|explain|"
    r"was|wann|wo|welche\w*|wer|warum|wie|wieso|kann|könn\w+|ist|sind|gibt|darf|bitte|habe ich|haben sie|"
    r"qué|que tengo|cuándo|cuando|dónde|cuál\w*|quién|cómo|como|cuánt\w+|puedo|puede\w*|es posible|"
    r"hay|por favor|quiero|¿)\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\b(i|we|i'd|we'd)( also| just| only| really| still| now)? (want|need|would like|wish|like|require|forgot|lost|"
    r"can ?not|can'?t|could ?n'?t|cannot)\b|"
    r"\b(i'd|we'd|i would|we would) (like|love|prefer)\b|"
    r"\b(wondering|curious|looking for|trying to|unable to|how to|not working|does ?n'?t|won'?t|is ?n'?t|"
    r"fails?|failed|failing|stuck|error|broken|refuses?|rejected|declined)\b|"
    r"\b(ich (möchte|will|brauche|würde|kann)|funktioniert nicht|geht nicht|fehler|"
    r"quisiera|necesito|me gustaría|no puedo|no funciona)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(please|pls|bitte|por favor)\b|"
    r"^(and |also,? |so |but |then,? )*(cancel|delete|remove|change|reduce|increase|add|refund|send|update|reset|"
    r"upgrade|downgrade|close|stop|disable|enable|turn|switch|set|give|move|transfer|extend|pause|renew|invite|block|unlock|"
    r"restore|help|do not|don['\u2019]t)\b",
    re.IGNORECASE,
)
_FOOTER = re.compile(
    r"\b(intended recipients?|confidential\w*|vertraulich\w*|confidencial\w*|before printing|unsubscribe|"
    r"received this (e-?mail|message) in error|virus)\b",
    re.IGNORECASE,
)
"""What firms write below every mail; it asks nobody."""
_JOINED = re.compile(
    r"(?:,? (?:and|und|y|also|plus|as well as|but)(?: also| please)?|[,;]) "
    r"(?=(?:(?:after (?:that|which)|then|afterwards|if (?:not|so)|danach|dann|falls nicht|después|luego|si no),? )?"
    r"(?:under )?"
    r"(?:(?:what|when|where|who)(?:['\u2019]?s)?|which|how (?:do|can|much|many|long|often|is|are)|can (?:i|we|you)|"
    r"could (?:i|we|you)|is (?:it|there)|do (?:i|we|you)|"
    r"wann|wie (?:kann|viel)|welche\w*|kann ich|cuándo|cuánt\w+|cómo|qué) )",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)]) )")
_WITHOUT_CAPITAL = re.compile(r"(?<=\?) |(?<=[^\W\d_]{3}[.!]) ")
_REPLY = re.compile(r"^((re|aw|fw|fwd|wg|rv)\s*:\s*)+", re.IGNORECASE)
_POSTSCRIPT = re.compile(r"^p\.? ?s\b", re.IGNORECASE)
_SUBORDINATE = re.compile(
    r"^(?:and |but |und |y )?(?:if|should|wenn|falls|sollte|si|cuando|"
    r"when (?!do|does|did|is|are|will|can|was|would|should|may|must)\w+) ",
    re.IGNORECASE,
)
"""A clause that says on which condition the next one asks."""
LAST_STATEMENT = re.compile(r"(?<=[.:!]) ")
_MARKER = re.compile(r"^\d+[.)]$")
LIST_ITEM = re.compile(r"^([-*•]|\d+[.)]) ")
NAME_WORDS = 4
"""A line of so many words or fewer may be the name at the end of a mail."""
SHORT_LINE = 60
"""A line of so many characters or more is no sign-off of its own."""
MIN_WORDS = 3
"""Fewer words between question marks are an exclamation ("Right?"), not a question."""


def questions_of(subject: str, text: str) -> tuple[str, ...]:
    """The customer's questions in the order of the mail, one at least.

    Args:
        subject: The mail's subject; it is the question where the text asks nothing, and context of a single
            one. That of a reply was written for another mail: beside a text that asks nothing it does not count.
        text: What the customer wrote now, without quotation and signature.
    """
    sentences = _sentences(text)
    groups: list[list[str]] = []
    context: list[str] = []
    for sentence in sentences:
        for clause in clauses_of(sentence):
            if LIST_ITEM.match(clause) and len(clause.split()) > MIN_WORDS:
                groups.append([*context, clause])
                context = []
            elif not asks(clause):
                (groups[-1] if groups else context).append(clause)
            elif groups and not is_question(clause) and not is_question(groups[-1][0]):
                groups[-1].append(clause)
            else:
                groups.append([*context, clause])
                context = []
    if len(groups) <= 1:
        is_inherited = not groups and sentences and _REPLY.match(subject.strip())
        whole = collapse(" ".join(["" if is_inherited else _clean_subject(subject), *(sentences or [text])]))
        return (whole or collapse(subject),)
    return tuple(collapse(" ".join(group)) for group in groups)


def _sentences(text: str) -> list[str]:
    """The sentences but greetings and sign-offs; below a sign-off what asks, or a postscript, still counts."""
    kept: list[str] = []
    is_signed_off = False
    for block in _blocks(text):
        if not block:
            is_signed_off = bool(kept)  # "Thanks for your quick answer." can open a mail as well
            continue
        body = _GREETING_START.sub("", collapse(" ".join(block)))
        is_after_all = not is_signed_off or bool(_POSTSCRIPT.match(body))
        for sentence in _split(body):
            if not _is_sign_off(sentence) and (is_after_all or _asks_below(sentence)):
                kept.append(sentence)
    return kept


def _split(body: str) -> list[str]:
    """The sentences; where no capital parts them, two are two if both ask ("my plan? how do i cancel")."""
    parts: list[str] = []
    for sentence in split_sentences(body):
        first, *others = _WITHOUT_CAPITAL.split(sentence)
        if parts and _MARKER.match(parts[-1]):
            parts[-1] = f"{parts[-1]} {first}"
        else:
            parts.append(first)
        for part in others:
            if is_question(parts[-1]) and is_question(part):
                parts.append(part)
            else:
                parts[-1] = f"{parts[-1]} {part}"
    return parts


def _blocks(text: str) -> list[list[str]]:
    """The lines of each paragraph and list item, without greetings; an empty block stands for a sign-off."""
    blocks: list[list[str]] = []
    for paragraph in _PARAGRAPH.split(text):
        block: list[str] = []
        for line in filter(None, map(str.strip, paragraph.splitlines())):
            if len(line) < SHORT_LINE and _is_sign_off(line):
                blocks += [block, []] if block else [[]]
                block = []
            elif not _is_greeting(line):
                block.append(line)
        if block:
            blocks.append(block)
    return _without_names(blocks)


def _without_names(blocks: list[list[str]]) -> list[list[str]]:
    """Without the lines at the end that are names; at least one line stays."""
    while sum(map(len, blocks)) > 1 and (not blocks[-1] or _is_name(blocks[-1][-1])):
        blocks = [*blocks[:-1], *([blocks[-1][:-1]] if blocks[-1][1:] else [])]
    return blocks


def _is_name(line: str) -> bool:
    """Whether a line at the end of a mail is a name or a company: a few capitalised words that end nothing."""
    words = line.split()
    return len(words) <= NAME_WORDS and line[-1] not in "?!:" and all(not word[0].islower() for word in words)


def _is_greeting(line: str) -> bool:
    """Whether a line greets and no more: "Hello please cancel my account" asks, too."""
    words = line.split()
    return bool(_GREETING.match(line)) and not any(asks(" ".join(words[n:])) for n in range(1, len(words)))


def _is_sign_off(text: str) -> bool:
    """Whether a text thanks or parts and no more: "Thanks, but the link is broken" does not."""
    return bool(_SIGN_OFF.match(text)) and not asks(text)


def _asks_below(sentence: str) -> bool:
    return asks(sentence) and not _FOOTER.search(sentence)


def is_order(clause: str) -> bool:
    """Whether a clause tells us to do something."""
    return bool(_ORDERS.search(clause)) and len(clause.split()) >= MIN_WORDS


def clauses_of(sentence: str) -> list[str]:
    """The clauses of a sentence that ask each for itself; one without a second question stays whole."""
    parts = _JOINED.split(sentence)
    if len(parts) < 2 or not is_question(LAST_STATEMENT.split(parts[0])[-1]):
        return [sentence]
    clauses = [parts[0]]
    for part in parts[1:]:
        if len(part.split()) >= MIN_WORDS and not _SUBORDINATE.match(clauses[-1]):
            clauses.append(part)
        else:
            clauses[-1] = f"{clauses[-1]} {part}"
    return clauses


def asks(clause: str) -> bool:
    """Whether a clause is a question, a wish or an order."""
    return is_question(clause) or bool(_WISHES.search(clause)) or is_order(clause)


def is_question(clause: str) -> bool:
    words = len(clause.split())
    return (clause.rstrip().endswith("?") or bool(_ASKS_FIRST.match(clause))) and words >= MIN_WORDS


def _clean_subject(subject: str) -> str:
    cleaned = _REPLY.sub("", subject.strip())
    return cleaned if not cleaned or cleaned[-1] in ".?!" else f"{cleaned}."
