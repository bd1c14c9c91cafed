"""A staff member's words: what a mail program copied of the packet stays in the house, and no words are lost."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest

from support_agent.answer.render import render
from support_agent.answer.sources import RenderedPacket
from support_agent.ops.template_samples import sample_packets
from support_agent.outbound.staff_words import own_words, unfit
from tests.fakes_journey import Office


def packet_and_its_text(office: Office) -> tuple[RenderedPacket, str]:
    rendered = render(next(sample_packets("en")), office.decider.templates)
    return rendered, rendered.text.text


MARKS: dict[str, Callable[[str], str]] = {
    "none": lambda packet: packet,
    "greater": lambda packet: packet.replace("\n", "\n> "),
    "initials": lambda packet: "HS> " + packet.replace("\n", "\nHS> "),
    "bars": lambda packet: "| " + packet.replace("\n", "\n| "),
    "no-break spaces": lambda packet: packet.replace(" ", "\u00a0"),
    "nested": lambda packet: "> > | " + packet.replace("\n", "\n> > | "),
}


@pytest.mark.parametrize("mark", MARKS)
def test_what_a_mail_program_copied_of_the_packet_is_not_the_persons_own_words(office: Office, mark: str) -> None:
    """A quotation in a form that nobody knows stands in the visible text; the packet is for staff only."""
    packet, text = packet_and_its_text(office)
    words = own_words(f"We look at it.\n\nDesk kirjoitti 12.00:\n{MARKS[mark](text)}", packet)
    assert words == "We look at it.\n\nDesk kirjoitti 12.00:"
    assert unfit(words, packet) == ""


@pytest.mark.parametrize(
    "spoil",
    [
        lambda packet: " ".join(packet.split()),
        lambda packet: "\nHS> ".join(packet[at : at + 9] for at in range(0, len(packet), 9)),
        lambda packet: next(line for line in packet.splitlines() if line.startswith("Why the level")) + " Bye.",
        lambda packet: f"This is case-17, {packet[:5]}",
    ],
    ids=["one line", "cut anew", "within a line", "case id"],
)
def test_words_that_still_quote_the_packet_are_not_passed_on(office: Office, spoil: Callable[[str], str]) -> None:
    """Where no line is known again, a piece of it is enough: in doubt the packet stays in the house."""
    packet, text = packet_and_its_text(office)
    words = own_words(f"We look at it. {spoil(text)}", packet)
    assert "still quotes the packet" in unfit(words, packet)


def test_what_the_customer_wrote_and_was_told_may_be_repeated(office: Office) -> None:
    """The packet quotes it, yet it is no secret from the customer."""
    packet, _ = packet_and_its_text(office)
    said = "You wrote:\n> please send it.\nWe said: Your plan: Team. Write to ana@example.com or support@example.com."
    assert own_words(said, packet) == said
    assert unfit(said, packet) == ""


@pytest.mark.parametrize("width", [30, 50, 200])
def test_a_quotation_with_other_line_breaks_below_the_words_is_taken_away(office: Office, width: int) -> None:
    """Mail programs wrap what they quote; with words of the staff below it the reply goes back to the desk."""
    packet, text = packet_and_its_text(office)
    quoted = "".join(f"> {line}\n" for line in textwrap.wrap(" ".join(text.split()), width))
    assert own_words(f"We look at it.\n\n{quoted}", packet) == "We look at it."
    within = own_words(f"We look at it.\n\n{quoted}\nAnd this stands below.", packet)
    assert "still quotes the packet" in unfit(within, packet)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("more", ["Yes, until May.", "Please send us the invoice number.", "OK\n\nAnna"])
def test_words_below_what_a_mail_program_copied_of_the_packet_are_not_lost(
    office: Office, mark: str, more: str
) -> None:
    """Failure: the customer got the words above it, and nobody was told of the others."""
    packet, text = packet_and_its_text(office)
    words = own_words(f"We look at it.\n\nDesk kirjoitti 12.00:\n{MARKS[mark](text)}\n{more}", packet)
    assert "still quotes the packet" in unfit(words, packet)


def test_words_below_a_line_that_a_person_copied_out_of_the_packet_are_not_lost(office: Office) -> None:
    """Failure: the reply ended at that line."""
    packet, text = packet_and_its_text(office)
    line = next(line for line in text.splitlines() if line.startswith("Why the level"))
    words = own_words(f"Dear Ana,\n\n{line}\nPlease send us the invoice number.", packet)
    assert "answer above it or delete the quotation" in unfit(words, packet)


@pytest.mark.parametrize(
    "changed",
    [
        lambda packet: re.sub(r"(support@\S+example)", r"\1<mailto:\1>", packet),
        lambda packet: "\n".join(f"HS> {piece}" for line in packet.splitlines() for piece in textwrap.wrap(line, 40)),
        lambda packet: packet[: len(packet) // 2],
        lambda packet: "\n".join(packet.splitlines()[5:20] + packet.splitlines()[30:]),
        lambda packet: re.sub(r"\n+", "\n\n", packet),
    ],
    ids=["links", "long lines broken", "cut off", "lines deleted", "blank lines"],
)
def test_a_copy_of_the_packet_that_a_mail_program_changed_hides_no_words(
    office: Office, changed: Callable[[str], str]
) -> None:
    packet, text = packet_and_its_text(office)
    assert changed(text) != text
    words = own_words(f"We look at it.\n\n{changed(text)}", packet)
    assert (words, unfit(words, packet)) == ("We look at it.", "")
