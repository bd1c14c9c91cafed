"""`support-agent eval`: measure the choice on your own data, where the right answers are known.

Checked by tests/unit/cli/test_eval.py.
"""

from __future__ import annotations

import time
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, assert_never

import typer
from pydantic import BaseModel

from support_agent.cli.options import ConfigOption, JsonOption, now, print_data, quiet_log, settings_of
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError


class Benchmark(StrEnum):
    """What to measure."""

    INTENTS = "intents"
    MAILS = "mails"


class ModelVotes(StrEnum):
    """`planner.model_votes`."""

    ALWAYS = "always"
    DOUBTFUL = "doubtful"
    NEVER = "never"


class _Asked(NamedTuple):
    """The options that name files."""

    data: Path | None
    train: Path | None
    test: Path | None
    oos: Path | None
    picture: Path | None

    def options(self) -> dict[str, tuple[Path | None, Benchmark]]:
        """The options of a single benchmark: value and benchmark, by name."""
        return {
            "--data": (self.data, Benchmark.MAILS),
            "--train": (self.train, Benchmark.INTENTS),
            "--test": (self.test, Benchmark.INTENTS),
            "--oos": (self.oos, Benchmark.INTENTS),
        }


DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="mails: the folder of labels.jsonl and the mails.")
]
TrainOption = Annotated[Path | None, typer.Option("--train", metavar="FILE", help="intents: example questions.")]
TestOption = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="intents: questions to decide.")]
OosOption = Annotated[
    Path | None, typer.Option("--oos", metavar="FILE", help="intents: questions that a person must answer.")
]
PictureOption = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw risk against coverage, and reliability.")
]
VotesOption = Annotated[
    ModelVotes | None, typer.Option("--model-votes", help="Use this instead of planner.model_votes.")
]


def eval_(
    benchmark: Annotated[Benchmark, typer.Argument(metavar="BENCHMARK", help="What to measure: intents or mails.")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", show_default=False, help="The same as --data.")
    ] = None,
    data: DataOption = None,
    train: TrainOption = None,
    test: TestOption = None,
    oos: OosOption = None,
    picture: PictureOption = None,
    model_votes: VotesOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure choices on your own data: labelled questions (intents) or labelled mails (mails).

    intents reads lines of {"text": "...", "label": "..."}. The lines of --train are the example questions of their
    labels; the lines of --test and --oos are decided. A person must answer each line of --oos and each line with the
    label "oos".

    mails DIR decides your own .eml files, each in a dry run on its own date. labels.jsonl in the same folder has a
    line for each mail: {"file": "1.eml", "customer": "ada@example.org", "level": 3, "kind": "invoice", "language":
    "en", "expected": [["send_document(1)", "escalate"]], "sections": [{"1": {"any_of": ["Fees"], "needs": []}}]}.
    expected has one list for each question; it names every right outcome: send_document(NUMBER),
    send_account_field(FIELD), send_table(SERIES,PERIOD), send_aggregate(SERIES,PERIOD,total),
    send_record(KIND,ID,COLUMN or all), escalate or ask_clarification. customer, kind, language and sections are
    optional. With sections, an answer is wrong if its document has none of the headings of any_of.
    """
    asked = _Asked(data or folder, train, test, oos, picture)
    foreign = [name for name, (value, of) in asked.options().items() if value and benchmark is not of]
    if foreign:
        raise ConfigError(f"{', '.join(foreign)}: no option of {benchmark}: leave it out")
    if folder is not None and data is not None:
        raise ConfigError(f"{folder} and --data {data}: name one of them")
    votes = {} if model_votes is None else {"planner.model_votes": model_votes.value}
    settings = settings_of(config, votes, optional=benchmark is Benchmark.INTENTS)
    quiet_log(settings)
    measured, text = _measure(benchmark, settings, asked)
    print_data(measured, as_json, text)


def _measure(benchmark: Benchmark, settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    match benchmark:
        case Benchmark.INTENTS:
            return _intents(settings, asked)
        case Benchmark.MAILS:
            return _mails(settings, asked)
        case never:
            assert_never(never)


def _intents(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.ops.evals.intents import table
    from support_agent.ops.evals.opening import measure_intents
    from support_agent.ops.evals.picture import check_picture, write_picture

    if asked.train is None or asked.test is None:
        raise ConfigError("say where the questions are, with --train FILE and --test FILE: `support-agent eval --help`")
    check_picture(asked.picture)
    report, decided = measure_intents(settings, asked.train, asked.test, asked.oos, time.perf_counter)
    if report.in_train:
        what = f"{report.in_train} of {report.lines} questions are examples of --train, too"
        typer.echo(f"support-agent: {what}, which makes the result better than it is: leave them out of one", err=True)
    if asked.picture is not None:
        write_picture(asked.picture, decided, len(decided))
    return report, table(report)


def _mails(settings: Settings, asked: _Asked) -> tuple[BaseModel, str]:
    from support_agent.app.dry_runs import open_dry_run
    from support_agent.company.company import Company
    from support_agent.ops.evals.mail_labels import read_labels, require_known
    from support_agent.ops.evals.mails import evaluate, line_of, report_of, table, try_labelled
    from support_agent.ops.evals.picture import check_picture, write_picture

    if asked.data is None:
        raise ConfigError("say where the mails and their labels are, with --data DIR: `support-agent eval --help`")
    check_picture(asked.picture)
    labels = read_labels(asked.data)
    require_known(labels, Company.load(settings.company))
    results = evaluate(labels, partial(try_labelled, open_dry_run(settings), now()))
    if asked.picture is not None:
        write_picture(asked.picture, [one for one in results if one.score.answered], len(results))
    report = report_of(results)
    return report, "\n".join([*map(line_of, results), table(report)])
