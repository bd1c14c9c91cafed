"""`python -m tests.benchmarks.papers.dstc11 --data DIR`: DSTC11 track 5, with each part switched off in turn.

Checked by tests/unit/papers/test_commands.py and tests/integration/facts/test_papers.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from support_agent.app import open_embedder
from support_agent.commands import ConfigOption, JsonOption, print_data
from tests.benchmarks.papers.command import DataOption, given, quiet_settings, run
from tests.benchmarks.papers.dstc11.data import load_benchmark
from tests.benchmarks.papers.dstc11.measures import sources_of
from tests.benchmarks.papers.dstc11.parts import evaluate_parts
from tests.benchmarks.papers.dstc11.selection import evaluate
from tests.benchmarks.papers.dstc11.table import Measured, table
from tests.benchmarks.papers.dstc11.variants import open_variants
from tests.benchmarks.papers.retrieval import KeptEmbedder, retriever_among, sentence_search

SampleOption = Annotated[int, typer.Option(min=0, metavar="N", help="So many turns go through the language model too.")]
SeedOption = Annotated[int, typer.Option(min=0, metavar="S", help="Of the halves and of the sample.")]


def main(
    data: DataOption = None,
    sample: SampleOption = 0,
    seed: SeedOption = 1,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose review sentences for dialogues (logs.json, labels.json and knowledge.json as published).

    Each part is switched off in turn; with --sample also the parts that need the language model.
    """
    settings = quiet_settings(config)
    benchmark = load_benchmark(given(data))
    embedder = KeptEmbedder(open_embedder(settings))
    found = Measured(report=evaluate(benchmark, embedder, sentence_search(embedder), seed=seed))
    if sample:
        with open_variants(settings, embedder, sources_of(benchmark)) as variants:
            parts = evaluate_parts(
                benchmark,
                retriever_among(embedder, sources_of(benchmark)),
                variants,
                sample=sample,
                seed=seed,
                max_tokens=settings.grading.max_tokens,
            )
        found = Measured(report=found.report, parts=parts)
    print_data(found, as_json, table(found))


if __name__ == "__main__":
    run(main, "dstc11")
