"""Decide whether a mail may be answered automatically: a table of rules, of which the first that matches decides.

Invariant: no mail that a rule matches is answered automatically, and the decision needs only the mail and the settings:
no model, no database, no network. Checked by tests/unit/mail/machines/test_screening.py and, with the mails shipped
with the program, by `support-agent conformance`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from enum import StrEnum
from typing import NamedTuple

from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.config.senders import SenderSettings
from support_agent.core.frozen import Frozen
from support_agent.mail.addresses import is_own, parse_fields
from support_agent.mail.keys import ORIGIN_HEADER, Origin, is_own_message_id, read_origin
from support_agent.mail.machines.automatic_wording import why_automatic
from support_agent.mail.machines.bounces import why_bounce
from support_agent.mail.machines.machine_headers import (
    CAME_TO_FIELDS,
    REPORT_PARTS,
    auto_submitted,
    empty_return_path,
    is_list_posting,
    service_field,
    vendor_fields,
)
from support_agent.mail.message import NO_FROM, Message
from support_agent.mail.senders.lists import entry_for
from support_agent.mail.text.attachment_text import speaks_through_attachments
from support_agent.mail.text.closing import why_closing
from support_agent.mail.text.decoding import decode_words, token_of
from support_agent.mail.text.person_word import asks_for_person

NO_LISTS = SenderSettings()


class Verdict(StrEnum):
    """What happens to a mail. `file`: kept and shown, never answered. `drop`: recorded as our own mail or a loop."""

    ANSWER = "answer"
    FILE = "file"
    DESK = "desk"
    DROP = "drop"


class Screening(Frozen):
    """The result. `rule` is the id of the rule that decided, None for `answer`; `why` is for the timeline and the
    desk. `is_refused`: a staff reply that is not passed on, and whose writer must hear so. `vote` is the version of the
    fitted vote that decided, for the operator; "" if a rule did."""

    verdict: Verdict
    rule: str | None
    why: str
    is_refused: bool = False
    vote: str = ""


class Case(NamedTuple):
    """What a rule may read."""

    message: Message
    agent: AgentSettings
    desk: DeskSettings
    is_customer: Callable[[str], bool]
    is_staff_reply: Callable[[], bool]
    senders: SenderSettings = NO_LISTS


class Rule(NamedTuple):
    """One rule.

    `finds` says why the rule matches a mail, or "". `is_automatic`: it matches only mail that a machine wrote.
    `is_of_writer`: it reads only fields that mailing lists never add.
    """

    id: str
    what: str
    source: str
    verdict: Verdict
    finds: Callable[[Case], str]
    is_automatic: bool = False
    is_of_writer: bool = False


def screen(
    message: Message,
    agent: AgentSettings,
    desk: DeskSettings,
    is_customer: Callable[[str], bool] = lambda address: False,
    is_staff_reply: Callable[[], bool] = lambda: False,
    senders: SenderSettings = NO_LISTS,
) -> Screening:
    """Apply the rules to a mail.

    A staff reply that one of `REFUSING_RULES` would file gets the verdict `desk` and is refused: it is not passed on,
    but its writer must hear so. It is filed if anything besides says that a program wrote it, because a notice could
    start a loop.

    Args:
        message: As parsed.
        agent: Our addresses, key and loop limits.
        desk: The words by which a customer asks for a person.
        is_customer: Whether the company knows an address; mail from a known customer's odd address goes to a person
            (S8).
        is_staff_reply: Whether an authenticated member of our staff answers a packet with this mail. The desk's address
            may be a mailing list, so fields that lists add do not count then; fields of automatic replies still do.
        senders: The senders whose mail is filed.
    """
    case = Case(message, agent, desk, is_customer, is_staff_reply, senders)
    for rule in RULES:
        if why := rule.finds(case):
            is_refused = _is_refused(rule, case)
            verdict = Verdict.DESK if is_refused else rule.verdict
            return Screening(verdict=verdict, rule=rule.id, why=why, is_refused=is_refused)
    return Screening(verdict=Verdict.ANSWER, rule=None, why="no rule forbids an automatic answer")


def why_machine(message: Message, agent: AgentSettings, desk: DeskSettings) -> str:
    """Why a mail counts as a machine's, whichever rule decides about it; "" for a person's.

    For a list posting only fields that the writer's program sets count, because the list adds fields of its own.
    """
    case = Case(message, agent, desk, lambda address: False, lambda: False)
    if is_list_posting(message):
        return next(filter(None, (rule.finds(case) for rule in RULES if rule.is_of_writer)), "")
    return next(filter(None, (rule.finds(case) for rule in RULES if rule.is_automatic)), "") or _bulk(case)


BOUNCE_RULE = "S1"
"""Bounces: filed by their header, sent to the desk by their wording."""
AUTO_REPLY_RULE = "S2"
NAME_RULE = "S8"
REFUSING_RULES = frozenset({"S5", "S6", NAME_RULE, "S14"})
"""Rules that also match mail which people write: servers, lists and spam filters add such fields, and a mailbox that
people share may have a machine's name."""
OWN_MAIL_RULE = "S9"
UNREADABLE_RULE = "S15"
BLOCK_RULE = "blocked"
"""The configuration blocks the sender."""
PERSON_RULE = "person"
"""The mail asks for a person, so it goes to the desk."""
CLOSING_RULE = "closing"
"""The mail only withdraws or closes a request, so it goes to the desk."""
MACHINE_NAME = re.compile(
    r"mailer[-_.]?daemon|mdaemon|mail[-_.]?delivery([-_.].*)?|postmaster|owner-.+|listserv|majordomo"
    r"|bounces?([-+=].*[\d=].*)?"
    r"|(.+[-_.])?(do[-_.]?)?(no|not)[-_.]?(reply|respond)([-_.+].*)?"
    r"|ne[-_.]?pas[-_.]?repondre|(no|nao)[-_.]?respond(er|a)|no[-_.]?contestar|non[-_.]?rispondere"
    r"|(bitte[-_.]?)?nicht[-_.]?antworten|keine[-_.]?antwort|auto[-_.]?(reply|respond(er)?|mailer)"
)
MAYBE_MACHINE_NAME = re.compile(r"bounce.*|.+-bounces?|.+-owner|.+-request|daemon|nobody")
"""Names that lists and servers use, and people too: "home-owner", "feature-request", "bounce-castle"."""
AUTO_PRECEDENCE = frozenset({"auto_reply", "auto-reply"})
"""Values of Precedence that only auto-responders set."""
ENCRYPTED_TYPES = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
PGP_MESSAGE = "-----BEGIN PGP MESSAGE-----"
CALENDAR_TYPES = frozenset({"text/calendar", "application/ics"})
RESENT_FIELDS = ("Resent-To", "Resent-Cc")


def _too_many_hops(case: Case) -> str:
    received = len(case.message.all_headers("Received"))
    if received > case.agent.max_received:
        return f"{received} Received fields, more than {case.agent.max_received}: a loop between servers"
    hops = max((origin.hops for origin in _origins(case)), default=0)
    return f"{hops} automatic answers led to this mail: a loop" if hops >= case.agent.max_hops else ""


def _own_mail(case: Case) -> str:
    sender = case.message.from_
    if sender is not None and is_own(sender.addr, case.agent):
        return f"From is our own address {sender.addr}"
    if any(origin.is_ours for origin in _origins(case)):
        return "carries our signed origin header"
    if is_own_message_id(case.agent.secrets, case.message.message_id):
        return "its Message-ID is one of ours"
    return ""


def _auto_submitted(case: Case) -> str:
    return next((field for token, field in auto_submitted(case.message) if token != "no"), "")


def _report(case: Case) -> str:
    types = case.message.content_types
    declared = case.message.header("Content-Type") or ""
    if types[:1] == ("multipart/report",) or "report-type=" in declared.lower():
        return "a report about another mail (multipart/report)"
    return next((f"holds a {kind}" for kind in types if kind in REPORT_PARTS), "")


def _mailing_list(case: Case) -> str:
    for name, value in case.message.headers:
        lower = name.lower()
        if lower.startswith(("list-", "x-mailman-")) or lower == "mailing-list":
            return "" if case.is_staff_reply() else f"{name}: {value}"[:200]
    return ""


def _precedence(case: Case) -> str:
    return _bulk(case) or ("" if case.is_staff_reply() else _of_precedence(case, {"list"}))


def _bulk(case: Case) -> str:
    """Low precedence except "list", which lists set on people's postings; and the values that auto-responders set."""
    return _of_precedence(case, {"bulk", "junk", *AUTO_PRECEDENCE})


def _of_precedence(case: Case, kinds: Set[str]) -> str:
    for name in ("Precedence", "X-Precedence"):
        for value in case.message.all_headers(name):
            if token_of(value) in kinds:
                return f"{name}: {value}"
    return ""


def _is_refused(rule: Rule, case: Case) -> bool:
    """Whether nothing but this one of `REFUSING_RULES` files a staff reply."""
    return rule.id in REFUSING_RULES and case.is_staff_reply() and not _is_automatic_reply(case, rule)


def _is_automatic_reply(case: Case, rule: Rule) -> bool:
    """Whether something besides this rule says that a program wrote a mail, by its header or wording.

    S1, S2 and S3 have decided before. Fields of ticket systems do not count, because people write through these.
    """
    message = case.message
    return bool(
        _of_precedence(case, AUTO_PRECEDENCE)
        or next(vendor_fields(message), "")
        or (rule.id != NAME_RULE and _machine_name(case))
        or why_bounce(message)
        or why_automatic(message.subject, message.visible_text)
    )


def _suppressed(case: Case) -> str:
    for value in case.message.all_headers("X-Auto-Response-Suppress"):
        if set(re.split(r"[,;\s]+", value.lower())) & {"all", "autoreply", "oof"}:
            return f"X-Auto-Response-Suppress: {value}"
    return ""


def _machine_name(case: Case) -> str:
    sender = case.message.from_
    if sender is not None:
        local = sender.addr.rpartition("@")[0]
        return f"From is {sender.addr}" if MACHINE_NAME.fullmatch(local) else ""
    fields = case.message.all_headers("From")
    if len(fields) > 1:
        return ""
    value = fields[0] if fields else ""
    is_group = ":" in value and ";" in value
    return "" if "@" in value and not is_group else "From has no address"


def _may_have_unread_sender(case: Case) -> str:
    """A defect besides the missing From: the mail may have a From field in a part that could not be read."""
    others = [defect for defect in case.message.defects if defect != NO_FROM and not defect.startswith("From ")]
    is_there = any("@" in value for value in case.message.all_headers("From"))
    return others[0] if others and case.message.from_ is None and not is_there else ""


def _maybe_machine_name(case: Case) -> str:
    sender = case.message.from_
    is_meant = sender is not None and MAYBE_MACHINE_NAME.fullmatch(sender.addr.rpartition("@")[0])
    # Of a staff reply the wording decides, as of any other.
    return f"From is {sender.addr}" if sender is not None and is_meant and not case.is_staff_reply() else ""


def _machine_name_of_customer(case: Case) -> str:
    sender = case.message.from_
    why = _machine_name(case)
    is_customer = why and sender is not None and case.is_customer(sender.addr)
    return f"{why}, a known customer" if is_customer and not case.is_staff_reply() else ""


def _unclear_sender(case: Case) -> str:
    return "" if case.message.from_ is not None else "From does not name exactly one address"


def _spam_verdict(case: Case) -> str:
    """Only the topmost field counts: our server puts its own above those that the mail already had."""
    for verdict in case.agent.spam_verdicts:
        name, _, wanted = (text.strip() for text in verdict.partition(":"))
        value = case.message.header(name)
        if value is not None and _has_element(value.lower(), wanted.lower()):
            return f"our server takes it for spam: {name}: {value}"[:200]
    return ""


def _blocked(case: Case) -> str:
    """Forged or not: a mail that only says that it comes from there gets nothing either."""
    sender = case.message.from_
    entry = entry_for(sender.addr, case.senders.block) if sender is not None else ""
    return f"senders.block has {entry!r}" if entry and not case.is_staff_reply() else ""


def _has_element(value: str, wanted: str) -> bool:
    """Whether a header value is a word, begins with it, or has it as one of its elements separated by semicolons."""
    first = re.split(r"[\s,;]", value.strip(), maxsplit=1)[0]
    return wanted in {first, value.strip(), *(element.strip() for element in value.split(";"))}


def _not_addressed(case: Case) -> str:
    if not (case.agent.address or case.agent.aliases):
        return ""
    named = {address.addr for address in (*case.message.to, *case.message.cc)}
    for field in (*RESENT_FIELDS, *CAME_TO_FIELDS):
        named |= {address.addr for address in parse_fields(case.message.all_headers(field), decode_words).found}
    is_addressed = any(is_own(address, case.agent) for address in named)
    return "" if is_addressed else "none of our addresses is among the recipients"


def _unreadable(case: Case) -> str:
    types = set(case.message.content_types)
    if case.message.why_not_whole:
        return case.message.why_not_whole
    if types & ENCRYPTED_TYPES or PGP_MESSAGE in case.message.text:
        return "the mail is encrypted"
    if types & CALENDAR_TYPES:
        return "a calendar entry"
    is_silent = not case.message.visible_text.strip() and not speaks_through_attachments(case.message)
    return "there is no text of the sender's own" if is_silent else ""


def _asks_for_person(case: Case) -> str:
    for text in (case.message.subject, case.message.visible_text):
        if words := asks_for_person(text, case.desk.person_words):
            return f"the customer asks for a person: {words!r}"
    return ""


def _origins(case: Case) -> list[Origin]:
    values = case.message.all_headers(ORIGIN_HEADER)
    return [origin for value in values if (origin := read_origin(case.agent.secrets, value)) is not None]


RULES: tuple[Rule, ...] = (
    Rule("S11", "a loop, by its hops", "RFC 5321, 6.3", Verdict.DROP, _too_many_hops),
    Rule(OWN_MAIL_RULE, "our own mail", "RFC 3834, 2 and 6", Verdict.DROP, _own_mail),
    Rule("S37", "From may be in a part that was not read", "practice", Verdict.DESK, _may_have_unread_sender),
    Rule(
        BOUNCE_RULE,
        "no return path",
        "RFC 3834, 2",
        Verdict.FILE,
        lambda case: empty_return_path(case.message),
        is_automatic=True,
    ),
    Rule("S3", "a report", "RFC 6522, 3464, 8098, 5965", Verdict.FILE, _report, is_automatic=True, is_of_writer=True),
    Rule(
        AUTO_REPLY_RULE,
        "Auto-Submitted",
        "RFC 3834, 2 and 5; RFC 5436",
        Verdict.FILE,
        _auto_submitted,
        is_automatic=True,
        is_of_writer=True,
    ),
    Rule("S4", "mail of a list", "RFC 2369, RFC 2919", Verdict.FILE, _mailing_list),
    Rule("S5", "low precedence", "practice", Verdict.FILE, _precedence),
    Rule("S6", "wants no automatic reply", "MS-OXCMAIL, 2.2.3.2.14", Verdict.FILE, _suppressed, is_automatic=True),
    Rule(
        "S7",
        "a vendor's header for automatic mail",
        "practice",
        Verdict.FILE,
        lambda case: next(vendor_fields(case.message), ""),
        is_automatic=True,
    ),
    Rule("S14", "spam by our own server's verdict", "practice", Verdict.FILE, _spam_verdict),
    Rule(BLOCK_RULE, "a blocked sender", "senders.block", Verdict.FILE, _blocked),
    Rule(NAME_RULE, "a known customer with a machine's name", "RFC 3834, 2", Verdict.DESK, _machine_name_of_customer),
    Rule(NAME_RULE, "a machine's name, or no name", "RFC 3834, 2", Verdict.FILE, _machine_name, is_automatic=True),
    Rule(NAME_RULE, "a name that machines and people use", "RFC 3834, 2", Verdict.DESK, _maybe_machine_name),
    Rule("S22", "From is ambiguous", "RFC 5322, 3.6", Verdict.DESK, _unclear_sender),
    Rule(
        BOUNCE_RULE,
        "a bounce by its wording",
        "practice: no header",
        Verdict.DESK,
        lambda case: why_bounce(case.message),
        is_automatic=True,
    ),
    Rule(
        AUTO_REPLY_RULE,
        "an automatic reply by its wording",
        "practice: no header",
        Verdict.DESK,
        lambda case: why_automatic(case.message.subject, case.message.visible_text),
        is_automatic=True,
    ),
    Rule(
        "S7",
        "a header of a ticket system or mass mailer",
        "practice",
        Verdict.DESK,
        lambda case: service_field(case.message),
        is_automatic=True,
    ),
    Rule("S10", "not addressed to us", "RFC 3834, 2", Verdict.DESK, _not_addressed),
    Rule(UNREADABLE_RULE, "encrypted, calendar, empty, too big", "practice", Verdict.DESK, _unreadable),
    Rule(
        CLOSING_RULE,
        "withdraws or closes, and asks nothing",
        "the customer's own word",
        Verdict.DESK,
        lambda case: why_closing(case.message.subject, case.message.visible_text),
    ),
    Rule(PERSON_RULE, "asks for a person", "the customer's own word", Verdict.DESK, _asks_for_person),
)
