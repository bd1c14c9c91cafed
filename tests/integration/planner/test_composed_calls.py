"""The embedded model composes calls that no form lists, on the demo company: the right ones, or a person answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support_agent.app.wiring import open_decider
from support_agent.config.loading import load
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress
from support_agent.ops.dry_run import DryRunResult
from support_agent.workflow.decide import Decider
from tests.benchmarks.companies import dry_run_by

TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANNA = "anna.keller@example.net"


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory, model_file: Path) -> Iterator[Decider]:
    """Decides mails on the demo company with composed calls."""
    folder = tmp_path_factory.mktemp("workspace") / "company"
    init(folder, TODAY.date())
    # The time is a bound for customers, not for a machine that runs other tests as well.
    limits = {"planner.mode": "tools", "planner.max_s": 1800.0, "model.timeout_s": 300.0}
    settings = load(folder / CONFIG_FILE, {**limits, "model.path": str(model_file)})
    model = open_model(settings, stderr_progress())
    opened = open_decider(settings, stderr_progress(), in_memory=True, model=model)
    yield opened
    close(model, opened.company.accounts)


def tried(decider: Decider, question: str) -> DryRunResult:
    head = f"From: Anna <{ANNA}>\r\nTo: support@harborfile.example\r\nSubject: My payments\r\n\r\n"
    raw = f"{head}{question}\r\n".encode()
    return dry_run_by(decider).try_mail("mail.eml", raw, TODAY, as_level=3, as_customer=ANNA)


@pytest.mark.model
@pytest.mark.timeout(1800)  # on a machine that may be slow
def test_payments_above_average_come_highest_first(decider: Decider) -> None:
    """Filter, then sort, then send: a person who read the mail would make the same calls."""
    done = tried(decider, "Please list my payments of this year that are above average, highest first.")
    assert [call.tool for call in done.line.calls] == [
        "find_documents", "fetch_series", "filter", "sort", "send_table", "finish",
    ]  # fmt: skip
    fetch, keep, order = (call.args for call in done.line.calls[1:4])
    assert fetch == {"series": "payments", "period": "this_year"}
    assert (keep["keep"], order["order"]) == ("above_average", "highest_first")
    assert done.line.answer is not None
    assert done.line.outcome == "answer"
