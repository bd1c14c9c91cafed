"""Runs each row of the rules about mail on its examples (`rows.toml`, `mails/`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, model_validator

from support_agent.cases.rate_limits import why_limited
from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.config.senders import SenderSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.mail.machines.bounces import read_bounce
from support_agent.mail.machines.screening import BLOCK_RULE, CLOSING_RULE, PERSON_RULE, RULES, Case, Verdict, screen
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
SENDERS = SenderSettings(block=("blocked.example", "*-offers@shop.example"))
CUSTOMER_DOMAIN = "customer.example"
"""Every sender of this domain is a known customer."""
LEVEL = "level_"
ANSWERED, NEAR, OF_CUSTOMER = "answered", "near", "_of_customer"
FAILED, DELAYED, NO_BOUNCE = "failed", "delayed", "no_bounce"
SILENT = "silent"
VISIBLE = "visible"
SENT_BEFORE = {"case_is_full": (5, 0), "day_is_full": (0, 10), "there_is_room": (4, 9)}
"""Automatic mails sent before the example: in its case, and to its sender within a day."""
BOUNCED = "tom.berg@example.org of <case-1@harborfile.example>"
"""What each example of a bounce contains: the recipient, and the Message-ID of the returned mail.

Only the store knows whether that mail is ours, so a test proves the matching.
"""
LAST_ROWS = ("words", BLOCK_RULE, CLOSING_RULE, PERSON_RULE)
"""The rows without a number, in their order."""
TEXTS = ("what", "source", "proven_by")


OUTCOME = (
    rf"{ANSWERED}|{NEAR}|{SILENT}|{VISIBLE}|{LEVEL}[0-3]|{FAILED}|{DELAYED}|{NO_BOUNCE}|{'|'.join(SENT_BEFORE)}"
    rf"|({'|'.join(Verdict)})({OF_CUSTOMER})?"
)


class _Row(Frozen):
    """One row of `rows.toml`, as its head explains it; `mails` are the names of the examples by outcome."""

    mails: dict[Annotated[str, Field(pattern=f"^({OUTCOME})$")], tuple[str, ...]] = Field(default_factory=dict)
    what: str = ""
    source: str = ""
    proven_by: str = ""

    @model_validator(mode="before")
    @classmethod
    def _by_outcome(cls, row: dict[str, Any]) -> dict[str, Any]:
        """In the file, an outcome is a key beside the texts."""
        texts = {key: row[key] for key in TEXTS if key in row}
        return {**texts, "mails": {key: row[key] for key in row if key not in TEXTS}}


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
    names = sorted({*rows, *(rule.id for rule in RULES)}, key=_order)
    return tuple(_result(name, rows.get(name, _Row()), folder) for name in names)


def _result(name: str, row: _Row, folder: Path) -> RowResult:
    rules = [rule for rule in RULES if rule.id == name]
    examples = tuple(_run(name, row, folder))
    if any(not example.is_passed for example in examples) or not (examples or row.proven_by):
        result: Literal["pass", "FAIL", "tests"] = "FAIL"
    else:
        result = "pass" if examples else "tests"
    whats = dict.fromkeys(filter(None, [*(rule.what for rule in rules), row.what]))
    sources = dict.fromkeys(filter(None, [*(rule.source for rule in rules), row.source]))
    return RowResult(
        id=name,
        result=result,
        what="; ".join(whats),
        source="; ".join(sources),
        proven_by=row.proven_by,
        examples=examples,
    )


def _run(rule: str, row: _Row, folder: Path) -> Iterator[ExampleResult]:
    for outcome, names in row.mails.items():
        for name in names:
            raw = _raw(folder, f"{name}.eml")
            if outcome == VISIBLE:
                wanted, found = _raw(folder, f"{name}.txt").decode().rstrip("\n"), parse(raw).visible_text
            else:
                wanted, found = _came_out(rule, outcome, raw)
            yield ExampleResult(name=name, expected=wanted, found=found, is_passed=wanted == found)


def _came_out(row: str, outcome: str, raw: bytes) -> tuple[str, str]:
    """The expected and the found result of an example; equal texts mean that they agree."""
    message = parse(raw)
    if outcome in {FAILED, DELAYED, NO_BOUNCE}:
        return NO_BOUNCE if outcome == NO_BOUNCE else f"{outcome}: {BOUNCED}", _bounced(message, raw)
    if outcome in SENT_BEFORE:
        in_case, today = SENT_BEFORE[outcome]
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
        case = Case(message, AGENT, DESK, _is_customer, lambda: False, SENDERS)
        return "not this row", next(
            (why for rule in RULES if rule.id == row and (why := rule.finds(case))), "not this row"
        )
    verdict = Verdict(outcome.removesuffix(OF_CUSTOMER))
    screening = screen(message, AGENT, DESK, _is_customer, senders=SENDERS)
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
    return int(match[1]) if match else 100 + LAST_ROWS.index(row)


def _table(folder: Path) -> dict[str, _Row]:
    try:
        rows = tomllib.loads((folder / "rows.toml").read_text("utf-8"))
        return {name: _Row.model_validate(row) for name, row in rows.items()}
    except (OSError, ValueError) as error:
        raise _incomplete("rows.toml") from error


def _raw(folder: Path, name: str) -> bytes:
    try:
        return (folder / "mails" / name).read_bytes()
    except OSError as error:
        raise _incomplete(f"mails/{name}") from error


def _incomplete(name: str) -> ConfigError:
    todo = "install support-agent again"
    return ConfigError(f"this installation lacks a usable conformance/{name}: {todo}", code="installation")
