"""Opens the models of the settings: the language model, embedded or on a server, and the embedder of the indexes.

Slow modules are imported inside functions. Checked by tests/acceptance, through the real program.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from support_agent.config.settings import ModelSettings, Settings
from support_agent.models.language_model import Prompt, Scores
from support_agent.models.progress import Progress, stderr_progress

if TYPE_CHECKING:
    from support_agent.models.embedding.minilm import MiniLM
    from support_agent.models.openai import OpenAIModel
    from support_agent.models.writer import LanguageModel


def open_model(settings: Settings, progress: Progress) -> LanguageModel:
    """The language model, embedded or on a server: it scores for the planner, and writes for the fact room."""
    match settings.model.planner:
        case "llama":
            from support_agent.models.llama import LlamaModel
            from support_agent.models.pulling import language_model

            return LlamaModel(
                language_model(settings.model, progress),
                context_tokens=settings.model.context_tokens,
                threads=settings.model.threads,
                instances=settings.model.instances,
                timeout_s=settings.model.timeout_s,
                writing_timeout_s=settings.grading.timeout_s,
            )
        case "openai":
            return _open_server(settings.model, writing_timeout_s=settings.grading.timeout_s)
        case never:
            assert_never(never)


def require_room_for(settings: ModelSettings, path: Path) -> None:
    """Refuse several instances of an embedded model that do not fit into memory now; the weights are not loaded.

    Args:
        path: The GGUF file.
    Raises:
        ConfigError: `LlamaModel` would refuse them, too.
    """
    from support_agent.models.llama import require_room
    from support_agent.models.memory import usable_bytes
    from support_agent.models.weights import read_shape

    if settings.instances > 1 and (shape := read_shape(path)) is not None:
        usable = partial(usable_bytes, to_load=path.stat().st_size)
        require_room(shape, settings.instances, settings.context_tokens, usable)


def _open_server(settings: ModelSettings, *, writing_timeout_s: float) -> OpenAIModel:
    from support_agent.models.openai import OpenAIModel

    return OpenAIModel(
        base_url=settings.base_url,
        name=settings.name,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        max_requests=settings.max_requests,
        max_timeouts=settings.max_timeouts,
        cooldown_s=settings.cooldown_s,
        writing_timeout_s=writing_timeout_s,
    )


def open_embedder(settings: Settings) -> MiniLM:
    """The embedding model of the index of documents and passages.

    Raises:
        ConfigError: it cannot be used.
    """
    from support_agent.models.pulling import embedding_model

    return _minilm(embedding_model(settings.model, stderr_progress()), settings.embedding.threads)


@cache
def _minilm(folder: Path, threads: int) -> MiniLM:
    """The one MiniLM of this process: brands share it."""
    from support_agent.models.embedding.minilm import MiniLM

    return MiniLM(folder, threads=threads)


def close(*parts: object) -> None:
    """Close those that have a `close`, in this order."""
    for part in parts:
        getattr(part, "close", lambda: None)()


def ask_server(settings: ModelSettings) -> Scores:
    """Ask a model on a server for one choice, which checks address, key, name and tool calls."""
    model = _open_server(settings, writing_timeout_s=settings.timeout_s)
    try:
        return model.score(Prompt(system="You choose one of two options.", task="Choose yes.", parts=()), ("yes", "no"))
    finally:
        model.close()
