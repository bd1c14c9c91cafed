"""A workspace and a store that an older version made: they open, migrate, and every mail renders to the same bytes.

`tests/kept` has the configuration that `init` wrote on 2026-11-23, and the store of eleven customers' mails, a staff
reply and a newsletter of that day, with the templates and documents that the answers were made from.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from support_agent.demo.workspace import CONFIG_FILE
from support_agent.store.records import OutgoingKind
from support_agent.store.store import Store
from tests.acceptance.program import workspace_in
from tests.servers.program import ForkedProgram

KEPT = Path(__file__).parents[1] / "kept"


@pytest.fixture(scope="module")
def older(program: ForkedProgram, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the older configuration, the older store, and the templates that the store has."""
    workspace = workspace_in(tmp_path_factory.mktemp("older"), program.run)
    shutil.copy(KEPT / CONFIG_FILE, workspace / CONFIG_FILE)
    path = workspace / "support-agent.sqlite3"
    path.write_bytes(gzip.decompress((KEPT / "store.sqlite3.gz").read_bytes()))
    copy = shutil.copy(path, workspace / "migrated.sqlite3")
    with Store.open(f"sqlite:///{copy}") as store:
        store.upgrade()
        first = store.outbox.find(kind=OutgoingKind.ANSWER)[0]
        record = store.outbox.rendered_mail(first.mail_id, OutgoingKind.ANSWER)
        assert record is not None
        files = store.versions.templates(record.templates_version)
    assert files is not None
    for name, text in files.items():
        (workspace / "templates" / name).write_text(text, "utf-8")
    # Today's expected texts, with words and parts that older templates lack.
    for name in ("escalation", "acknowledgement", "acknowledgement_hours", "answer", "answer_approved", "document"):
        (workspace / "templates" / "tests" / f"{name}.yaml").unlink()
    return workspace


def test_every_mail_of_an_older_store_renders_to_the_same_bytes(program: ForkedProgram, older: Path) -> None:
    done = program.run("replay", "--all", "--json", folder=older)
    assert done.code == 0, done
    (report,) = done.lines
    kinds = [entry["kind"] for entry in report["replayed"]]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == {
        "acknowledgement": 4,
        "answer": 6,
        "packet": 6,
        "person_reply": 1,
    }
    assert [entry for entry in report["replayed"] if not entry["is_identical"]] == []


def test_cases_of_an_older_store_are_shown_and_explained(program: ForkedProgram, older: Path) -> None:
    cases = program.run("cases", "--json", folder=older)
    assert cases.code == 0, cases
    assert len(cases.lines[0]) == 11
    for entry in cases.lines[0][::10]:
        for command in ("show", "why"):
            done = program.run(command, entry["case"]["id"], folder=older)
            assert done.code == 0, done


def test_the_configuration_and_the_templates_of_an_older_workspace_pass_the_check(
    program: ForkedProgram, older: Path
) -> None:
    """Nothing but what its owner has not filled in yet is found."""
    done = program.run("check", "--json", folder=older)
    assert done.code == 0, done
    assert {finding["severity"] for finding in done.lines[0]} == {"warning"}
