"""Policy files: what is read from them, and what `check` says about wrong ones."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.documents import (
    MAX_EXCERPT_CHARACTERS,
    Document,
    check_documents,
    load_documents,
    parse_document,
    size_of,
)
from support_agent.core.findings import Finding, Severity
from support_agent.errors import ConfigError

TODAY = date(2025, 6, 1)
HEAD = """---
number: 1
title: Refund policy
summary: When money comes back.
url: https://harborfile.example/refunds
questions:
  - Can I have my money back?
valid_from: 2025-01-31
---
"""
BODY = """# Refund policy

You get your **money back** within 14 days. Ask us, e.g. by mail;
see [the form](https://harborfile.example/form). It takes 2.5 days.

<!-- ask Legal
     before changing -->
## Plans

| Plan | Price |
|------|-------|
| Free | EUR 0 |
| *Pro* | EUR 9 \\| month |

1. Open `Settings > Billing`.
   Then wait.

   Still there?
   - Press *Refund*.
2. Done. Really.

```sh
harborfile --refund
harborfile --stop
```

> Quoted words. Two.
"""


def parse(body: str, head: str = HEAD, name: str = "001-refund-policy.md") -> Document:
    return parse_document(Path(name), (head + body).encode())


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_the_body_becomes_sentences_items_and_rows() -> None:
    """Paragraphs are split in sentences; a list item, a table row and a line of code are one unit each."""
    units = [(s.kind, s.text) for s in parse(BODY).sentences]
    assert units == [
        ("sentence", "You get your money back within 14 days."),
        ("sentence", "Ask us, e.g. by mail; see the form."),
        ("sentence", "It takes 2.5 days."),
        ("row", "Plan | Price"),
        ("row", "Free | EUR 0"),
        ("row", "Pro | EUR 9 | month"),
        ("item", "Open Settings > Billing. Then wait. Still there?"),
        ("item", "Press Refund."),
        ("item", "Done. Really."),
        ("sentence", "harborfile --refund"),
        ("sentence", "harborfile --stop"),
        ("sentence", "Quoted words."),
        ("sentence", "Two."),
    ]


def test_items_have_their_numbers_and_rows_their_cells() -> None:
    """A bullet, a sentence and a line of code have neither; what is nested is deeper."""
    found = parse(BODY).sentences
    assert [(s.number, s.depth) for s in found if s.kind == "item"] == [(1, 0), (None, 1), (2, 0)]
    assert [(s.cells, s.is_header) for s in found if s.kind == "row"] == [
        (("Plan", "Price"), True),
        (("Free", "EUR 0"), False),
        (("Pro", "EUR 9 | month"), False),
    ]
    assert {(s.number, s.depth, s.cells, s.is_header) for s in found if s.kind == "sentence"} == {(None, 0, (), False)}


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("7. a\n7. b\n1. c\n", [(7, 0), (8, 0), (9, 0)]),
        ("0. a\n1. b\n", [(0, 0), (1, 0)]),
        ("1) a\n2) b\n\n1. c\n", [(1, 0), (2, 0), (1, 0)]),
        ("1. a\n\n   5. b\n   6. c\n2. d\n", [(1, 0), (5, 1), (6, 1), (2, 0)]),
        ("- a\n  1. b\n     - c\n- d\n", [(None, 0), (1, 1), (None, 2), (None, 0)]),
        ("1. a\n2.\n3. c\n", [(1, 0), (3, 0)]),
        ("1. a\n\n   ```\n   code\n   ```\n\n2. b\n", [(1, 0), (2, 0)]),
        ("> 4. a\n> 5. b\n", [(4, 0), (5, 0)]),
    ],
)
def test_an_item_has_the_number_that_a_reader_of_the_page_sees(body: str, numbers: list[tuple[int, int]]) -> None:
    """CommonMark: the first number counts, the others follow, whatever is written before them or stands between."""
    items = [sentence for sentence in parse(body).sentences if sentence.kind == "item"]
    assert [(sentence.number, sentence.depth) for sentence in items] == numbers


def test_all_rows_of_a_table_have_as_many_cells_as_its_header() -> None:
    """Short rows have empty cells; marks within a cell go, an escaped bar stays."""
    rows = parse("| a | b | c |\n|---|---|---|\n| *d* |\n| | e \\| f | g | h |\n").sentences
    assert [row.cells for row in rows] == [("a", "b", "c"), ("d", "", ""), ("", "e | f", "g")]


def test_a_table_whose_header_is_empty_has_none() -> None:
    """Its first row is no header, and is not brought along as one."""
    document = parse("| | |\n|---|---|\n| Phone | 1 |\n| Fax | 2 |\n")
    assert [(row.cells, row.is_header) for row in document.sentences] == [
        (("Phone", "1"), False),
        (("Fax", "2"), False),
    ]
    assert document.with_table_headers([1]) == (1,)


def test_tables_and_lists_side_by_side_are_blocks_of_their_own() -> None:
    """Another mark, another number's delimiter, a comment or a rule ends a list."""
    lists = "- a\n\n<!-- then -->\n\n- b\n* c\n1. d\n1) e\n\n---\n\n1) f\n\n"
    tables = "| g | h |\n|---|---|\n| i | j |\n\n| k | l |\n|---|---|\n"
    assert [s.paragraph for s in parse(lists + tables).sentences] == [0, 1, 2, 3, 4, 5, 6, 6, 7]


def test_sentences_know_their_heading_block_and_line() -> None:
    """`line` counts from the file's first line, front matter included; neighbours share a paragraph."""
    document = parse(BODY)
    lines = (HEAD + BODY).split("\n")
    for sentence in document.sentences:
        first_word = re.split(r"\W", sentence.text)[0]
        assert first_word in lines[sentence.line - 1], sentence
    assert [s.index for s in document.sentences] == list(range(len(document.sentences)))
    assert {s.heading for s in document.sentences[:3]} == {"Refund policy"}
    assert {s.heading for s in document.sentences[3:]} == {"Plans"}
    assert [s.paragraph for s in document.sentences] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5]


def test_sections_are_what_stands_under_each_heading() -> None:
    """What stands above the first heading is one, too."""
    document = parse("Before.\n\n## Time\n\nTwo days. Or three.\n\nSundays do not count.\n\n## Fee\n\nNone.")
    texts = [[sentence.text for sentence in section] for section in document.sections]
    assert texts == [["Before."], ["Two days.", "Or three.", "Sundays do not count."], ["None."]]
    assert document.headings == ("", "Time", "Fee")


def test_a_section_that_no_excerpt_can_hold_is_its_paragraphs_a_list_with_the_line_that_announces_it() -> None:
    """A rule without its list, or a list without its rule, says something else."""
    long = "Words go on and on. " * 70
    document = parse(f"## Time\n\nWe refund:\n\n- cards\n- cash\n\nNothing else.\n\n{long}\n\n## Fee\n\nNone:")
    texts = [[sentence.text for sentence in section][:3] for section in document.sections]
    assert texts == [["We refund:", "cards", "cash"], ["Nothing else."], ["Words go on and on."] * 3, ["None:"]]
    assert [size_of(section) > MAX_EXCERPT_CHARACTERS for section in document.sections] == [False, False, True, False]
    assert document.headings == ("Time", "Fee")


def test_the_version_is_the_hash_of_the_files_bytes() -> None:
    """One changed byte is another version."""
    raw = (HEAD + BODY).encode()
    assert parse(BODY).version == hashlib.sha256(raw).hexdigest()
    assert parse(BODY + "\n").version != parse(BODY).version


WORD = st.text(alphabet="abcäöüABCÄ0123456789", min_size=1, max_size=6)
PARAGRAPH = st.lists(WORD.map(lambda w: w + "x"), min_size=1, max_size=8).map(" ".join)
MARKED = st.tuples(PARAGRAPH, st.sampled_from([".", "!", "?", " e.g.", ". 3.5", ". See https://a.example/b."])).map(
    "".join
)


@given(st.lists(st.tuples(st.sampled_from(["p", "*", "|", "w"]), st.lists(MARKED, min_size=1, max_size=4)), max_size=6))
def test_joined_sentences_stand_in_the_file(blocks: list[tuple[str, list[str]]]) -> None:
    """The module's invariant: neighbours of a block, joined by position, give text that is in the file."""
    body = "First words.\n\n"
    for kind, texts in blocks:
        if kind == "p":
            body += " ".join(texts) + "\n\n"
        elif kind == "w":
            body += "\n".join(texts) + "\n\n"
        elif kind == "*":
            body += "\n".join(f"* {text}" for text in texts) + "\n\nThen.\n\n"
        else:
            body += "| h | i |\n|---|---|\n" + "\n".join(f"| {text} | {text} |" for text in texts) + "\n\n"
    document = parse(body)
    plain = " ".join(body.split())
    for first in document.sentences:
        block = [s for s in document.sentences if s.paragraph == first.paragraph]
        if first.kind == "sentence":
            assert " ".join(s.text for s in block) in plain
        else:
            assert all(s.text in plain for s in block)
    words = set(re.findall(r"\w+", " ".join(s.text for s in document.sentences)))
    assert words == set(re.findall(r"\w+", body)), "nothing of the body is left out"


def test_a_row_brings_its_header() -> None:
    """A table row alone says nothing to a reader."""
    document = parse(BODY)
    assert document.with_table_headers([5, 0, 5]) == (0, 3, 5)
    with pytest.raises(IndexError, match="no sentence 99"):
        document.with_table_headers([99])


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("Text.\n\n![logo](logo.png)\n", 12, "an image"),
        ("Text <b>bold</b>.\n", 10, "HTML"),
        ("Text.\n\n<div>x</div>\n", 12, "HTML"),
        ("", 10, "empty"),
        ("# Only a heading\n", 10, "empty"),
        ("Safe\u202etxt.\n", 10, "U+202E"),
        ("A line.\nSafe &#x202E; text.\n", 11, "U+202E"),
        ("Bell\x07.\n", 10, "U+0007"),
        ("Text.\n<!-- a note \u202e -->\n", 11, "U+202E"),
    ],
)
def test_a_body_that_cannot_be_mailed_is_refused(body: str, line: int, what: str) -> None:
    """The error names file, line and what to do."""
    with pytest.raises(ConfigError, match=rf"001-refund-policy.md:{line}: .*{re.escape(what)}.*: \w+"):
        parse(body)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("https://harborfile.example", "http://harborfile.example", 5, "https://"),
        ("title: Refund policy\n", "", 1, "title is missing"),
        ("title:", "titel: x\ntitle:", 3, "unknown key titel: delete it, did you mean title?"),
        ("number: 1", "number: 2", 2, "rename it to 002-"),
        ("number: 1", "number: one", 2, "number cannot be used"),
        ("valid_from: 2025-01-31", "valid_from: soon", 8, "a day such as"),
        ("valid_from: 2025-01-31", "valid_from: 2025-02-31", 2, "not YAML"),
        ("valid_from:", "valid_until: 2024-01-01\nvalid_from:", 8, "before valid_from"),
        ("title: Refund", 'title: "Ref\\u202eund', 2, "not YAML"),
        ("title: Refund policy", 'title: "Ref\\u202eund"', 3, "U+202E in title"),
        ("title: Refund policy", 'title: "Ref\\nund"', 3, "U+000A in title"),
        ("number: 1", "number: 1\nnumber: 1", 3, "occurs twice"),
        ("summary: When money comes back.", "summary:", 4, "summary is empty: write 1 to 500 characters"),
        ("title:", "state:\ntitle:", 3, "unknown key state"),
    ],
)
def test_a_wrong_front_matter_is_refused(old: str, new: str, line: int, what: str) -> None:
    """Each wrong key is named with its line and what to write instead."""
    head = HEAD.replace(old, new, 1)
    assert head != HEAD
    with pytest.raises(ConfigError) as error:
        parse(BODY, head)
    assert what in str(error.value)
    if "not YAML" not in what:
        assert f"001-refund-policy.md:{line}: " in str(error.value)


def test_a_file_without_front_matter_is_refused() -> None:
    """It says how to write one."""
    with pytest.raises(ConfigError, match="no front matter: begin with a line ---"):
        parse("Text.\n", "")


def test_documents_are_loaded_by_number(tmp_path: Path) -> None:
    """Order is that of the numbers, whatever the names' order."""
    write(tmp_path, "0100-late.md", HEAD.replace("number: 1", "number: 100") + BODY)
    write(tmp_path, "020-early.md", HEAD.replace("number: 1", "number: 20") + BODY)
    write(tmp_path, "questions.toml", "")
    assert [document.number for document in load_documents(tmp_path)] == [20, 100]


def test_load_lists_every_error_of_every_file(tmp_path: Path) -> None:
    """One run tells everything: nobody mends one file, runs again and finds the next."""
    write(tmp_path, "001-a.md", HEAD.replace("title: Refund policy\n", "") + "![x](y)\n")
    write(tmp_path, "002-b.md", "nothing")
    (tmp_path / "003-c.md").write_bytes(b"\xff")
    with pytest.raises(ConfigError) as error:
        load_documents(tmp_path)
    for part in (
        "001-a.md:1: title",
        "001-a.md:9: an image",
        "002-b.md:1: no front",
        "003-c.md:1: not UTF-8",
    ):
        assert part in str(error.value)


def test_a_duplicate_number_is_found(tmp_path: Path) -> None:
    """A number names one document; which of two would be sent must not depend on their names."""
    write(tmp_path, "001-a.md", HEAD + BODY)
    second = write(tmp_path, "001-b.md", HEAD + BODY)
    finding = only(check_documents(tmp_path, TODAY))
    assert (finding.severity, finding.path, finding.line) == (Severity.ERROR, second, 2)
    assert "001-a.md" in finding.what
    with pytest.raises(ConfigError, match="also the number"):
        load_documents(tmp_path)


def test_a_numbered_file_that_is_no_document_is_a_warning(tmp_path: Path) -> None:
    """Failure: a text in the folder was never sent, and nothing said so."""
    for name in ("021-gift.txt", "022-gift.MD", "questions.toml", ".023-gift.md.swp"):
        (tmp_path / name).write_text("Gifts.", "utf-8")
    found = [finding for finding in check_documents(tmp_path, date(2025, 1, 1)) if finding.severity is Severity.WARNING]
    assert [finding.path.name for finding in found if finding.path] == ["021-gift.txt", "022-gift.MD"]
    assert "is not read" in found[0].what


def test_an_expired_document_is_an_error_of_check_only(tmp_path: Path) -> None:
    """It loads, because running on is better than stopping; `check` says that nobody gets it."""
    path = write(tmp_path, "001-a.md", HEAD.replace("---\n", "---\nvalid_until: 2025-05-31\n", 1) + BODY)
    finding = only(check_documents(tmp_path, TODAY))
    assert (finding.severity, finding.path, finding.line) == (Severity.ERROR, path, 2)
    assert "expired on 2025-05-31" in finding.what
    assert check_documents(tmp_path, date(2025, 5, 31)) == []
    (document,) = load_documents(tmp_path)
    assert not document.is_valid_on(TODAY)


def test_a_document_that_is_not_valid_yet_is_a_warning(tmp_path: Path) -> None:
    """Preparing a document is normal work."""
    write(tmp_path, "001-a.md", HEAD + BODY)
    finding = only(check_documents(tmp_path, date(2025, 1, 30)))
    assert (finding.severity, finding.line) == (Severity.WARNING, 8)


def test_an_empty_or_missing_directory_is_an_error(tmp_path: Path) -> None:
    """A company without documents answers nothing: that is a wrong path, not a choice."""
    assert "no documents" in only(check_documents(tmp_path, TODAY)).what
    assert "no such directory" in only(check_documents(tmp_path / "x", TODAY)).what
