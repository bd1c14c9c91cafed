"""The words of a staff member's reply: which of them are the person's own, and why a reply is not passed on.

Invariant: no text that reveals the packet goes to the customer, and no words of the person are lost: in doubt the reply
goes back to the desk. Checked by tests/unit/outbound/test_staff_words.py and tests/journey/test_whole_staff_replies.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from support_agent.answer.formatting import clean_line
from support_agent.answer.sources import InboundSource, RenderedPacket
from support_agent.cases.commands import holds_command
from support_agent.mail.machines.screening import ENCRYPTED_TYPES, PGP_MESSAGE
from support_agent.mail.message import Message
from support_agent.mail.text.body import LIMIT

TELLING_CHARACTERS = 12
"""A reply is searched for packet lines of at least this length, without white space."""
CUSTOMERS_OWN = frozenset(
    {
        "mail_line",
        "answered_line",
        "proposed_line",
        "story_line",
        "subject",
        "question",
        "customer_address",
        "customer_reply_to",
        "reply_address",
    }
)
"""Parts of a packet that a reply to the customer may repeat."""
PUBLISHED = frozenset({"document_title", "evidence_title", "evidence_sentence", "page_heading", "page_text"})
"""Parts that stand in the company's documents or on web pages: a file that goes to the customer may be one of them."""
ENCRYPTED = "it is encrypted: send it again without encryption, or write to the customer directly"
"""Why such a reply is not passed on."""
QUOTATION_MARK = re.compile(r"^\s*(?:(?:[^\W\d_]{0,4}[>|}]|[:#*-])\s*)*")
"""What mail programs put before a quoted line: "> ", "| ", "HS> ", "* "."""
ADDED_LINK = re.compile(r"[<(\[](?:https?|mailto):[^\s<>()\[\]]*[>)\]]")
"""What they write after an address or a link in it: "desk@x.example <mailto:desk@x.example>"."""


def own_words(text: str, packet: RenderedPacket) -> str:
    """A staff member's words, up to the first quoted line of our packet, which is for staff only.

    A mail program may break the packet's lines elsewhere; then the words end where nothing but the packet follows.
    Where other words follow the first quoted line nothing is cut off, and the reply is `unfit`.

    Args:
        text: The visible text of the reply; it may still hold a quotation of unknown form.
        packet: The packet that was answered.
    """
    without_story = packet.model_copy(update={"story_of_others": ()})  # its lines alone begin no quotation: `unfit`
    distinctive, lines = _distinctive_pieces(without_story), text.splitlines()
    bare = [_squeezed(QUOTATION_MARK.sub("", line)) for line in lines]
    end = next((place for place, line in enumerate(bare) if line in distinctive), None)
    said = "".join(bare[:end])
    packet_lines = [*map(_letters, packet.text.text.splitlines())]
    if any(piece in said for piece in distinctive):
        end = _end_before_rewrapped([*map(_letters, lines)], packet_lines)
    elif end is not None and _says_more(lines[end:], packet_lines):
        end = None
    return "\n".join(lines[:end]).strip()


def _says_more(lines: Sequence[str], packet: Sequence[str]) -> bool:
    """Whether one of these lines of a reply is not of the packet, whatever its line breaks and the links added to it.

    Args:
        packet: The letters and digits of the packet's lines.
    """
    whole, at = "".join(packet), 0
    for line in lines:
        said = _letters(QUOTATION_MARK.sub("", ADDED_LINK.sub("", line)))
        found = at if whole.startswith(said, at) else whole.find(said)
        is_continued = found == at or len(said) >= TELLING_CHARACTERS
        if said not in packet and (found < 0 or not is_continued):
            return True
        at = found + len(said)
    return False


def _end_before_rewrapped(bare: Sequence[str], packet: Sequence[str]) -> int | None:
    """The first line from which on nothing but the packet follows, whatever its line breaks; None if there is none.

    Args:
        bare: The letters and digits of the reply's lines.
        packet: Those of the packet's lines.
    """
    whole = "".join(packet)
    begins = {len("".join(packet[:place])) for place, line in enumerate(packet) if line}
    for end, line in enumerate(bare):
        rest = "".join(bare[end:])
        if line and any(whole.startswith(rest, place) for place in begins):
            return end
    return None


def why_unreadable(reply: Message) -> str:
    """Why a staff member's reply, or a part of it, cannot be read or passed on as text, and what to do; or ""."""
    if reply.why_not_whole:
        why, todo = reply.why_not_whole.removeprefix(LIMIT), "send it again, shorter or with smaller files"
        return f"it was not read whole ({why}): {todo}, or write to the customer directly"
    if reply.is_crossed_out:
        why = "it has crossed-out text, which would reach the customer as if it were valid"
        return f"{why}: delete it and send it again"
    return ENCRYPTED if not ENCRYPTED_TYPES.isdisjoint(reply.content_types) else ""


def unfit(words: str, packet: RenderedPacket) -> str:
    """Why a staff member's own words are not passed on to the customer, or "".

    In doubt whether the reply still quotes the packet it is not passed on: the packet is for staff only.
    """
    if not words:
        return "your reply has no words of its own"
    if PGP_MESSAGE in words:
        return ENCRYPTED
    if _quotes(words, _distinctive_pieces(packet)):
        return "your reply still quotes the packet: answer above it or delete the quotation"
    return ""


def is_of_packet(text: str, packet: RenderedPacket) -> bool:
    """Whether the text of a file repeats the packet: its case id, its long lines, or a line with a key."""
    return holds_command(text) or _quotes(text, _distinctive_pieces(packet, PUBLISHED))


def _quotes(text: str, pieces: frozenset[str]) -> bool:
    said = _squeezed("".join(QUOTATION_MARK.sub("", line) for line in text.splitlines()))
    return any(piece in said for piece in pieces)


def _distinctive_pieces(packet: RenderedPacket, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Texts that reveal a quoted packet: its case id, and its long lines without the parts a customer may read.

    Of the story the customer may read what she wrote or got, and nothing that another participant did.

    Args:
        known: Further parts that may be read.
    """
    pieces: list[str] = []
    readable: list[str] = []
    others: list[str] = []
    case_ids: set[str] = set()
    for span in packet.text.spans:
        source = span.source if isinstance(span.source, InboundSource) else None
        part = source.part if source is not None else None
        is_of_others = source is not None and part == "story_line" and source.index in packet.story_of_others
        is_readable = part in CUSTOMERS_OWN | known and not is_of_others
        pieces.append("\n" if is_readable or is_of_others else span.text)
        (others if is_of_others else readable if is_readable else []).append(span.text)
        if part == "case_id":
            case_ids.add(_squeezed(span.text))
    own = _squeezed("".join(readable))
    lines = _bare_lines("".join(pieces)) | {line for line in _bare_lines("\n".join(others)) if line not in own}
    return frozenset({line for line in lines if len(line) >= TELLING_CHARACTERS} | case_ids)


def _bare_lines(text: str) -> set[str]:
    return {_squeezed(QUOTATION_MARK.sub("", line)) for line in text.splitlines()}


def _letters(text: str) -> str:
    """The letters and digits: marks before a line stand elsewhere where the lines break elsewhere."""
    return "".join(filter(str.isalnum, clean_line(text)))


def _squeezed(text: str) -> str:
    """The text without white space and invisible characters, which mail programs change."""
    return "".join(clean_line(text).split())
