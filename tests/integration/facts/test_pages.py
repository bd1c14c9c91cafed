"""Pages are read once while they are kept, and one that cannot be read costs itself alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from support_agent.config.search import SearchSettings
from support_agent.errors import TransientError
from support_agent.facts.web.client import FetchLimits, WebClient
from support_agent.facts.web.pages import PageReader, WebPage, in_time
from tests.fakes_search import HandClock
from tests.servers.web import Reply, web_server


def reader_of(url: str, clock: HandClock | None = None, **values: Any) -> PageReader:
    """A reader that may read there."""
    limits = FetchLimits(timeout_s=10.0, max_bytes=100_000, user_agent="test")
    return PageReader(SearchSettings(**values), WebClient(limits, trusted=[url]), clock or HandClock())


def read_all(reader: PageReader, addresses: Sequence[str], timeout_s: float = 10.0) -> list[WebPage | None]:
    """Each page, or None."""

    async def read() -> list[WebPage | None]:
        return await reader.read_all(addresses, asyncio.get_running_loop().time() + timeout_s)

    return asyncio.run(read())


def test_a_page_is_read_once_while_it_is_kept() -> None:
    clock = HandClock()
    with web_server(lambda _: Reply(b"<title>Plans</title><p>Hello")) as web:
        reader = reader_of(web.url, clock, cache_max_age_s=60)
        for _ in range(2):
            assert read_all(reader, [f"{web.url}/a"]) == [WebPage(address=f"{web.url}/a", title="Plans", text="Hello")]
        assert len(web.asked) == 1
        clock.move(60)
        read_all(reader, [f"{web.url}/a"])
        assert len(web.asked) == 2


def test_what_cannot_be_read_is_none_in_its_place() -> None:
    replies = {"/empty": Reply(b"<p> "), "/image": Reply(b"x", "image/png"), "/gone": Reply(status=410)}
    with web_server(lambda request: replies.get(request.path, Reply(b"<p>Hello"))) as web:
        paths = ["empty", "a", "image", "gone", "b"]
        found = read_all(reader_of(web.url), [f"{web.url}/{path}" for path in paths])
    assert [page is not None for page in found] == [False, True, False, False, True]


def test_a_charset_that_is_declared_wrongly_does_no_harm() -> None:
    kinds = {"/a": "text/html; charset=utf-8", "/b": "text/html; charset=klingon", "/c": "text/html"}
    with web_server(lambda request: Reply("Größe".encode("cp1252"), kinds[request.path])) as web:
        found = read_all(reader_of(web.url), [f"{web.url}{path}" for path in kinds])
    assert [page.text if page else "" for page in found] == ["Größe"] * 3


def test_a_long_page_is_used_from_its_beginning() -> None:
    with web_server(lambda _: Reply(b"<p>word" + b" word" * 10_000)) as web:
        (page,) = read_all(reader_of(web.url, max_page_characters=400), [web.url])
    assert page is not None
    assert page.text == " ".join(["word"] * 80)


def test_what_is_done_in_time_is_not_lost_with_what_is_not() -> None:
    """In order; nobody waits for what hangs, nor does an unforeseen error get out."""

    async def hang() -> str:
        await asyncio.Event().wait()
        return "never"

    async def say(text: str) -> str:
        return text

    async def fail(error: Exception) -> str:
        raise error

    async def work() -> list[str | None]:
        deadline = asyncio.get_running_loop().time() + 0.05
        return await in_time([say("a"), hang(), fail(TransientError("no")), fail(KeyError("x")), say("b")], deadline)

    assert asyncio.run(work()) == ["a", None, None, None, "b"]


def test_work_that_is_no_longer_wanted_is_ended() -> None:
    """Its own time being up, or that of the one who asked."""
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    async def work() -> None:
        async with asyncio.timeout(0.05):
            await in_time([hang(), hang()], asyncio.get_running_loop().time() + 60)

    with pytest.raises(TimeoutError):
        asyncio.run(work())
    assert ended == ["ended", "ended"]
