"""The part of Jinja that templates may use: literal text, bare values, `if`, `for` and `include`.

Invariant: anything not listed here is refused before rendering, so no expression can create text: words are in the
template, and values are printed unchanged. Checked by
tests/unit/answer/test_grammar.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from support_agent.answer.views import LOOP_NAMES, ROOT_NAMES, attribute_names
from support_agent.core.findings import nearest
from support_agent.core.frozen import Frozen
from support_agent.errors import GateRefused

_RAW = re.compile(r"\{%[-+]?\s*raw\b")


class GrammarProblem(Frozen):
    """A forbidden construct: its 1-based line, what it is, and what to write instead."""

    line: int
    what: str
    todo: str


class TemplateRefused(GateRefused):
    """A template cannot be used; `line` is 1-based."""

    code = "template"

    def __init__(self, name: str, problem: GrammarProblem) -> None:
        super().__init__(f"{name}:{problem.line}: {problem.what}: {problem.todo}")
        self.name = name
        self.problem = problem


def problems(source: str, tree: nodes.Template) -> list[GrammarProblem]:
    """Everything in a parsed template that is outside the grammar, in order of line."""
    found = [
        GrammarProblem(line=source.count("\n", 0, match.start()) + 1, what="raw blocks are not supported",
                todo="write the text without {% raw %}")
        for match in _RAW.finditer(source)
    ]  # fmt: skip
    for node in tree.body:
        found += _statement(node, ROOT_NAMES)
    return sorted(found, key=lambda problem: problem.line)


def _statement(node: nodes.Node, names: frozenset[str]) -> Iterator[GrammarProblem]:
    """Problems of one statement, in which `names` can be used."""
    match node:
        case nodes.Output():
            for printed in node.nodes:
                if not isinstance(printed, nodes.TemplateData):
                    yield from _printed(printed, names)
        case nodes.If():
            yield from _condition(node.test, names)
            for child in [*node.body, *node.elif_, *node.else_]:
                yield from _statement(child, names)
        case nodes.For():
            yield from _loop(node, names)
        case nodes.Include():
            yield from _include(node, names)
        case _:
            yield _refused(node, "use text, {{ value }}, if, for and include only")


def _loop(node: nodes.For, names: frozenset[str]) -> Iterator[GrammarProblem]:
    yield from _chain(node.iter, names, "loop over a value such as item.rows")
    if node.recursive or not isinstance(node.target, nodes.Name):
        yield _refused(node, "write {% for row in item.rows %}")
        return
    if node.target.name in ROOT_NAMES - {"item", "operand"} or node.target.name == "loop":
        yield GrammarProblem(line=node.lineno, what=f"the loop hides {node.target.name!r}", todo="name it otherwise")
    inside = names | {node.target.name, "loop"}
    if node.test is not None:
        yield from _condition(node.test, inside)
    for child in node.body:
        yield from _statement(child, inside)
    for child in node.else_:
        yield from _statement(child, names)


def _include(node: nodes.Include, names: frozenset[str]) -> Iterator[GrammarProblem]:
    if node.ignore_missing or not node.with_context:
        yield _refused(node, "write a plain {% include 'name' %}")
    if isinstance(node.template, nodes.Const) and isinstance(node.template.value, str):
        return
    if isinstance(node.template, nodes.Getattr) and node.template.attr in {"text_partial", "html_partial"}:
        yield from _chain(node.template, names, "")
        return
    yield _refused(node, "include a name in quotes, item.text_partial or item.html_partial")


def _printed(node: nodes.Node, names: frozenset[str]) -> Iterator[GrammarProblem]:
    """Problems of an expression in {{ }}: only a bare value keeps its source."""
    if isinstance(node, nodes.Const):
        yield GrammarProblem(
            line=node.lineno,
            what=f"the constant {node.value!r} is printed by an expression",
            todo="write literals as template text, outside {{ }}",
        )
    elif isinstance(node, nodes.Filter):
        yield GrammarProblem(
            line=node.lineno,
            what=f"the filter {node.name!r} would lose the source of the value",
            todo="print the value bare, without the filter; formatting is done before",
        )
    elif isinstance(node, nodes.CondExpr):
        yield GrammarProblem(line=node.lineno, what="a condition in {{ }}", todo="write {% if %} ... {% endif %}")
    else:
        yield from _chain(node, names, "print a bare value such as {{ item.label }}")


def _condition(node: nodes.Node, names: frozenset[str]) -> Iterator[GrammarProblem]:
    match node:
        case nodes.And() | nodes.Or():
            yield from _condition(node.left, names)
            yield from _condition(node.right, names)
        case nodes.Not():
            yield from _condition(node.node, names)
        case nodes.Compare():
            yield from _condition(node.expr, names)
            for operand in node.ops:
                yield from _condition(operand.expr, names)
        case nodes.Const():
            return
        case nodes.Filter(name="length", args=[], kwargs=[], node=inner) if inner is not None:
            yield from _chain(inner, names, "")
        case nodes.Test(name="none", args=[], kwargs=[]):
            yield from _chain(node.node, names, "")
        case _:
            yield from _chain(node, names, "use values, not, and, or, ==, `| length` and `is none` in conditions")


def _chain(node: nodes.Node, names: frozenset[str], todo: str) -> Iterator[GrammarProblem]:
    """Problems of a name followed by attributes, all of which must exist."""
    attributes: list[nodes.Getattr] = []
    start: nodes.Node = node
    while isinstance(start, nodes.Getattr):
        attributes.insert(0, start)
        start = start.node
    if not isinstance(start, nodes.Name):
        yield _refused(start, todo)
        return
    if start.name not in names:
        yield GrammarProblem(
            line=start.lineno,
            what=f"{start.name!r} is not defined{nearest(start.name, names)}",
            todo="use one of " + ", ".join(sorted(names)),
        )
    known = LOOP_NAMES if start.name == "loop" else attribute_names()
    for attribute in attributes:
        if attribute.attr not in known:
            yield GrammarProblem(
                line=attribute.lineno,
                what=f"no value has a part {attribute.attr!r}{nearest(attribute.attr, known)}",
                todo="use one of " + ", ".join(sorted(known)),
            )


def _refused(node: nodes.Node, todo: str) -> GrammarProblem:
    lines = (child.lineno for child in (node, *node.find_all(nodes.Node)) if child.lineno)
    return GrammarProblem(line=next(lines, 1), what=f"{type(node).__name__} is not allowed in a template", todo=todo)
