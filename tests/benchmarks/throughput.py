"""`python -m tests.benchmarks.throughput DIR...`: how many mails a second, beside other parsers in the same run.

Ours is the whole way to the decision: parse, quotation, screen, identify. The others only parse, so a ratio is a lower
bound. Every file below the folders is read into memory first; the ways take turns, and each one's best round counts.
Other parsers are no dependencies: install them into a folder (`pip install --target FOLDER mail-parser
fast-mail-parser`) and name it with `--also FOLDER`. Ratios are the result; seconds are this machine's.
"""

from __future__ import annotations

import argparse
import cProfile
import email
import email.policy
import importlib
import logging
import pstats
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.mail.machines.screening import screen
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import identify

Way = Callable[[bytes], object]
AGENT = AgentSettings(
    address="support@harborfile.example",
    authserv_ids=("mx.harborfile.example",),
    secret=SecretStr("0123456789abcdef0123456789abcdef"),
)
DESK = DeskSettings(address="desk@harborfile.example")
FIELDS = ("From", "To", "Cc", "Subject", "Date", "Message-ID")


@dataclass
class Tally:
    """One way: the seconds of its best round, and how many mails it raised an exception for."""

    name: str
    way: Way
    seconds: float = float("inf")
    exceptions: int = 0


def this_agent(raw: bytes) -> object:
    """Parse, screen, identify."""
    message = parse(raw)
    return screen(message, AGENT, DESK), identify(message, AGENT, _is_customer)


def standard_library(raw: bytes) -> object:
    """`email` with its modern policy: the fields that everybody needs, all parts decoded."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    fields = [str(message[name]) for name in FIELDS]
    return fields, [part.get_payload(decode=True) for part in message.walk() if not part.is_multipart()]


def mail_parser(raw: bytes) -> object:
    """mail-parser: the same fields, the body and the attachments."""
    mail = importlib.import_module("mailparser").parse_from_bytes(raw)
    return mail.from_, mail.to, mail.cc, mail.subject, mail.date, mail.message_id, mail.body, mail.attachments


def fast_mail_parser(raw: bytes) -> object:
    """fast-mail-parser, which is written in Rust."""
    mail = importlib.import_module("fast_mail_parser").parse_email(raw)
    return mail.subject, mail.date, mail.headers, mail.text_plain, mail.text_html, mail.attachments


def tallies() -> list[Tally]:
    """Ours, the standard library's, and those of the others that are installed."""
    found = [Tally("this agent: parse, screen, identify", this_agent), Tally("standard library", standard_library)]
    others: tuple[tuple[str, str, Way], ...] = (
        ("mail-parser", "mailparser", mail_parser),
        ("fast-mail-parser", "fast_mail_parser", fast_mail_parser),
    )
    for name, module, way in others:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)  # noqa: T201
        else:
            found.append(Tally(name, way))
    return found


def measure(mails: Sequence[bytes], found: Sequence[Tally], rounds: int) -> None:
    """Let the ways take turns, `rounds` times."""
    for _ in range(rounds):
        for tally in found:
            started, exceptions = time.perf_counter(), 0
            for raw in mails:
                try:
                    tally.way(raw)
                except Exception:  # what is counted here
                    exceptions += 1
            tally.seconds = min(tally.seconds, time.perf_counter() - started)
            tally.exceptions = exceptions


def table(found: Sequence[Tally], count: int) -> str:
    """A line a way; the ratio is how many times as fast as that way we are."""
    rows = [("way", "mails a second", "we are x times as fast", "exceptions")]
    for tally in found:
        ratio = tally.seconds / found[0].seconds
        rows.append((tally.name, f"{count / tally.seconds:.0f}", f"{ratio:.2f}", str(tally.exceptions)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.throughput", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folder of mails, one a file")
    parser.add_argument("--pattern", default="*", help="which files below it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--also", type=Path, metavar="FOLDER", help="folder with the other parsers' packages")
    parser.add_argument("--profile", type=int, default=0, metavar="LINES", help="print what our time goes into")
    arguments = parser.parse_args(given)
    if arguments.also:
        sys.path.append(str(arguments.also.resolve()))
    paths = sorted(path for folder in arguments.folders for path in folder.rglob(arguments.pattern) if path.is_file())
    mails = [path.read_bytes() for path in paths]
    warnings.simplefilter("ignore")
    logging.disable()  # what the others think of a mail
    found = tallies()
    measure(mails, found, arguments.rounds)
    print(f"{len(mails)} mails, {sum(map(len, mails)) / 1e6:.1f} MB, best of {arguments.rounds} rounds")  # noqa: T201
    print(table(found, len(mails)))  # noqa: T201
    if arguments.profile:
        _profile(mails, arguments.profile)


def _profile(mails: Sequence[bytes], lines: int) -> None:
    with cProfile.Profile() as profile:
        for raw in mails:
            this_agent(raw)
    pstats.Stats(profile).sort_stats("tottime").print_stats(lines)


def _is_customer(address: str) -> bool:
    return False


if __name__ == "__main__":
    main()
