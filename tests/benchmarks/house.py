"""`python -m tests.benchmarks.house`: how large the house is, in figures that a reader can check.

A code line is a line with a token that is no comment and no docstring. The modules and types of an answer are observed:
a mail goes through a journey with a profiler, from the decision until the transport has the bytes. A type carries the
answer if a function gets or returns a value of it that contains the sentence that the customer reads.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from configparser import ConfigParser
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from pydantic import BaseModel

from support_agent.config.settings import EngineSettings
from support_agent.engine.steps import Steps
from support_agent.store.store import Store
from tests.fakes_journey import JAMES, make_company, office_in, write

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "support_agent"
NO_CODE = frozenset({
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
})  # fmt: skip


WATCHED = ("answer", "send")
"""The steps of a journey between the decision and SMTP."""
SENTENCE = "can be refunded in full within 30 days"
"""Of the document that answers the mail."""
SOURCES = frozenset({"company"})
"""Rooms that hold the sentence before it is chosen."""


class Lines(NamedTuple):
    """Of Python: all of them, and those with code."""

    all: int
    code: int


def main() -> None:
    """Print the table."""
    top = sorted(path.name for path in PACKAGE.glob("*.py"))
    counted = {room: lines_of(PACKAGE / room) for room in sorted(path.name for path in PACKAGE.iterdir())}
    crossing = observed()
    rows = [
        ("modules at the top", f"{len(top)}: {', '.join(top)}"),
        ("layers of rooms", str(len(layers()))),
        ("lines of Python, all", str(sum(lines.all for lines in counted.values()))),
        ("lines with code", str(sum(lines.code for lines in counted.values()))),
        *((f"  {room}", f"{lines.all}, with code {lines.code}") for room, lines in counted.items() if lines.all > 1),
        ("an answer crosses", in_rooms(crossing.modules)),
        ("in types", f"{len(crossing.types)}: {', '.join(sorted(crossing.types))}"),
        ("bytes of README.md", str((ROOT / "README.md").stat().st_size)),
    ]
    for name, value in rows:
        print(f"{name:<22} {value}")  # noqa: T201


def in_rooms(modules: AbstractSet[str]) -> str:
    """How many modules, in how many rooms."""
    rooms = {module.split(".")[1] for module in modules}
    return f"{len(modules)} modules of {len(rooms)} rooms: {', '.join(sorted(rooms))}"


class Crossing(NamedTuple):
    """The modules that work on an answer between the decision and SMTP, and the types of values that contain it."""

    modules: frozenset[str]
    types: frozenset[str]


def observed() -> Crossing:
    """The crossing of a mail that a document answers."""
    modules: set[str] = set()
    types: set[str] = set()

    def see(value: object) -> None:
        kind = type(value)
        is_ours = kind.__module__.startswith(f"{PACKAGE.name}.") and kind.__module__.split(".")[1] not in SOURCES
        if is_ours and isinstance(value, BaseModel | tuple) and kind.__name__ not in types and SENTENCE in repr(value):
            types.add(kind.__name__)

    def profile(frame: FrameType, event: str, result: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(f"{PACKAGE.name}."):
            return
        if event == "call":
            modules.add(module)
            for value in frame.f_locals.values():
                see(value)
        elif event == "return":
            see(result)

    def watched(work: Callable[[], object]) -> object:
        sys.setprofile(profile)
        try:
            return work()
        finally:
            sys.setprofile(None)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        company = make_company(folder)
        with Store.open(f"sqlite:///{folder / 'empty.sqlite3'}") as store:
            store.upgrade()
        with office_in(folder, company, folder / "empty.sqlite3") as office:
            steps = Steps(lambda _name, work: work(), EngineSettings(), time.sleep)
            run = steps.run

            def run_watched(name: str, work: Callable[[], object]) -> object:
                return run(name, lambda: watched(work) if name in WATCHED else work())

            vars(steps)["run"] = run_watched
            office.handle(write("can I get a refund?", sender=JAMES), steps)
    return Crossing(frozenset(modules), frozenset(types))


def layers() -> list[str]:
    """Those of the import contract, the highest first."""
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    return contracts["importlinter:contract:layers"]["layers"].split("\n")[1:]


def lines_of(path: Path) -> Lines:
    """Those of a file, or of all Python below a folder."""
    texts = [file.read_text("utf-8") for file in ([path] if path.suffix == ".py" else path.rglob("*.py"))]
    return Lines(sum(text.count("\n") for text in texts), sum(map(code_lines, texts)))


def code_lines(text: str) -> int:
    """How many lines of a module have code."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


if __name__ == "__main__":
    main()
