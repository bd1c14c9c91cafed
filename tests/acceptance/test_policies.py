"""From a text that somebody sent to a document that customers get: import, check, a person's part, check, answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support_agent.company.documents import check_documents, load_documents
from tests.acceptance.program import Done
from tests.servers.program import ForkedProgram
from tests.unit.extraction.files import docx, paragraph, styled, table

LETTER = docx(
    styled("Gift cards", "<w:outlineLvl w:val='0'/>")
    + paragraph("A gift card is valid for 3 years.")
    + table(("Card", "Price"), ("Small", "EUR 10"))
)
WRITTEN = {
    "summary:": "summary: Buying and redeeming gift cards.",
    "url:": "url: https://harborfile.example/help/gift-cards",
    "valid_from:": "valid_from: 2026-01-01",
    "audience:": "audience: everyone",
}


def test_an_imported_text_is_a_document_once_a_person_has_reviewed_it(program: ForkedProgram, workspace: Path) -> None:
    """`check` names what is missing; the file is loaded at no moment before its line is changed."""
    (workspace / "letter.docx").write_bytes(LETTER)
    imported = program.run("policies", "import", "letter.docx", "--json", folder=workspace)
    assert (imported.code, imported.err) == (0, ""), imported
    (told,) = imported.lines
    path = Path(told["path"])
    assert (told["number"], path.name) == (21, "021-gift-cards.md")

    first = check(program, workspace)
    assert first.code == 0
    assert [finding["what"] for finding in about(first, path)] == [
        "not reviewed, so no customer gets it", *(f"{key} is empty" for key in told["missing"]),
    ]  # fmt: skip
    assert numbers(workspace) == list(range(1, 21))

    text = path.read_text("utf-8")
    path.write_text(text.replace("reviewed: false", "reviewed: true"), "utf-8")
    early = check(program, workspace)
    assert early.code == 1, "approved, but not written"
    assert [finding["what"] for finding in about(early, path)] == [f"{key} is empty" for key in told["missing"]]

    written = "".join(f"{WRITTEN.get(line.split(' ')[0], line)}\n" for line in text.splitlines())
    path.write_text(written, "utf-8")
    written_only = check_documents(workspace / "policies", datetime.now(UTC).date())
    assert [finding.severity for finding in written_only if finding.path == path] == ["warning"]
    assert numbers(workspace) == list(range(1, 21))

    path.write_text(written.replace("reviewed: false", "reviewed: true"), "utf-8")
    last = check(program, workspace)
    assert (last.code, about(last, path)) == (0, [])
    document = load_documents(workspace / "policies")[-1]
    assert document.number == 21
    assert [sentence.text for sentence in document.sentences] == [
        "A gift card is valid for 3 years.", "Card | Price", "Small | EUR 10",
    ]  # fmt: skip


def check(program: ForkedProgram, workspace: Path) -> Done:
    return program.run("check", "--json", folder=workspace)


def about(checked: Done, path: Path) -> list[dict[str, Any]]:
    """The findings on one file."""
    return [finding for finding in json.loads(checked.out) if finding["path"] == str(path)]


def numbers(workspace: Path) -> list[int]:
    return [document.number for document in load_documents(workspace / "policies")]
