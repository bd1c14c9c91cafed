"""The parts of whole mails beside their items: an answer's frame, an acknowledgement, a packet for the desk.

Invariant: a packet alone holds the customer's own text and passages of the web, and goes to staff. Checked by
tests/unit/answer/test_packet.py and tests/unit/answer/test_provenance.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.formatting import (
    bare_subject,
    clean_lines,
    format_clock,
    format_confidence,
    format_count,
    format_weekday,
)
from support_agent.answer.packet import Packet
from support_agent.answer.shapes import (
    Group,
    Shape,
    TextPart,
    computed,
    counted,
    inbound,
    itself,
    never,
    verbatim,
    word,
)
from support_agent.answer.sources import CustomerSource, SettingsSource, SubjectSource

MadeFrom = FinalAnswer | Acknowledgement | Packet | Digest | Alarm
"""The data of a mail."""


def _is_partial(final: FinalAnswer) -> bool:
    return final.n_remaining > 0


def _without_prefix(subject: str, _: str) -> str | None:
    return bare_subject(subject) or None


_SUBJECT = TextPart(SubjectSource, "subject", _without_prefix, is_required=never, is_optional=True)
_OF_COMPANY = (
    TextPart(SettingsSource, "company", is_required=never),
    TextPart(SettingsSource, "support_address"),
    _SUBJECT,
)
ACKNOWLEDGEMENT = Shape(
    parts=(
        *_OF_COMPANY,
        computed("open_day", lambda at, tag: format_weekday(at.date(), tag), read="opens_at", is_optional=True),
        computed("open_time", lambda at, tag: format_clock(at.time(), tag), read="opens_at", is_optional=True),
        TextPart(SettingsSource, "time_zone", read="opens_in", is_required=never, is_optional=True),
        TextPart(SettingsSource, "reply_hours", format_count, read="reply_within_h", is_optional=True),
    ),
    facts={"is_one_hour": lambda acknowledgement: acknowledgement.reply_within_h == 1},
)
COUNTS = Shape(
    parts=(
        computed("answered", format_count, read="n_answered", is_required=_is_partial),
        computed("asked", format_count, is_required=_is_partial),
        computed("remaining", format_count, read="n_remaining", is_required=never),
    ),
    facts={
        "is_one_answered": lambda final: final.n_answered == 1,
        "is_one_remaining": lambda final: final.n_remaining == 1,
        "is_partial": _is_partial,
    },
)
"""How many of the mail's questions are answered."""
_NAME = TextPart(CustomerSource, "name", name="greeting_name", is_required=never, is_optional=True)
ANSWER = Shape(parts=(*_OF_COMPANY, _NAME), groups=(Group("counts", COUNTS, read=itself),))


def _confidence(probability: float, _: str) -> str:
    return format_confidence(probability)


def _until(instant: datetime, _: str) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"


def _in_utc(instant: datetime, tag: str) -> str:
    return _until(instant.astimezone(UTC), tag)


def _lines(text: str | None) -> tuple[str, ...]:
    return clean_lines(text or "")


def _with_word(number: int, _: object) -> Mapping[str, object]:
    """The position of an entry that has a word of words.yaml: sources of words count by `answer` and `item`."""
    return {"index": number, "answer": 0, "item": number}


_RUNNER_UP = Shape(
    parts=(
        inbound("runner_up", name="call", is_required=never),
        inbound("runner_up_confidence", _confidence, name="confidence", is_required=never),
    )
)
_CONSIDERED = Shape(
    parts=(inbound("call"), inbound("confidence", _confidence), inbound("outcome")),
    groups=(Group("runners_up", _RUNNER_UP, counted("nested")),),
)
_OFFERED = Shape(
    parts=(
        word("command", name="words", read="code", is_required=never, is_optional=True),
        inbound("command_title", name="title", is_required=never, is_optional=True),
        inbound("command_line", name="line", is_required=never),
        inbound("command_link", name="link", is_required=never),
    )
)
_FOUND = Shape(
    parts=(
        inbound("document_number", name="number"),
        inbound("document_title", name="title", is_required=never),
        inbound("document_score", _confidence, name="score", is_required=never),
    )
)
_QUOTED = Shape(
    parts=(inbound("evidence_position", name="position", is_required=never), inbound("evidence_sentence", name="text"))
)
_EVIDENCE = Shape(
    parts=(
        inbound("evidence_number", name="number"),
        inbound("evidence_title", name="title", is_required=never),
        inbound("evidence_grade", _confidence, name="grade", is_required=never, is_optional=True),
    ),
    groups=(Group("sentences", _QUOTED, counted("nested")),),
)
_PAGE = Shape(
    parts=(
        inbound("page_address", name="address"),
        inbound("page_heading", name="heading", is_required=never, is_optional=True),
        inbound("page_document", name="document", is_required=never, is_optional=True),
        inbound("page_found_by", name="found_by", read=lambda page: ", ".join(page.found_by), is_required=never),
        inbound("page_text", name="text"),
    )
)
_RETRIEVAL = Shape(
    parts=(
        inbound("question_number", name="number"),
        inbound("question", is_required=never),
        inbound("finding_code", name="code", read="reason_code"),
        word("finding", name="words", read="reason_code", is_required=never, is_optional=True),
    )
)


_STORY = Shape(
    parts=(
        inbound("story_who", name="who"),
        inbound("story_at", _in_utc, name="at", is_required=never),
    ),
    groups=(
        Group(
            "lines",
            inbound("story_line", verbatim, read=itself, is_required=never),
            counted("nested"),
            read=lambda entry: _lines(entry.text),
        ),
    ),
)


def _layout_of_packet(view: Any, packet: Packet) -> Mapping[str, object]:
    """Attach evidence to its question, and the question's number to pages; both are numbered across questions."""
    ends = list(accumulate(len(retrieval.evidence) for retrieval in packet.retrievals))
    for retrieval, one, end in zip(packet.retrievals, view.looked, ends, strict=True):
        one.evidence = view._evidence[end - len(retrieval.evidence) : end]
    both = zip(packet.retrievals, view.looked, strict=True)
    asked = [one.number for retrieval, one in both for _ in retrieval.pages]
    for page, number in zip(view.pages, asked, strict=True):
        page.question = number
    return {}


PACKET = Shape(
    parts=(
        inbound("case_id"),
        inbound("customer_address"),
        inbound("customer_reply_to", is_required=never, is_optional=True),
        inbound("level"),
        word("level", name="level_words", read="level", is_required=never, is_optional=True),
        inbound("level_why", is_required=never),
        inbound("subject", _without_prefix, is_required=never, is_optional=True),
        inbound("left_out", format_count, is_optional=True),
        inbound("original_id", is_optional=True),
        inbound("story_left_out", format_count, is_required=never, is_optional=True),
        inbound("reason_code"),
        word("reason", name="reason_words", read="reason_code", is_required=never, is_optional=True),
        inbound("why", is_required=never, is_optional=True),
        inbound("reply_address"),
        inbound("proposed_id", is_optional=True),
        inbound("leaves_at", _until, is_required=never, is_optional=True),
        inbound("offered_until", _until, is_required=never, is_optional=True),
    ),
    groups=(
        Group(
            "mail_lines",
            inbound("mail_line", verbatim, read=itself, is_required=never),
            counted("index"),
            read=lambda packet: _lines(packet.mail_text),
        ),
        Group(
            "answered_lines",
            inbound("answered_line", verbatim, read=itself, is_required=never),
            counted("index"),
            read=lambda packet: _lines(packet.answered_text),
        ),
        Group(
            "proposed_lines",
            inbound("proposed_line", verbatim, read=itself, is_required=lambda line: bool(line.strip())),
            counted("index"),
            read=lambda packet: _lines(packet.proposed_text),
        ),
        Group("offered", _OFFERED, _with_word),
        Group("story", _STORY, counted("index")),
        Group("considered", _CONSIDERED, counted("index")),
        Group("found", _FOUND, counted("index")),
        Group("looked", _RETRIEVAL, _with_word, read="retrievals"),
        Group("_evidence", _EVIDENCE, counted("index"), read="evidence"),
        Group("pages", _PAGE, counted("index")),
    ),
    facts={
        "is_about_nobody": lambda packet: packet.about_mail_id == "",  # no customer is known whom it is for
        "is_not_carried_out": lambda packet: packet.reason_code == "not_carried_out",
        "is_not_passed_on": lambda packet: packet.reason_code in ("not_passed_on", "not_kept"),
        "is_out_of_reach": lambda packet: packet.reason_code in ("not_kept", "undelivered_unreadable"),
    },
    layout=_layout_of_packet,
    layout_names=frozenset({"evidence", "question"}),
)


def _day(instant: datetime, tag: str) -> str:
    return format_weekday(instant.date(), tag)


def _hours(hours: float, _: str) -> str:
    return f"{hours:.1f}"


def _share(kind: str, *more: TextPart) -> Shape:
    """A name with the number of mails; the sources of each list have names of their own."""
    return Shape(
        parts=(
            inbound(f"{kind}_name", name="name"),
            inbound(f"{kind}_title", name="title", is_required=never, is_optional=True),
            inbound(f"{kind}_mails", format_count, name="mails"),
            *more,
        )
    )


_REASON_WORDS = word("reason", name="words", read="name", is_required=never, is_optional=True)
_GROWN = Shape(
    parts=(
        inbound("grown_topic", name="topic"),
        inbound("grown_title", name="title", is_required=never, is_optional=True),
        inbound("grown_before", format_count, name="before"),
        inbound("grown_now", format_count, name="now"),
    ),
    facts={"is_sure": lambda grown: grown.is_sure},
)
_AGE = Shape(
    parts=(
        inbound("age_least", format_count, name="least_days"),
        inbound("age_below", format_count, name="below_days", is_optional=True),
        inbound("age_cases", format_count, name="cases"),
    ),
    facts={"is_one_day": lambda age: age.below_days == 1},
)
DIGEST = Shape(
    parts=(
        inbound("week_since", _day, name="since"),
        inbound("week_until", _day, name="until"),
        *(
            inbound(f"week_{name}", format_count, name=name)
            for name in ("mails", "answered", "partly_answered", "escalated", "filed", "waiting")
        ),
        inbound("people_answered", format_count),
        inbound("people_open", format_count),
        inbound("median_hours", _hours, is_optional=True),
        inbound("ninetieth_hours", _hours, is_optional=True),
    ),
    groups=(
        Group("answered_by", _share("answered_by"), counted("index")),
        Group("reasons", _share("reason", _REASON_WORDS), _with_word),
        Group("filed_by", _share("filed_by"), counted("index")),
        Group("grown", _GROWN, counted("index")),
        Group("ages", _AGE, counted("index")),
    ),
    facts={
        "is_one_mail": lambda digest: digest.mails == 1,
        "is_one_answered": lambda digest: digest.answered == 1,
        "is_one_case_answered": lambda digest: digest.people_answered == 1,
        "is_one_case_open": lambda digest: digest.people_open == 1,
    },
)


def _number(number: float, _: str) -> str:
    return f"{number:g}"


ALARM = Shape(
    parts=(
        inbound("alarm_kind", name="kind"),
        inbound("alarm_what", name="what"),
        inbound("alarm_todo", name="todo", is_required=never, is_optional=True),
        inbound("alarm_since", _in_utc, name="since"),
        inbound("alarm_at", _in_utc, name="at", is_required=never),
        inbound("alarm_again_h", _number, name="again_h", is_required=never),
    ),
    facts={
        "has_begun": lambda alarm: alarm.state == "begun",
        "lasts": lambda alarm: alarm.state == "lasts",
        "has_ended": lambda alarm: alarm.state == "ended",
    },
)
