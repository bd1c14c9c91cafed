"""The planner's promise, read from its source: nothing in it, nor in what scores for it, makes a model write text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "support_agent"
WRITES = ("writer", "llama", "openai", "opening", "observed")
"""The port that writes, the two models behind it, what opens and what observes them: nothing that chooses may import
them (.importlinter)."""
MODELS = [path for path in sorted((PACKAGE / "models").glob("*.py")) if path.stem not in (*WRITES, "judge")]
CHOOSING = (*sorted((PACKAGE / "planner").glob("*.py")), *sorted((PACKAGE / "tools").glob("*.py")), *MODELS)
CALLS = {
    "generate",
    "eval",
    "sample",
    "create_completion",
    "create_chat_completion",
    "create_chat_completion_openai_v1",
}
"""By which our models, and llama-cpp-python, continue a text."""
PARTS = ("sampler", "Writer", "LanguageModel", "LlamaModel", "OpenAIModel")
"""In the name of whatever samples, and of what the fact room writes with."""


def writing_names(source: str) -> set[str]:
    """The names and attributes of a module by which a text could come about."""
    tree = ast.walk(ast.parse(source))
    used: set[str] = {getattr(node, "attr", "") or getattr(node, "id", "") for node in tree}
    return {name for name in used if name in CALLS or any(part in name for part in PARTS)}


@pytest.mark.parametrize("path", CHOOSING, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_module_that_chooses_samples_or_completes(path: Path) -> None:
    """Choosing is scoring; a draft can only come from the fact room, which the planner does not know."""
    assert not writing_names(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["llama", "openai"])
def test_a_model_writes_by_one_method_that_no_scoring_one_calls(name: str) -> None:
    """The class has two ports; nothing behind the one that chooses leads to the one that writes."""
    tree = ast.parse((PACKAGE / "models" / f"{name}.py").read_text("utf-8"))
    (model,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Model")]
    writing = {"generate", "_continue", "open_writing", "_writing_context", "_write", "choose_token"}
    for method in (node for node in model.body if isinstance(node, ast.FunctionDef) and node.name not in writing):
        used = {getattr(node, "attr", "") or getattr(node, "id", "") for node in ast.walk(method)}
        assert not used & writing, method.name


def test_what_writes_would_be_seen() -> None:
    """The checks above would prove nothing if they saw nothing."""
    source = "lib.llama_sampler_sample(x); model.create_completion(); weights.eval([1]); Writer(w).generate()"
    assert writing_names(source) == {"llama_sampler_sample", "create_completion", "eval", "Writer", "generate"}
