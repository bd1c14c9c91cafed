"""`python -m tests.benchmarks.papers.dstc11 --data DIR`: DSTC11 track 5, as a mail is answered, and by its parts.

Checked by tests/unit/benchmarks/papers/test_commands.py and tests/integration/facts/test_papers.py.
"""

from __future__ import annotations

from typing import Annotated

import typer

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.config.settings import Settings
from support_agent.facts.opening import open_topic_search
from support_agent.models.opening import open_embedder
from support_agent.planner.combiner import committed
from tests.benchmarks.papers.command import DataOption, given, quiet_settings, run
from tests.benchmarks.papers.dstc11.ablations import FEWEST, Ablations
from tests.benchmarks.papers.dstc11.data import Benchmark, load_benchmark
from tests.benchmarks.papers.dstc11.mail_path import MailPath, Thresholds
from tests.benchmarks.papers.dstc11.measures import sources_of
from tests.benchmarks.papers.dstc11.parts import PartsReport, evaluate_parts, sampled
from tests.benchmarks.papers.dstc11.selection import evaluate
from tests.benchmarks.papers.dstc11.table import Measured, table
from tests.benchmarks.papers.dstc11.variants import open_variants
from tests.benchmarks.papers.retrieval import KeptEmbedder, retriever_among, sentence_search

SampleOption = Annotated[int, typer.Option(min=0, metavar="N", help="So many turns go through the language model too.")]
SeedOption = Annotated[int, typer.Option(min=0, metavar="S", help="Of halves, samples and resamples.")]
TurnsOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Measure so many turns without the language model; 0: all.")
]

AblationsOption = Annotated[
    bool, typer.Option("--ablations", help="Without each part of the room's search, on 300 turns by default.")
]


def main(
    data: DataOption = None,
    sample: SampleOption = 0,
    turns: TurnsOption = 0,
    seed: SeedOption = 1,
    ablations: AblationsOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose review sentences for dialogues (logs.json, labels.json and knowledge.json as published).

    The first rows are what the product sends, untrained (with --ablations what its fact room finds, without each part
    in turn); then each part is trained on one half, measured on the other,
    and switched off in turn; with --sample also the parts that need the language model. Chosen sentences are compared
    with those that people chose (Knowledge-F1, selection F1), and with what people wrote (BLEU-4, ROUGE-L, chrF).
    """
    settings = quiet_settings(config)
    benchmark = load_benchmark(given(data))
    asked = sampled(benchmark, turns or (FEWEST if ablations else len(benchmark.turns)), seed)
    embedder = KeptEmbedder(open_embedder(settings))
    search = open_topic_search(settings, in_memory=True, name="papers-dstc11")
    thresholds = Thresholds(settings.planner.threshold_answer, settings.planner.threshold_section)
    path = MailPath(benchmark, search, committed(tuple(settings.embedding.models)), thresholds)
    by_mail = path.rows(asked, seed=seed)
    if ablations:
        by_mail += Ablations(benchmark, search, embedder).rows(asked, seed=seed)
    report = evaluate(benchmark, embedder, sentence_search(embedder), seed=seed, turns=asked)
    parts = _parts(settings, benchmark, embedder, sample, seed) if sample else None
    found = Measured(report=report, by_mail=by_mail, parts=parts)
    print_data(found, as_json, table(found))


def _parts(settings: Settings, benchmark: Benchmark, embedder: KeptEmbedder, sample: int, seed: int) -> PartsReport:
    sources = sources_of(benchmark)
    with open_variants(settings, embedder, sources) as variants:
        return evaluate_parts(
            benchmark,
            retriever_among(embedder, sources),
            variants,
            sample=sample,
            seed=seed,
            max_tokens=settings.grading.max_tokens,
        )


if __name__ == "__main__":
    run(main, "dstc11")
