"""The command `model`: fetch, list and verify the models. Checked by tests/unit/cli/test_main.py."""

from __future__ import annotations

import typer

from support_agent.cli import printing
from support_agent.cli.options import DONE, FAILED, ConfigOption, JsonOption, print_data, settings_of

model_app = typer.Typer(help="The models: fetch, list, verify.", no_args_is_help=True, rich_markup_mode=None)


@model_app.command("pull")
def model_pull(config: ConfigOption = None) -> None:
    """Fetch and verify the models."""
    from support_agent.models.embedders import needed_models
    from support_agent.models.progress import stderr_progress
    from support_agent.models.pulling import language_model, pull

    settings = settings_of(config, optional=True)
    typer.echo(str(language_model(settings.model, stderr_progress())))
    for model in needed_models(settings):
        typer.echo(str(pull(model, settings.model, stderr_progress())))


@model_app.command("list")
def model_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the pinned models: their sources, their place, and whether they are there."""
    from support_agent.models.pulling import cache_dir, listing

    listed = listing(cache_dir(settings_of(config, optional=True).model))
    print_data(listed, as_json, printing.models(listed))


@model_app.command("verify")
def model_verify(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Hash the model files and compare them with the pinned sha256 sums."""
    from support_agent.models.embedders import is_needed
    from support_agent.models.pinned import MODELS
    from support_agent.models.pulling import cache_dir, verify

    settings = settings_of(config, optional=True)
    needed = [model for model in MODELS if is_needed(model, settings)]
    findings = [finding for model in needed for finding in verify(model, cache_dir(settings.model))]
    print_data(findings, as_json, printing.findings(findings))
    raise typer.Exit(FAILED if findings else DONE)
