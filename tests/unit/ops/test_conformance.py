"""`support-agent conformance`: every row has examples that must hold and one that must not, or names its test."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from support_agent.cli import printing
from support_agent.errors import ConfigError
from support_agent.mail.machines.screening import RULES
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import identify
from support_agent.ops.conformance import ExampleResult, RowResult, rows, run_rows
from support_agent.ops.conformance import outgoing as outgoing_rows
from support_agent.ops.conformance.outgoing import CHECKS

ROOT = Path(__file__).parents[3]
RESULTS = run_rows()
BROKEN = {
    "S16": (b"To: ", b"Cc: sales@example.org\r\nTo: "),
    "S40": (b"auto-replied", b"no"),
    "S41": (b"In-Reply-To: <", b"In-Reply-To: <x"),
    "S42": (b"Message-ID: <sa.", b"Message-ID: <sb."),
    "S43": (b"Subject: Re:", b"Subject: Re: Re:"),
    "S44": (b"Reply-To: ", b"X-Reply-To: "),
    "S45": (b"OOF, AutoReply", b"OOF"),
    "S49": (b"multipart/alternative", b"multipart/mixed"),
    "S50": (b"hops=", b"hops=1"),
}
"""Of each row about the outgoing mail: what to change in an answer so that it is against the row."""


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: row.id)
def test_every_row_passes(row: RowResult) -> None:
    """S1 to S66: what came out of each example is what the row says."""
    assert [example for example in row.examples if not example.is_passed] == []
    assert row.is_passed
    assert row.what
    assert row.source


def test_the_table_has_every_row_of_the_screening() -> None:
    assert {rule.id for rule in RULES} <= {row.id for row in RESULTS}
    assert {f"S{number}" for number in (*range(1, 17), 20, 21, 22, 23, 24)} <= {row.id for row in RESULTS}


@pytest.mark.parametrize("rule", sorted({rule.id for rule in RULES}))
def test_each_row_of_the_screening_has_a_mail_that_it_holds_for_and_a_near_miss(rule: str) -> None:
    """A row that nothing is held against would pass whatever it did."""
    table = rows._table(rows.FOLDER)[rule].mails
    verdicts = {found.verdict.value for found in RULES if found.id == rule}
    assert "near" in table
    assert verdicts <= {outcome.removesuffix(rows.OF_CUSTOMER) for outcome in table}


@pytest.mark.parametrize("row", [row for row in RESULTS if row.proven_by], ids=lambda row: row.id)
def test_a_row_that_a_test_proves_names_one_that_exists_and_is_about_it(row: RowResult) -> None:
    """In its name or its docstring: a file that is there proves nothing."""
    file, _, name = row.proven_by.partition("::")
    tests = {
        node.name: node
        for node in ast.parse((ROOT / file).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert name.startswith("test_")
    said = f"{name} {ast.get_docstring(tests[name]) or ''}"
    assert re.search(rf"(?<![a-z0-9]){row.id}(?![0-9])", said, re.IGNORECASE)


def test_rows_that_are_not_run_say_so() -> None:
    """S24 is nothing that a mail alone can show: what goes out to both has to be compared."""
    not_run = {row.id for row in RESULTS if not row.examples}
    assert not_run == {row.id for row in RESULTS if row.result == "tests"}
    assert not_run >= {"S24", "S30", "S62"}
    assert [row.id for row in RESULTS if row.result == "tests" and not row.proven_by] == []


def test_s23_the_example_of_a_seal_depends_on_the_settings() -> None:
    """A row of level 0 alone would pass if no seal were ever believed, or if nobody looked at who sealed."""
    mail = parse((rows.FOLDER / "mails" / "seal_of_a_forwarder_in_the_settings.eml").read_bytes())
    nobody = rows.AGENT.model_copy(update={"arc_sealers": ()})
    assert [identify(mail, agent, lambda _: False).level for agent in (rows.AGENT, nobody)] == [2, 0]


def test_no_example_mail_lies_about_unused() -> None:
    used = {name for row in rows._table(rows.FOLDER).values() for names in row.mails.values() for name in names}
    assert used == {path.stem for path in (rows.FOLDER / "mails").glob("*.eml")}


@pytest.mark.parametrize("row", sorted(CHECKS))
def test_each_check_of_the_outgoing_mail_can_fail(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = BROKEN[row]
    right = outgoing_rows.answer_to

    def wrong(*arguments: object) -> bytes:
        raw = right(*arguments)  # type: ignore[arg-type]
        assert good in raw
        return raw.replace(good, bad, 1)

    parent = parse((rows.FOLDER / "mails" / "plain_question.eml").read_bytes())
    assert CHECKS[row](parent, rows.AGENT) == ""
    monkeypatch.setattr(outgoing_rows, "answer_to", wrong)
    assert CHECKS[row](parent, rows.AGENT)


def test_a_row_whose_mail_comes_out_otherwise_fails(tmp_path: Path) -> None:
    """The examples decide, not the table's word: with other mails under the same names the rows fail."""
    folder = tmp_path / "conformance"
    shutil.copytree(rows.FOLDER, folder)
    shutil.copyfile(folder / "mails" / "plain_question.eml", folder / "mails" / "list_id.eml")
    shutil.copyfile(folder / "mails" / "auto_submitted_replied.eml", folder / "mails" / "auto_submitted_no.eml")
    failed = {row.id: [e for e in row.examples if not e.is_passed] for row in run_rows(folder) if not row.is_passed}
    assert {row: [example.name for example in examples] for row, examples in failed.items()} == {
        "S2": ["auto_submitted_no"],
        "S4": ["list_id"],
    }
    assert failed["S4"][0].expected == "file by S4"


def test_an_installation_that_lacks_a_mail_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape("lacks a usable conformance/rows.toml")):
        run_rows(tmp_path)


@pytest.mark.parametrize("row", ["fiel = ['list_id']", "file = 'list_id'", "level_4 = []", "sauce = 'RFC 3834'"])
def test_a_misspelt_row_is_refused(tmp_path: Path, row: str) -> None:
    (tmp_path / "rows.toml").write_text(f"[S4]\n{row}\n", "utf-8")
    with pytest.raises(ConfigError, match=re.escape("lacks a usable conformance/rows.toml")):
        run_rows(tmp_path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        cli.main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_the_command_prints_the_table_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("conformance") == 0
    printed = capsys.readouterr().out
    assert re.search(r"^S4 +pass +5 mails +mail of a list", printed, re.MULTILINE)
    proven = sum(not row.examples for row in RESULTS)
    assert printed.endswith(
        f"{len(RESULTS) - proven} rows run, {proven} proven by the tests of the checkout, 0 failures\n"
    )
    assert run("conformance", "--json") == 0
    assert {row["id"] for row in json.loads(capsys.readouterr().out)} == {row.id for row in RESULTS}


def test_the_command_exits_1_and_says_what_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    example = ExampleResult(name="list_id", expected="file by S4", found="answer by None", is_passed=False)
    row = RowResult(id="S4", result="FAIL", what="mail of a list", source="RFC", proven_by="", examples=(example,))
    monkeypatch.setattr("support_agent.ops.conformance.run_rows", lambda: (row,))
    assert run("conformance") == 1
    assert "S4: list_id: expected file by S4, found answer by None" in capsys.readouterr().out
    assert "1 failure" in printing.conformance((row,))
