"""Who may import whom: the contracts of `.importlinter` hold, and each of them can break."""

from __future__ import annotations

import copy
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from importlinter import Contract
from importlinter.application.use_cases import read_user_options
from importlinter.application.user_options import UserOptions
from importlinter.configuration import configure
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / ".importlinter"
TYPES: dict[str, type[Contract]] = {"forbidden": ForbiddenContract, "layers": LayersContract}
VIOLATIONS = (
    ({"layers"}, "company.documents", "planner.choice"),
    ({"layers"}, "mail.message", "tools.base"),
    ({"layers"}, "mail.machines.screening", "store.store"),
    ({"layers"}, "mail.senders.dkim_check", "transport.dns_lookup"),
    ({"layers"}, "answer.packet", "engine.engine"),
    ({"layers"}, "desk.retrieved", "workflow.decide"),
    ({"layers", "promise"}, "answer.render", "facts.index"),
    ({"layers", "promise"}, "mail.outgoing", "planner.plan"),
    ({"layers", "promise"}, "answer.views", "workflow.stages"),
    ({"promise"}, "outbound.rendered_mail", "models.llama"),
    ({"layers", "promise"}, "outbound.rendered_mail", "workflow.decide"),
    ({"layers"}, "company.text", "mail.message"),
    ({"layers"}, "company.text", "answer.final_answer"),
    ({"layers"}, "tools.facts", "facts.search"),
    ({"layers"}, "tools.catalogue", "planner.loop"),
    ({"layers"}, "planner.loop", "facts.index"),
    ({"layers"}, "planner.loop", "store.store"),
    ({"layers"}, "facts.search", "planner.loop"),
    ({"layers"}, "config.settings", "company.company"),
    ({"layers"}, "app", "cli.main"),
    ({"choosing"}, "planner.choice", "mail.outgoing"),
    ({"choosing"}, "planner.loop", "answer.render"),
    ({"choosing"}, "tools.answers", "mail.message"),
    ({"writing"}, "planner.loop", "models.writer"),
    ({"writing"}, "workflow.decide", "models.llama"),
    ({"keeping"}, "engine.engine", "company.company"),
    ({"keeping"}, "store.mails", "mail.message"),
    ({"layers"}, "extraction.process", "company.text"),
    ({"layers"}, "extraction.page", "mail.text.body"),
    ({"layers"}, "facts.inquiry.workflow", "ops.evals.measures"),
    ({"layers"}, "ops.evals.intents", "app"),
    ({"layers"}, "models.embedding.minilm", "facts.index"),
    ({"promise"}, "outbound.rendered_mail", "models.embedders"),
    ({"promise"}, "answer.render", "models.embedding.port"),
    ({"libraries"}, "models.embedding.use", "onnxruntime"),
    ({"libraries"}, "facts.index", "threadpoolctl"),
    ({"libraries"}, "facts.search", "onnxruntime_extensions"),
    ({"libraries"}, "mail.text.attachment_text", "pypdf"),
    ({"libraries"}, "workflow.stages", "dbos"),
    ({"libraries"}, "facts.search", "chromadb"),
    ({"libraries"}, "facts.passages", "bm25s"),
    ({"libraries"}, "facts.graph.evidence", "networkx"),
    ({"libraries"}, "app", "llama_cpp"),
    ({"libraries"}, "facts.inquiry.nodes", "llama_cpp"),
    ({"libraries"}, "models.judge", "openai"),
    ({"layers"}, "planner.loop", "facts.search"),
    ({"layers"}, "models.weights", "facts.search"),
    ({"libraries"}, "workflow.decide", "openai"),
    ({"libraries"}, "models.llama", "instructor"),
    ({"libraries"}, "workflow.worker", "imapclient"),
    ({"libraries"}, "ops.doctor", "aiosmtplib"),
    ({"forbidden_libraries"}, "workflow.stages", "smtplib"),
    ({"forbidden_libraries"}, "engine.engine", "pickle"),
    ({"tests"}, "cli.eval", "tests"),
)
"""(contracts that break, importer, imported): an import that is not there, and must not be."""


@pytest.fixture(scope="module")
def options() -> UserOptions:
    configure()
    return read_user_options(str(CONFIG))


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("support_agent", include_external_packages=True, cache_dir=None)


def broken(options: UserOptions, graph: grimp.ImportGraph) -> set[str]:
    """The ids of the contracts that do not hold."""
    ids = set()
    for contract in options.contracts_options:
        check = TYPES[contract["type"]](
            name=contract["name"], session_options=options.session_options, contract_options=contract
        )
        if not check.check(copy.deepcopy(graph), verbose=False).kept:
            ids.add(contract["id"])
    return ids


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `lint-imports` on the package in a folder, as a person would."""
    program = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [program, "--config", CONFIG, "--no-cache"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_every_contract_holds() -> None:
    """Rule: imports point down, and the rooms that make a customer's words know nothing of models."""
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


def test_a_forbidden_import_fails_the_run(tmp_path: Path) -> None:
    """A run that cannot fail proves nothing."""
    package = tmp_path / "support_agent"
    shutil.copytree(ROOT / "support_agent", package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / "answer" / "final_answer.py"
    path.write_text(f"{path.read_text('utf-8')}\nfrom support_agent.planner import plan\n", "utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1
    assert "support_agent.answer.final_answer -> support_agent.planner.plan" in done.stdout


def test_every_module_has_its_layer(options: UserOptions, graph: grimp.ImportGraph) -> None:
    """A new file says where it stands before anything may import it."""
    grown = copy.deepcopy(graph)
    grown.add_module("support_agent.helpers")
    assert broken(options, grown) == {"layers"}


@pytest.mark.parametrize(("ids", "importer", "imported"), VIOLATIONS)
def test_each_contract_breaks(
    options: UserOptions, graph: grimp.ImportGraph, ids: set[str], importer: str, imported: str
) -> None:
    """Each forbidden import is caught by its contract, also one that leads there through other modules."""
    assert f"support_agent.{importer}" in graph.modules
    is_ours = f"support_agent.{imported}" in graph.modules
    violating = copy.deepcopy(graph)
    violating.add_import(
        importer=f"support_agent.{importer}",
        imported=f"support_agent.{imported}" if is_ours else imported,
        line_number=1,
        line_contents="-",
    )
    assert ids <= broken(options, violating)


def test_no_contract_is_without_an_example(options: UserOptions) -> None:
    """A new contract needs an import that breaks it."""
    shown = {id_ for ids, _, _ in VIOLATIONS for id_ in ids}
    assert shown == {contract["id"] for contract in options.contracts_options}
