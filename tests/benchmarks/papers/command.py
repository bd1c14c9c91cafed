"""What the commands of these benchmarks have in common: options, settings, errors in one line, the model's yes or no.

Exit codes are those of `support-agent`. Checked by tests/unit/benchmarks/papers/test_commands.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from support_agent.cli.options import FAILED, USAGE, settings_of
from support_agent.config.log import configure_log
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.models.judge import Judge, ModelJudge
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress
from support_agent.models.writer import Writer

WRITING_S = 600.0
"""For one text: a benchmark waits."""
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The folder of the benchmark's files, or the file.")
]
ByModelOption = Annotated[bool, typer.Option("--by-model", help="By the language model's yes or no too.")]
PATIENCE_S = 300.0


def run(command: Callable[..., None], name: str, arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit; what is wrong is told in one line.

    Args:
        command: With options of typer.
        name: Of its module below `tests.benchmarks.papers`.
        arguments: By default those of the process.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(command)
    try:
        app(arguments, prog_name=f"python -m tests.benchmarks.papers.{name}")
    except SupportAgentError as error:
        typer.echo(f"{name}: {error}", err=True)
        sys.exit(USAGE if isinstance(error, ConfigError) else FAILED)


def quiet_settings(config: Path | None, *, optional: bool = True) -> Settings:
    """The settings, with a log that tells warnings alone; `optional`: the defaults where no file is named or here.

    Raises:
        ConfigError: the file is not in order.
    """
    settings = settings_of(config, optional=optional)
    configure_log(settings.log.model_copy(update={"level": "warning"}))
    return settings


def given(data: Path | None) -> Path:
    """The path of the option.

    Raises:
        ConfigError: it was left out.
    """
    if data is None:
        raise ConfigError("say where the questions and their answers are, with --data DIR; --help has more")
    return data


def patient(settings: Settings) -> Settings:
    """The settings with time for each answer: a slow machine is not measured as a model that does not know."""
    model = settings.model.model_copy(update={"timeout_s": max(settings.model.timeout_s, PATIENCE_S)})
    grading = settings.grading.model_copy(update={"timeout_s": max(settings.grading.timeout_s, PATIENCE_S)})
    return settings.model_copy(update={"model": model, "grading": grading})


@contextmanager
def open_judge_and_writer(settings: Settings) -> Iterator[tuple[Judge, Writer]]:
    """The model that says yes or no, and what writes on its weights, with time for it; closed at the end.

    Raises:
        ConfigError: it cannot be used.
    """
    patient = settings.grading.model_copy(update={"timeout_s": max(settings.grading.timeout_s, WRITING_S)})
    model = open_model(settings.model_copy(update={"grading": patient}), stderr_progress())
    try:
        yield ModelJudge(model), model
    finally:
        close(model)


@contextmanager
def open_judge(settings: Settings) -> Iterator[Judge]:
    """The model that says yes or no; closed at the end.

    Raises:
        ConfigError: it cannot be used.
    """
    model = open_model(patient(settings), stderr_progress())
    try:
        yield ModelJudge(model)
    finally:
        close(model)
