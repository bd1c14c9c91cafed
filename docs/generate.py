"""`python docs/generate.py`: write what the program says of itself into the docs: commands, settings, rules about mail.

Checked by tests/test_docs.py: what is there is what this writes.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from support_agent.cli.main import app
from support_agent.config.settings import Settings
from support_agent.mail.machines.screening import RULES, Verdict
from support_agent.ops.conformance import run_rows
from support_agent.watch.metrics import METRICS

DOCS = Path(__file__).parent
FIRST = (
    "demo",
    "init",
    "check",
    "doctor",
    "try",
    "run",
    "pause",
    "resume",
    "cases",
    "show",
    "why",
    "replay",
    "outbox",
    "case",
    "autonomy",
    "backup",
    "restore",
)
THEN = {Verdict.FILE: "is filed", Verdict.DROP: "is filed", Verdict.DESK: "a person gets it"}
BOUNDS = {"gt": "above ", "ge": "", "le": "", "lt": "below "}
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")


def pages() -> dict[str, str]:
    """The pages as they should be, by file name."""
    parts = {
        "commands.md": "\n".join(commands()),
        "mail-rules.md": "\n".join(rules()),
        "settings.md": "\n".join(settings()),
        "watching.md": "\n".join(metrics()),
    }
    return {name: replaced((DOCS / name).read_text("utf-8"), part) for name, part in parts.items()}


def replaced(page: str, part: str) -> str:
    """The page with another part between its two marks."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{part}\n{END}{rest.partition(END)[2]}"


def commands() -> Iterator[str]:
    """Each command with its arguments and options, as `--help` has them; first those of a first day."""
    found = leaves(typer.main.get_command(app))
    for words in sorted(found, key=lambda one: FIRST.index(one[0]) if one[0] in FIRST else len(FIRST)):
        command = found[words]
        context = command.context_class(command)
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        yield f"\n## {' '.join((*words, *map(written, arguments)))}\n"
        yield " ".join((command.help or "").split())
        if command.params:
            yield "\n| | |\n|---|---|"
        for one in (*arguments, *options):
            name, text = one.get_help_record(context)
            yield f"| `{cell(written(one) if one in arguments else name)}` | {cell(text)} |"


def cell(text: str) -> str:
    """A text on one line of a table."""
    return " ".join(text.split()).replace("|", "/")


def written(argument: Any) -> str:
    """An argument as a user gives it: "[CASE]", "MAIL..."."""
    name = (argument.metavar or argument.name.upper()).strip("[]").removesuffix("...")
    name = f"{name}..." if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def leaves(command: Any, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command that does something, by its words."""
    if not hasattr(command, "commands"):
        return {words: command}
    itself = {words: command} if words and command.invoke_without_command else {}
    return itself | {
        key: leaf for name, child in command.commands.items() for key, leaf in leaves(child, (*words, name)).items()
    }


def settings() -> Iterator[str]:
    """Each section of the configuration: its keys, their defaults and what they are for."""
    for section, field in Settings.model_fields.items():
        model = type(field.default)
        yield from keys_of(f"[{section}]", model)
        for key, value in model.model_fields.items():
            for table in get_args(value.annotation):
                if isinstance(table, type) and issubclass(table, BaseModel):
                    yield from keys_of(f"[[{section}.{key}]]", table)


def keys_of(name: str, model: type[BaseModel]) -> Iterator[str]:
    """A section, or a table of a list of tables: its keys, their defaults and what they are for."""
    yield f"\n## {name}\n\n{' '.join((inspect.getdoc(model) or '').split())}\n"
    yield "| key | default | values | |\n|---|---|---|---|"
    described = {name: text for base in reversed(model.__mro__) for name, text in descriptions_of(base).items()}
    for key, value in model.model_fields.items():
        default = "" if value.is_required() else as_default(value.get_default())
        yield f"| `{key}` | {default} | {values(value)} | {described.get(key, '')} |"


def values(field: FieldInfo) -> str:
    """The words of a closed set, also of a list of such words, or the bounds of a number; nothing for any other."""
    words = dict.fromkeys(word for kind in (field.annotation, *get_args(field.annotation)) for word in words_of(kind))
    found = {name: getattr(bound, name) for bound in field.metadata for name in BOUNDS if hasattr(bound, name)}
    bounds = [f"{BOUNDS[name]}{number:_}" for name, number in found.items()]
    return ", ".join(f"`{word}`" for word in words) or ("from " if len(bounds) == 1 else "") + " to ".join(bounds)


def words_of(kind: object) -> tuple[object, ...]:
    """The members of an enumeration or of a `Literal`."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(kind)
    return get_args(kind) if get_origin(kind) is Literal else ()


def descriptions_of(model: type) -> dict[str, str]:
    """The docstrings below the fields of one class."""
    if not issubclass(model, BaseModel) or model.__module__.startswith("pydantic"):
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, after in itertools.pairwise(tree.body):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            found[field.target.id] = cell(str(after.value.value))
    return found


def as_default(value: object) -> str:
    """A default as the file has it; nothing for what is not set, or secret."""
    if value is None or value == "" or isinstance(value, SecretStr):
        return ""
    if isinstance(value, tuple | frozenset):
        return f"`[{', '.join(f'{str(one)!r}' for one in value)}]`".replace("'", '"')
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def metrics() -> Iterator[str]:
    """Each metric with its labels and all their values."""
    yield "| metric | type | of | labels | |"
    yield "|---|---|---|---|---|"
    for metric in METRICS:
        labels = "; ".join(f"`{name}`: {', '.join(values) or 'any'}" for name, values in metric.labels.items())
        yield f"| `{metric.name}` | {metric.kind} | {metric.of} | {labels} | {cell(metric.help)} |"


def rules() -> Iterator[str]:
    """A row for each rule: code, what it says, what happens to the mail, source, and what shows that it holds."""
    yield "| rule | what it says | the mail | source | shown by |"
    yield "|---|---|---|---|---|"
    for row in run_rows():
        then = "; ".join(THEN[rule.verdict] for rule in RULES if rule.id == row.id)
        tests = f"`{row.proven_by.partition('::')[0]}`" if row.proven_by else ""
        mails = f"{len(row.examples)} example mail{'s' if len(row.examples) > 1 else ''}" if row.examples else ""
        yield f"| {row.id} | {row.what} | {then} | {row.source} | {', '.join(filter(None, (mails, tests)))} |"


if __name__ == "__main__":
    main()
