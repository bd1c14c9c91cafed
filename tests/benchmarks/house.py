"""`python -m tests.benchmarks.house`: how large the house is, in figures that a reader can check.

Code lines are those with a token on them that is no comment and no docstring. What an answer crosses is observed: a
mail goes through a journey with a profiler, from the decision until the transport has the bytes.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from pydantic import JsonValue

from support_agent.config.packaged_files import packaged
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


class Lines(NamedTuple):
    """Of Python: all of them, and those with code."""

    all: int
    code: int


def main() -> None:
    """Print the table."""
    top = sorted(path.name for path in PACKAGE.glob("*.py"))
    counted = {room: lines_of(PACKAGE / room) for room in sorted(path.name for path in PACKAGE.iterdir())}
    rows = [
        ("modules at the top", f"{len(top)}: {', '.join(top)}"),
        ("layers of rooms", str(len(layers()))),
        ("lines of Python, all", str(sum(lines.all for lines in counted.values()))),
        ("lines with code", str(sum(lines.code for lines in counted.values()))),
        *((f"  {room}", f"{lines.all}, with code {lines.code}") for room, lines in counted.items() if lines.all > 1),
        ("an answer crosses", told(crossed())),
        ("bytes of README.md", str((ROOT / "README.md").stat().st_size)),
    ]
    for name, value in rows:
        print(f"{name:<22} {value}")  # noqa: T201


def told(modules: frozenset[str]) -> str:
    """How many modules, in how many rooms."""
    rooms = {module.split(".")[1] for module in modules}
    return f"{len(modules)} modules of {len(rooms)} rooms: {', '.join(sorted(rooms))}"


def crossed() -> frozenset[str]:
    """The modules that do something between the decision on a mail and SMTP, for a mail that a document answers."""
    found: set[str] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(f"{PACKAGE.name}."):
            found.add(module)

    def watched(work: Callable[[], JsonValue]) -> JsonValue:
        sys.setprofile(profile)
        try:
            return work()
        finally:
            sys.setprofile(None)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        company = make_company(folder)
        with Store.open(f"sqlite:///{folder / 'empty.sqlite3'}", packaged("migrations")) as store:
            store.upgrade()
        with office_in(folder, company, folder / "empty.sqlite3") as office:
            steps = Steps(lambda name, work: watched(work) if name in WATCHED else work(), EngineSettings(), time.sleep)
            office.handle(write("can I get a refund?", sender=JAMES), steps)
    return frozenset(found)


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
