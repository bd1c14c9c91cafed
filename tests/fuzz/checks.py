"""What must hold for any bytes that somebody may send us.

Invariant: a check knows nothing of how an input was made; it fails with an exception, and with nothing else. Whatever
is stuck is ended by an alarm, also inside a regular expression.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import FrameType

from pydantic import SecretStr

from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.config.settings import Settings
from support_agent.errors import PermanentError
from support_agent.mail.addresses import normal_address
from support_agent.mail.keys import message_id, origin_header
from support_agent.mail.machines.bounces import read_bounce
from support_agent.mail.machines.screening import Verdict, screen
from support_agent.mail.message import Message, parse
from support_agent.mail.outgoing import OutgoingHead, compose, next_hops, reply_subject, thread_references
from support_agent.mail.senders.identity import identify
from support_agent.mail.text.quotation import split_quotation
from support_agent.ops.inspection import inspect_file
from support_agent.planner.questions import questions_of
from tests.fakes_reading import read_apart

AGENT = AgentSettings(
    address="support@harborfile.example",
    aliases=("help@harborfile.example",),
    authserv_ids=("mx.harborfile.example",),
    secret=SecretStr("0123456789abcdef0123456789abcdef"),
    verify_dkim=True,
)
DESK = DeskSettings(address="desk@harborfile.example")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MARK = b"Auto-Submitted: auto-replied\r\n"
MAX_LINE_OCTETS = 998
MAX_NAMED = 500
SETTINGS = Settings(agent=AGENT, desk=DESK)


class TookTooLong(BaseException):
    """The alarm; no `except Exception` on the way keeps it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End what runs longer with `TookTooLong`; main thread of a process on POSIX only."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(raw: bytes) -> None:
    """Take a mail through all that reads it.

    Raises:
        Exception: any at all; this is what is looked for.
    """
    message = parse(raw)
    check_same(raw, message)
    check_inspection(raw, message)
    check_bounce(raw, message)
    check_split(message)
    check_sender(message)
    check_thread(message)
    questions_of(message.subject, message.visible_text, read_apart)
    if screen(message, AGENT, DESK, _is_customer).verdict is Verdict.ANSWER:
        check_answer(raw, message)


def check_same(raw: bytes, message: Message) -> None:
    """The same bytes are the same Message, and it survives being written down."""
    assert parse(raw) == message, "the same bytes gave another Message"
    written = json.dumps(message.model_dump(mode="json"), ensure_ascii=False).encode()
    assert Message.model_validate_json(written) == message, "the Message changed on its way through JSON"


def check_inspection(raw: bytes, message: Message) -> None:
    """`inspect` has a line of JSON for it, and no error."""
    path = _scratch_file()
    path.write_bytes(raw)
    found = inspect_file(path, SETTINGS, _is_customer, NOW, _no_record)
    assert found.error is None, found.error
    line = found.model_dump_json(by_alias=True)
    assert "\n" not in line
    assert json.loads(line)["message_id"] == message.message_id
    is_marked = any(value.strip().lower().startswith("auto-") for value in message.all_headers("Auto-Submitted"))
    assert found.screening.verdict is not Verdict.ANSWER or not is_marked, "an automatic mail may be answered (S2)"


def check_bounce(raw: bytes, message: Message) -> None:
    """A bounce names addresses and ids that can be looked up, and only so many (S64)."""
    bounce = read_bounce(message, raw)
    if bounce is not None:
        assert all(address == normal_address(address) for address in bounce.recipients), bounce.recipients
        assert len(bounce.recipients) + len(bounce.original_message_ids) + len(bounce.envelope_ids) <= MAX_NAMED


def check_split(message: Message) -> None:
    """Nothing is there twice: visible, quoted and signature are no longer than the text."""
    split = split_quotation(message.text)
    parts = (split.visible, split.quoted, split.signature)
    assert sum(map(len, parts)) <= len(message.text) + len(parts), "the parts are longer than the whole"


def check_sender(message: Message) -> None:
    """Who has no single From address, or an address of ours to believe, has no level (S20 to S22)."""
    sender = identify(message, AGENT, _is_customer)
    assert message.from_ is not None or sender.level == 0, "a level for nobody"
    results = message.all_headers("Authentication-Results")
    is_checked = any("mx.harborfile.example" in value.lower() for value in results)
    assert is_checked or sender.level == 0, "a level that our own server did not give"


def check_thread(message: Message) -> None:
    """What is taken over from a mail into an answer's header is one line and bounded."""
    assert len(" ".join(thread_references(message))) <= 2 * MAX_LINE_OCTETS
    assert next_hops(message, AGENT) >= 1
    categories = {unicodedata.category(char) for char in reply_subject(message.subject)}
    assert not categories & {"Cc", "Cs", "Zl", "Zp"}, "a control character in the subject"


def check_answer(raw: bytes, message: Message) -> None:
    """A mail that may be answered can be answered, and not if it says that it is automatic (S2)."""
    marked = screen(parse(MARK + raw), AGENT, DESK, _is_customer)
    assert marked.verdict is not Verdict.ANSWER, "an automatic mail may be answered"
    assert message.from_ is not None, "an answer to nobody"
    own_id = message_id(AGENT.secret, "harborfile.example", "C-1", message.raw_sha256, "answer")
    head = OutgoingHead(
        message_id=own_id,
        sent_at=NOW,
        to=message.from_.addr,
        from_address=AGENT.address,
        from_name=AGENT.name,
        origin=origin_header(AGENT.secret, own_id, next_hops(message, AGENT)),
    )
    try:
        answer = compose(head, subject=reply_subject(message.subject), text="Yes.\n", html="<p>Yes.", parent=message)
    except PermanentError as error:
        if error.code != "address_refused":  # that one is right: nobody could send to it
            raise
        return
    names = [line.partition(b":")[0] for line in answer.partition(b"\r\n\r\n")[0].split(b"\r\n") if line[:1].strip()]
    assert len(names) == len(set(names)), "a header field was added"
    assert max(map(len, answer.split(b"\r\n"))) <= MAX_LINE_OCTETS
    assert parse(answer).message_id == own_id


def _is_customer(address: str) -> bool:
    return address.endswith("@example.net")


def _no_record(_name: str, _timeout_s: float) -> tuple[bytes, ...]:
    return ()


@cache
def _scratch_file() -> Path:
    """One file for each process, gone with it."""
    folder = tempfile.TemporaryDirectory(prefix=f"fuzz-{os.getpid()}-")
    _KEPT.append(folder)
    return Path(folder.name) / "mail.eml"


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
