"""The planner's promise, read from its source: nothing in it, nor in what loads its model, makes a model write text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "support_agent"
SEAT = (*sorted((PACKAGE / "planner").glob("*.py")), *sorted((PACKAGE / "models").glob("*.py")))
CALLS = {
    "generate",
    "eval",
    "sample",
    "create_completion",
    "create_chat_completion",
    "create_chat_completion_openai_v1",
}
"""By which llama-cpp-python continues a text."""
PARTS = ("sampler", "Writer")
"""In the name of whatever samples, and of what the fact room writes with."""


def writing_names(source: str) -> set[str]:
    """The names and attributes of a module by which a text could come about."""
    tree = ast.walk(ast.parse(source))
    used: set[str] = {getattr(node, "attr", "") or getattr(node, "id", "") for node in tree}
    return {name for name in used if name in CALLS or any(part in name for part in PARTS)}


@pytest.mark.parametrize("path", SEAT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_module_of_the_planner_samples_or_completes(path: Path) -> None:
    """Choosing is scoring; a draft can only come from the fact room, which the planner does not know."""
    assert not writing_names(path.read_text("utf-8"))


def test_what_writes_would_be_seen() -> None:
    """The look above would prove nothing if it saw nothing."""
    source = "lib.llama_sampler_sample(x); model.create_completion(); weights.eval([1]); LlamaWriter(w).write()"
    assert writing_names(source) == {"llama_sampler_sample", "create_completion", "eval", "LlamaWriter"}
