"""Requests to an OpenAI-compatible server; the errors for failed ones, and what to do; and a cooldown after timeouts.

Checked by tests/unit/models/test_openai.py and tests/unit/models/test_openai_writing.py.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import httpx2

from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError

MOST_BYTES = 4_000_000
"""Most bytes of a reply: the longest legitimate one, with token probabilities, has some 100 kB."""
MOST_TOKENS = 10_000_000
"""Most tokens of a request; a server that reports more, or a negative number, would break every budget."""


class _Refused(PermanentError):
    """A reply that is too long to read to its end."""

    code = "model_reply"


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a reply, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > MOST_BYTES:
                raise _Refused(f"the model's server sent more than {MOST_BYTES} bytes: check model.base_url")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class NoAnswer(TransientError):
    """The server did not answer in time."""

    code = "model"


class Cooldown:
    """Leaves a server alone that hangs: nobody waits for it for a while.

    Otherwise each mail would wait for its timeouts, and mails that need no model would wait behind them.

    Args:
        max_timeouts: In a row, of all threads.
        cooldown_s: Seconds without a request; then the next request decides.
        clock: Monotonic seconds.
    """

    def __init__(self, max_timeouts: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._max_timeouts, self._cooldown_s, self._clock = max_timeouts, cooldown_s, clock
        self._counting = threading.Lock()
        self._late, self._until = 0, clock()

    @contextmanager
    def unless_cooling(self) -> Iterator[None]:
        """Make a request in this block, and count how it ends.

        Raises:
            TransientError: the server cools down (code `model`), or what the block raised.
        """
        if self._late >= self._max_timeouts and self._clock() < self._until:
            what = f"the model's server did not answer {self._max_timeouts} times in a row"
            raise TransientError(f"{what}, and is not asked for {self._cooldown_s:g} s", code="model")
        try:
            yield
        except NoAnswer:
            with self._counting:
                self._late, self._until = self._late + 1, self._clock() + self._cooldown_s
            raise
        except SupportAgentError:
            self._late = 0
            raise
        self._late = 0


def http_client(timeout_s: float, max_connections: int) -> httpx2.AsyncClient:
    """The HTTP client: follows no redirects, unpacks nothing, and stops endless replies.

    Args:
        timeout_s: Seconds for each part of an exchange, and for a free connection.
        max_connections: Most connections; each is kept for the next request.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
            raise _Refused("the model's server packs its replies unasked: let it send them plain")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)

    return httpx2.AsyncClient(
        timeout=timeout_s,
        limits=httpx2.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound]},
    )


def error_of_status(status: int, base_url: str, name: str) -> SupportAgentError:
    """The error for an HTTP status above 299; it repeats no text of a mail or a reply.

    Args:
        status: The server's status.
        base_url: The setting `model.base_url`.
        name: The setting `model.name`.
    """
    answered = f"the model's server at {base_url} answered {status}"
    if status in (401, 403):
        return ConfigError(f"{answered}: check model.api_key and what it may use")
    if status == 404:
        return ConfigError(f"{answered}: check model.base_url, which often ends in /v1, and model.name ({name})")
    if status < 400:
        return ConfigError(f"{answered}, a redirect: set model.base_url to where it points")
    if status >= 500 or status in (408, 409, 425, 429):
        return TransientError(answered, code="model")
    todo = "use a model that can call tools and whose context holds the request"
    return PermanentError(f"{answered}: {todo}", code="model_request")


def error_of_connection(error: BaseException, base_url: str) -> SupportAgentError:
    """The error for a server that does not answer, or whose reply is too long."""
    if isinstance(error.__cause__, _Refused):
        return error.__cause__
    return TransientError(f"no connection to the model's server at {base_url}", code="model")


def check_server(base_url: str, name: str) -> None:
    """Refuse unusable settings of a server.

    Raises:
        ConfigError: no URL, or no name.
    """
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"model.base_url is {base_url!r}: write a URL such as http://localhost:8000/v1")
    if not name:
        raise ConfigError("model.name is empty: write the name of a model that model.base_url serves")
