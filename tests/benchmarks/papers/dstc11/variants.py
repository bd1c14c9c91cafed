"""The grading workflow of the configuration, and the same with its parts switched off in turn, for `parts`.

Checked by tests/integration/facts/test_papers.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from support_agent.config.facts import GradingSettings
from support_agent.config.settings import Settings
from support_agent.facts.chunks import Source
from support_agent.facts.graph.open_evidence import Chaining, open_chaining
from support_agent.facts.index import TextEmbedder
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.material import Retriever
from support_agent.models.judge import ModelJudge
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress
from tests.benchmarks.papers.dstc11.parts import Finder, Variant
from tests.benchmarks.papers.retrieval import Cosines

NO_GRADING = {
    "threshold_router": 0.0,
    "threshold_document": 0.0,
    "threshold_hallucination": 0.0,
    "threshold_answer": 0.0,
}
NO_FEEDBACK = {"feedback": False}
NO_CYCLES = {"max_cycles": 0}


@contextmanager
def open_variants(
    settings: Settings, embedder: TextEmbedder, sources: Sequence[Source]
) -> Iterator[tuple[Variant, ...]]:
    """The workflow without the web, whole and without each part.

    Args:
        settings: Its thresholds and bounds; drafts are written whatever they say.
        embedder: Of the steps and sentences that the graph's evidence is chosen by.
        sources: What is searched, and what the graph is made of.
    Raises:
        ConfigError: a model cannot be used.
    """
    model = open_model(settings, stderr_progress())

    def workflow(changes: Mapping[str, float], chaining: Chaining | None) -> Callable[[Retriever], Finder]:
        changed: GradingSettings = settings.grading.model_copy(update={"drafts": True, **changes})
        return lambda retriever: Workflow(
            judge=ModelJudge(model),
            writer=model,
            retriever=retriever,
            web=None,
            settings=changed,
            clock=time.monotonic,
            chaining=chaining,
        )

    try:
        chaining = open_chaining(settings.evidence, sources, model, Cosines(embedder), seed=settings.grading.seed)
        yield (
            Variant("Workflow", workflow({}, chaining)),
            Variant("Workflow without grading", workflow(NO_GRADING, chaining)),
            Variant("Workflow without feedback", workflow(NO_FEEDBACK, chaining)),
            Variant("Workflow without cycles", workflow(NO_CYCLES, chaining)),
            Variant("Workflow without graph", workflow({}, None)),
            Variant("Workflow without entity linking", workflow({}, chaining), is_linked=False),
        )
    finally:
        close(model)
