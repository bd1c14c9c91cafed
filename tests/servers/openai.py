"""An OpenAI-compatible server on loopback that says exactly what a test tells it to, sense or nonsense."""

from __future__ import annotations

import gzip
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from support_agent.models.server import MOST_BYTES

HOLD_S = 20.0
"""Longest time that a reply is held back, should a test forget to close the server."""
MEET_S = 120.0
"""Longest time that requests wait for each other, on a machine that does other work, too."""
TRICKLE_S = 0.02
TOOL = "choose"


@dataclass(frozen=True)
class Reply:
    """One answer of the server; `held` never comes, `trickles` sends a byte now and then and never ends."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    held: bool = False
    trickles: bool = False
    location: str = ""
    encoding: str = ""


def message(*, finish_reason: str = "tool_calls", logprobs: Mapping[str, Any] | None = None, **fields: Any) -> Reply:
    """A chat completion whose message has these fields."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "logprobs": logprobs,
        "message": {"role": "assistant", "content": None, **fields},
    }
    completion = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47},
    }
    return Reply(json.dumps(completion).encode())


def tool_call(arguments: str, *, name: str = TOOL) -> dict[str, Any]:
    """One call, as it stands in a message."""
    return {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}}


def pick(option: str, *, probability: float | None = None) -> Reply:
    """The call a well-behaved server makes; with a probability it also tells those of its tokens."""
    arguments = json.dumps({"choice": option}, ensure_ascii=False)
    logprobs = None if probability is None else {"content": spelled(arguments, option, probability)}
    return message(tool_calls=[tool_call(arguments)], logprobs=logprobs)


def spelled(arguments: str, option: str, probability: float) -> list[dict[str, Any]]:
    """Token probabilities of the arguments: the option is one token of this probability, the rest certain."""
    before, name, after = arguments.partition(json.dumps(option, ensure_ascii=False)[1:])
    probabilities = ((before, 1.0), (name, probability), (after, 1.0))
    return [token(text, chance) for text, chance in probabilities]


def token(text: str, probability: float, others: Sequence[tuple[str, float]] = ()) -> dict[str, Any]:
    """A token as it stands among the log-probabilities, with its alternatives."""
    alternatives = [
        {"token": other, "logprob": math.log(chance), "bytes": None} for other, chance in ((text, probability), *others)
    ]
    return {"token": text, "logprob": math.log(probability), "bytes": None, "top_logprobs": alternatives}


def failure(status: int, text: str = "no") -> Reply:
    """An error in the shape that OpenAI gives it."""
    error = {"error": {"message": text, "type": "error", "param": None, "code": None}}
    return Reply(json.dumps(error).encode(), status)


HUGE = (
    pytest.param(Reply(b" " * (MOST_BYTES + 1)), id="long"),
    pytest.param(Reply(gzip.compress(b" " * 1000), encoding="gzip"), id="packed"),
)
"""Replies that would fill the memory of who reads, or unpacks, all of them."""


class FakeOpenAI:
    """The server; the last of `replies` is given again and again."""

    def __init__(self) -> None:
        self.replies: list[Reply | Callable[[dict[str, Any]], Reply]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.meeting: threading.Barrier | None = None
        """Where set, so many requests wait for each other before any is answered."""
        self.most_at_once = 0
        self.at_once = 0
        self.counting = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def answer(self, *replies: Reply | Callable[[dict[str, Any]], Reply]) -> None:
        """From now on these, in this order; a function makes its reply of the request."""
        self.replies = list(replies)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A request whose answer has not begun."""
        with self.counting:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self.counting:
                self.at_once -= 1

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    fake: FakeOpenAI

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up waiting is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        fake = self.server.fake
        with fake.counted():
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append(request)
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            if fake.meeting is not None:
                fake.meeting.wait(MEET_S)
            next_one = fake.replies.pop(0) if len(fake.replies) > 1 else fake.replies[0]
            reply = next_one if isinstance(next_one, Reply) else next_one(request)
        if reply.held:
            fake.released.wait(HOLD_S)
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        if reply.location:
            self.send_header("Location", reply.location)
        if reply.encoding:
            self.send_header("Content-Encoding", reply.encoding)
        if not reply.trickles:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
        while reply.trickles and not fake.released.wait(TRICKLE_S):
            self.wfile.write(b" ")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    """A server without an answer yet."""
    server = FakeOpenAI()
    yield server
    server.close()
