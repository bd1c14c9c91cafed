"""The world itself: a mail arrives a round after it was sent, and an exchange that does not end is seen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fakes_journey import NOON, Clock
from tests.integration.zoo.post_office import Posted, PostOffice, Reader
from tests.integration.zoo.responders import Parrot

FIRST = Posted("one@a.example", "two@b.example", b"From: <one@a.example>\r\nMessage-ID: <1@a.example>\r\n\r\nHello\r\n")


def test_exchange_without_end_is_a_failure() -> None:
    """Two responders that answer everything never stop, and `drain` says so."""
    post = PostOffice(Clock(), (Parrot("one@a.example"), Parrot("two@b.example")))

    with pytest.raises(AssertionError, match="1 mails still move after 12 rounds"):
        post.drain(FIRST, most_rounds=12)

    assert len(post.carried) == 12


def test_clock_goes_on_with_each_round() -> None:
    """The reader's answerer gets the mail a round later, and the reader its answer after two."""
    reader = Reader("one@a.example")
    post = PostOffice(Clock(), (reader, Parrot("two@b.example")), round_length=timedelta(hours=1))

    assert post.drain(FIRST) == 2

    assert len(reader.inbox) == 1
    assert post.clock.instant == NOON + timedelta(hours=2)
