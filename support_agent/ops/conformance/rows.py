"""Runs each row of the rules about mail on its examples (`rows.toml`, `mails/`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import SecretStr

from support_agent.cases.rate_limits import why_limited
from support_agent.config.settings import AgentSettings, DeskSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.mail.machines.bounces import read_bounce
from support_agent.mail.machines.screening import CLOSING_RULE, PERSON_RULE, RULES, Case, Verdict, screen
from support_agent.mail.message import Message, parse
from support_agent.mail.senders.identity import identify
from support_agent.ops.conformance.outgoing import CHECKS

FOLDER = Path(__file__).parent
AGENT = AgentSettings(
    address="support@harborfile.example",
    name="Harborfile Support",
    aliases=("help@harborfile.example",),
    authserv_ids=("mx.harborfile.example",),
    arc_sealers=("lists.example.org",),
    secret=SecretStr("an example's key, which signs nothing that is sent"),
)
DESK = DeskSettings(address="desk@harborfile.example")
CUSTOMER_DOMAIN = "customer.example"
"""Every sender of this domain is a known customer."""
LEVEL = "level_"
ANSWERED, NEAR, OF_CUSTOMER = "answered", "near", "_of_customer"
FAILED, DELAYED, NO_BOUNCE = "failed", "delayed", "no_bounce"
SILENT = "silent"
VISIBLE = "visible"
LETTERS = {"case_is_full": (5, 0), "day_is_full": (0, 10), "there_is_room": (4, 9)}
"""Automatic mails sent before the example: in its case, and to its sender within a day."""
BOUNCED = "tom.berg@example.org of <case-1@harborfile.example>"
"""What each example of a bounce contains: the recipient, and the Message-ID of the returned mail.

Only the store knows whether that mail is ours, so a test proves the matching.
"""


class Described(NamedTuple):
    """A row that is not a screening rule: its meaning, its source, and the test that proves it or a part of it.

    `proven_by` is a `file::test` that needs servers, a store or a model, and so does not run here.
    """

    what: str
    source: str
    proven_by: str = ""


WORDS_ROW = "words"
LAST_ROWS = (*range(100), WORDS_ROW, CLOSING_RULE, PERSON_RULE)
"""Rows in their order: those with a number first."""
MAILBOX = "tests/integration/transport/test_mailbox.py::test_"
IDLE = "tests/integration/transport/test_mailbox_idle.py::test_"
OUTBOX = "tests/integration/transport/test_outbox.py::test_"
DESCRIBED = {
    WORDS_ROW: Described("what the sender wrote now, decoded", "RFC 2045, 2046, 3676"),
    "S12": Described("not too many automatic letters", "RFC 3834, 2"),
    "S13": Described("level 0 gets the desk, and no echo", "practice"),
    "S16": Described("answers go to the From address only", "RFC 3834, 4"),
    "S20": Described("whose results of authentication count", "RFC 8601"),
    "S21": Described("levels 0 to 3", "RFC 7489, 6376"),
    "S22": Described("one From with one address", "RFC 5322, 5890"),
    "S23": Described("seals of configured forwarders only", "RFC 8617"),
    "S24": Described(
        "nobody learns who has an account",
        "no oracle",
        "tests/unit/mail/senders/test_level_oracle.py::test_s24_a_whole_correspondence_below_the_level_is_the_same_for_both",
    ),
    "S30": Described("the cursor", "RFC 3501", f"{MAILBOX}s30_reads_what_comes_after_the_cursor_and_nothing_twice"),
    "S31": Described(
        "a folder that is numbered anew",
        "RFC 3501",
        f"{MAILBOX}s31_a_changed_uid_validity_reads_all_again_and_says_so",
    ),
    "S32": Described(
        "unread stays unread, moves are safe",
        "RFC 6851, 4315",
        f"{MAILBOX}s32_without_move_one_uid_is_copied_and_expunged_and_others_deleted_mails_stay",
    ),
    "S33": Described("IDLE, with polling behind it", "RFC 2177", f"{IDLE}s33_mail_that_comes_ends_the_wait"),
    "S36": Described(
        "TLS verified, XOAUTH2",
        "RFC 8314, 7628",
        f"{MAILBOX}s36_a_certificate_of_a_stranger_or_for_another_name_is_refused",
    ),
    "S37": Described(
        "a bad mail blocks no other",
        "practice",
        f"{MAILBOX}s37_a_mail_over_the_size_limit_comes_as_its_header_with_a_defect",
    ),
    "S40": Described("Auto-Submitted of what we send", "RFC 3834, 5"),
    "S41": Described("In-Reply-To and References", "RFC 5322, 3.6.4"),
    "S42": Described("the Message-ID follows from the case", "HMAC-SHA256"),
    "S43": Described("one Re:, and no line break", "RFC 2047"),
    "S44": Described("From and Reply-To are ours", "RFC 3834, 3"),
    "S45": Described("X-Auto-Response-Suppress", "MS-OXCMAIL"),
    "S49": Described("two bodies, short lines, nothing attached", "RFC 5322, 2.1.1"),
    "S50": Described("a keyed origin with a hop count", "RFC 3834, 2"),
    "S51": Described(
        "each answer says that it is automatic",
        "EU AI Act, 50",
        "tests/unit/ops/test_check.py::test_a_template_without_the_notice_is_found",
    ),
    "S60": Described("AUTH after TLS only", "RFC 6409, 8314", f"{OUTBOX}s60_login_comes_after_tls"),
    "S61": Described(
        "what is tried again",
        "RFC 5321, 3463",
        f"{OUTBOX}s61_s62_whatever_the_server_does_the_state_says_what_is_known",
    ),
    "S62": Described(
        "lost after the final dot: uncertain",
        "RFC 5321, 4.5.3.2.6",
        f"{OUTBOX}s61_s62_whatever_the_server_does_the_state_says_what_is_known",
    ),
    "S64": Described(
        "what a bounce says, and which mail of ours it is about",
        "RFC 3464",
        "tests/unit/outbound/test_delivery_reports.py::test_s64_a_bounce_that_names_our_mail_makes_it_a_persons",
    ),
    "S66": Described(
        "a copy in Sent, once",
        "RFC 6154",
        "tests/integration/outbound/test_sent_folder.py::test_s66_connection_that_dies_at_any_byte_leaves_one_copy",
    ),
}


class ExampleResult(Frozen):
    """One example mail: what should come out, and what did."""

    name: str
    expected: str
    found: str
    is_passed: bool


class RowResult(Frozen):
    """One row; `proven_by` names a test that needs servers, a store or a model, and then `examples` may be empty.

    `result` is "tests" if no example of the row runs here.
    """

    id: str
    result: Literal["pass", "FAIL", "tests"]
    what: str
    source: str
    proven_by: str
    examples: tuple[ExampleResult, ...]

    @property
    def is_passed(self) -> bool:
        return self.result != "FAIL"


def run_rows(folder: Path = FOLDER) -> tuple[RowResult, ...]:
    """Run every row.

    Args:
        folder: With `rows.toml` and `mails/`.
    Raises:
        ConfigError: a file of the installation is missing or cannot be read.
    """
    rows = _table(folder)
    names = sorted({*rows, *DESCRIBED, *(rule.id for rule in RULES)}, key=_order)
    return tuple(_row(name, rows.get(name, {}), folder) for name in names)


def _row(name: str, expected: dict[str, list[str]], folder: Path) -> RowResult:
    described = DESCRIBED.get(name, Described("", ""))
    rules = [rule for rule in RULES if rule.id == name]
    examples = tuple(_run(name, expected, folder))
    if any(not example.is_passed for example in examples) or not (examples or described.proven_by):
        result: Literal["pass", "FAIL", "tests"] = "FAIL"
    else:
        result = "pass" if examples else "tests"
    whats = dict.fromkeys(filter(None, [*(rule.what for rule in rules), described.what]))
    sources = dict.fromkeys(filter(None, [*(rule.source for rule in rules), described.source]))
    return RowResult(
        id=name,
        result=result,
        what="; ".join(whats),
        source="; ".join(sources),
        proven_by=described.proven_by,
        examples=examples,
    )


def _run(row: str, expected: dict[str, list[str]], folder: Path) -> Iterator[ExampleResult]:
    for outcome, names in expected.items():
        for name in names:
            raw = _raw(folder, f"{name}.eml")
            if outcome == VISIBLE:
                wanted, found = _raw(folder, f"{name}.txt").decode().rstrip("\n"), parse(raw).visible_text
            else:
                wanted, found = _came_out(row, outcome, raw)
            yield ExampleResult(name=name, expected=wanted, found=found, is_passed=wanted == found)


def _came_out(row: str, outcome: str, raw: bytes) -> tuple[str, str]:
    """The expected and the found result of an example; equal texts mean that they agree."""
    message = parse(raw)
    if outcome in {FAILED, DELAYED, NO_BOUNCE}:
        return NO_BOUNCE if outcome == NO_BOUNCE else f"{outcome}: {BOUNCED}", _bounced(message, raw)
    if outcome in LETTERS:
        in_case, today = LETTERS[outcome]
        is_full = outcome != "there_is_room"
        limit = why_limited(AGENT, in_case=in_case, today=today)
        return "a person" if is_full else "an answer", "a person" if limit else "an answer"
    if outcome == SILENT:
        return SILENT, _to_the_unproven(message)
    if outcome == ANSWERED:
        return "as it should be", CHECKS[row](message, AGENT) or "as it should be"
    if outcome.startswith(LEVEL):
        sender = identify(message, AGENT, _is_customer)
        wanted = outcome.removeprefix(LEVEL)
        return f"level {wanted}", f"level {sender.level}" + ("" if str(sender.level) == wanted else f": {sender.why}")
    if outcome == NEAR:
        case = Case(message, AGENT, DESK, _is_customer, lambda: False)
        return "not this row", next(
            (why for rule in RULES if rule.id == row and (why := rule.finds(case))), "not this row"
        )
    verdict = Verdict(outcome.removesuffix(OF_CUSTOMER))
    screening = screen(message, AGENT, DESK, _is_customer)
    return f"{verdict.value} by {row}", f"{screening.verdict.value} by {screening.rule}"


def _to_the_unproven(message: Message) -> str:
    """What a sender with too low a level gets."""
    sender = identify(message, AGENT, _is_customer)
    is_written_to = AGENT.may_answer(sender.level) or AGENT.may_acknowledge(sender.level)
    return f"level {sender.level} is written to" if is_written_to else SILENT


def _bounced(message: Message, raw: bytes) -> str:
    bounce = read_bounce(message, raw)
    if bounce is None:
        return NO_BOUNCE
    kind = FAILED if bounce.is_permanent else DELAYED
    return f"{kind}: {', '.join(bounce.recipients)} of {', '.join(bounce.original_message_ids)}"


def _is_customer(address: str) -> bool:
    return address.endswith(f"@{CUSTOMER_DOMAIN}")


def _order(row: str) -> int:
    """Rows by number, then the rows about the customer's own words."""
    match = re.fullmatch(r"S(\d+)", row)
    return int(match[1]) if match else LAST_ROWS.index(row)


def _table(folder: Path) -> dict[str, dict[str, list[str]]]:
    try:
        rows = tomllib.loads((folder / "rows.toml").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _incomplete("rows.toml") from error
    return {name: {outcome: list(mails) for outcome, mails in row.items()} for name, row in rows.items()}


def _raw(folder: Path, name: str) -> bytes:
    try:
        return (folder / "mails" / name).read_bytes()
    except OSError as error:
        raise _incomplete(f"mails/{name}") from error


def _incomplete(name: str) -> ConfigError:
    todo = "install support-agent again"
    return ConfigError(f"this installation lacks conformance/{name}: {todo}", code="installation")
