"""Files that are not reviewed: in the folder of the documents, and sent to nobody, whatever is in them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support_agent.company.documents import check_documents, is_unreviewed, load_documents, parse_document
from support_agent.core.findings import Severity
from support_agent.errors import ConfigError

TODAY = date(2026, 6, 1)
DOCUMENT = """---
number: 1
title: Refunds
summary: When money comes back.
url: https://harborfile.example/refunds
valid_from: 2026-01-01
---
# Refunds

Within 30 days.
"""


def unreviewed(text: str, line: str = "reviewed: false") -> str:
    return text.replace("---\n", f"---\n{line}\n", 1)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def second(text: str = DOCUMENT) -> str:
    return text.replace("number: 1", "number: 2").replace("title: Refunds", "title: Gifts")


def test_a_file_that_is_not_reviewed_is_not_loaded_however_whole_it_is(tmp_path: Path) -> None:
    """The promise: the words of a document are ones that a person has approved."""
    write(tmp_path, "001-refunds.md", DOCUMENT)
    path = write(tmp_path, "002-gifts.md", unreviewed(second()))
    assert [document.number for document in load_documents(tmp_path)] == [1]
    path.write_text(second(), "utf-8")
    assert [document.number for document in load_documents(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    "line", ["reviewed: false", "reviewed: False", "reviewed : false  # until Ann has read it", "reviewed:\tfalse"]
)
def test_the_line_is_enough_where_the_rest_cannot_be_read(line: str, tmp_path: Path) -> None:
    """Somebody is in the middle of writing it: that must neither send it nor stop the agent."""
    write(tmp_path, "001-refunds.md", DOCUMENT)
    for number, rest in enumerate(["title: [\n---\n![x](y)\n", "---\n", "title: \ufffe\n---\n<b>\n"], 2):
        write(tmp_path, f"00{number}-x.md", f"---\n{line}\n{rest}")
    (tmp_path / "009-x.md").write_bytes(b"---\n" + line.encode() + b"\ntitle: \xff\n---\n\x00")
    assert len(load_documents(tmp_path)) == 1
    assert all(finding.severity is Severity.WARNING for finding in check_documents(tmp_path, TODAY))


@pytest.mark.parametrize(
    "line",
    ["reviewed: no", "reviewed: 'false'", "reviewed: falsely", "reviewed:", '"reviewed": false', "reviewed: 0"],
)
def test_another_way_to_say_it_is_an_error_and_never_sent(line: str, tmp_path: Path) -> None:
    """What is not understood is refused: `reviewed: no` is neither kept back in silence nor sent."""
    write(tmp_path, "001-refunds.md", unreviewed(DOCUMENT, line))
    with pytest.raises(ConfigError, match=r"001-refunds.md:2: reviewed .*: write true once"):
        load_documents(tmp_path)


def test_it_is_told_by_its_front_matter_only() -> None:
    """A document may speak of reviews."""
    assert is_unreviewed(unreviewed(DOCUMENT).encode())
    assert not is_unreviewed((DOCUMENT + "\nreviewed: false\n").encode())
    assert not is_unreviewed(unreviewed(DOCUMENT, "reviewed: true").encode())
    assert not is_unreviewed(b"reviewed: false\n")


def test_check_names_what_is_missing_without_failing(tmp_path: Path) -> None:
    """Preparing a document is normal work; each key that a person must write is named with its line."""
    write(tmp_path, "001-refunds.md", DOCUMENT)
    path = write(tmp_path, "002-gifts.md", unreviewed(second()).replace("When money comes back.", ""))
    findings = check_documents(tmp_path, TODAY)
    assert [(finding.severity, finding.path, finding.line) for finding in findings] == [
        (Severity.WARNING, path, 2),
        (Severity.WARNING, path, 5),
    ]
    assert "change that line to `reviewed: true`" in findings[0].todo
    assert findings[1].what == "summary is empty"


def test_check_names_a_number_that_cannot_be_kept(tmp_path: Path) -> None:
    """Else the day on which it is approved is the day on which nothing loads."""
    write(tmp_path, "001-refunds.md", DOCUMENT)
    write(tmp_path, "001-gifts.md", unreviewed(DOCUMENT))
    assert "number 1 is the number of another document" in [f.what for f in check_documents(tmp_path, TODAY)]
    assert len(load_documents(tmp_path)) == 1


def test_without_a_reviewed_file_there_are_no_documents(tmp_path: Path) -> None:
    """An agent without documents answers nothing, so it does not start."""
    write(tmp_path, "001-refunds.md", unreviewed(DOCUMENT))
    with pytest.raises(ConfigError, match="no documents: review one of the files"):
        load_documents(tmp_path)


def test_an_unreviewed_file_is_no_document_to_anybody() -> None:
    """Also where bytes come from elsewhere than the folder, such as the store."""
    with pytest.raises(ConfigError, match="reviewed cannot be used"):
        parse_document(Path("001-refunds.md"), unreviewed(DOCUMENT).encode())
