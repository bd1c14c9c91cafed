"""Files are read in a process of their own: every kind gives blocks, and no file costs more than its limits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support_agent.extraction.blocks import Block, BlockKind, Refusal
from support_agent.extraction.process import KEPT_VARIABLES, PACKAGES, Extracted, ExtractionLimits, FileKind, extract
from tests.unit.extraction.files import docx, locked_pdf, paragraph, pdf

LIMITS = ExtractionLimits(max_characters=4_000, max_pages=5, timeout_s=20, memory_bytes=1_000_000_000)
ENTITIES = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>"


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (FileKind.PDF, pdf("How do I cancel?")),
        (FileKind.PDF, locked_pdf("")),
        (FileKind.DOCX, docx(paragraph("How do ", "I cancel?"))),
        (FileKind.HTML, b"<p>How do <b>I</b> cancel?"),
    ],
)
def test_each_kind_of_file_gives_its_blocks(kind: FileKind, raw: bytes) -> None:
    """A pdf that is encrypted only to forbid printing opens with an empty password, as in every viewer."""
    assert extract(kind, raw, LIMITS) == Extracted(blocks=(Block(BlockKind.PARAGRAPH, ("How do I cancel?",)),))


@pytest.mark.parametrize(
    ("kind", "raw", "refusal"),
    [
        pytest.param(FileKind.PDF, locked_pdf("secret"), Refusal.ENCRYPTED, id="pdf with a password"),
        pytest.param(FileKind.PDF, pdf("How do I cancel?")[:200], Refusal.BROKEN, id="pdf that is cut"),
        pytest.param(FileKind.PDF, pdf(*["a"] * 6), Refusal.TOO_MUCH, id="pdf of many pages"),
        pytest.param(FileKind.PDF, pdf("word " * 1_000), Refusal.TOO_MUCH, id="pdf with much text"),
        pytest.param(
            FileKind.DOCX, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), Refusal.ENCRYPTED, id="locked docx"
        ),
        pytest.param(FileKind.DOCX, b"PK\x03\x04 no zip", Refusal.BROKEN, id="no zip"),
        pytest.param(FileKind.DOCX, docx(paragraph("a"))[:-40], Refusal.BROKEN, id="docx that is cut"),
        pytest.param(FileKind.DOCX, docx("<w:p>"), Refusal.BROKEN, id="docx with half an element"),
        pytest.param(FileKind.DOCX, docx(paragraph("&b;"), prologue=ENTITIES), Refusal.BROKEN, id="entities"),
        pytest.param(FileKind.DOCX, docx("<w:p>" + " " * 30_000_000), Refusal.TOO_MUCH, id="zip bomb"),
        pytest.param(FileKind.DOCX, docx(paragraph("a" * 5_000)), Refusal.TOO_MUCH, id="one long paragraph"),
        pytest.param(FileKind.HTML, b"<p>a" * 5_000, Refusal.TOO_MUCH, id="page with much text"),
    ],
)
def test_a_file_that_cannot_be_read_whole_says_why(kind: FileKind, raw: bytes, refusal: Refusal) -> None:
    """What a person can do about it differs, so the reason does."""
    assert extract(kind, raw, LIMITS).refusal is refusal


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        pytest.param(FileKind.DOCX, docx("<w:sdt>" * 50_000 + paragraph("x") + "</w:sdt>" * 50_000), id="deep docx"),
        pytest.param(FileKind.DOCX, docx("<w:tbl><w:tr><w:tc>" * 9_000 + "<w:p/>"), id="deep tables"),
        pytest.param(FileKind.HTML, b"<div>" * 50_000 + b"x", id="deep page"),
        pytest.param(FileKind.HTML, b"<ul><li>x" * 900, id="deep lists"),
        pytest.param(FileKind.PDF, b"%PDF-1.4\n" + b"1 0 obj<<" * 20_000, id="pdf of nothing but openings"),
        pytest.param(FileKind.PDF, b"", id="empty"),
    ],
)
def test_deep_nesting_ends_like_any_other_file(kind: FileKind, raw: bytes) -> None:
    """Read or refused, but never an exception, and never more than the few words that are in it."""
    found = extract(kind, raw, LIMITS)
    assert {text for block in found.blocks for text in block.texts} <= {"x"}
    assert found.blocks or found.refusal in (Refusal.BROKEN, Refusal.TOO_MUCH)


@pytest.mark.parametrize("limit", [{"timeout_s": 0.001}, {"memory_bytes": 1_000}])
def test_a_reader_that_hangs_or_dies_is_given_up(limit: dict[str, float]) -> None:
    """No text and a reason; where memory ends, even a library may look broken."""
    found = extract(FileKind.PDF, pdf("How do I cancel?"), LIMITS.model_copy(update=limit))
    assert found.blocks == ()
    assert found.refusal in (Refusal.TOO_MUCH, Refusal.BROKEN)


def test_half_characters_of_a_pdf_do_not_lose_the_rest() -> None:
    """A pdf's table of characters may give half a surrogate, which is no text and breaks JSON."""
    mapped = b"/CIDInit begincmap 1 beginbfchar <41> <D800> endbfchar endcmap"
    raw = pdf("A fee").replace(
        b"/BaseFont /Helvetica>> endobj",
        b"/BaseFont /Helvetica /ToUnicode 4 0 R>> endobj\n4 0 obj <</Length %d>> stream\n%s\nendstream endobj"
        % (len(mapped), mapped),
    )
    found = extract(FileKind.PDF, raw, LIMITS)
    assert found.refusal is None
    assert found.blocks[0].texts[0].endswith(" fee")


def test_no_secret_of_the_environment_reaches_the_process_that_reads_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Failure: only settings of the program were withheld, and not the URL of a database that `url_env` names."""
    arrived, interpreter = tmp_path / "arrived", tmp_path / "interpreter"
    interpreter.write_text(f'#!/bin/sh\nenv > "{arrived}"\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    secrets = ("SHOP_DATABASE_URL", "PGPASSWORD", "SUPPORT_AGENT__IMAP__PASSWORD", "LC_SECRET", "PYTHON_KEY", "Path_2")
    for name in secrets:
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = extract(FileKind.PDF, pdf("How do I cancel?"), LIMITS)
    assert found == Extracted(blocks=(Block(BlockKind.PARAGRAPH, ("How do I cancel?",)),))
    environment = dict(line.split("=", 1) for line in arrived.read_text().splitlines() if "=" in line)
    assert "a-secret" not in environment.values()
    assert environment.keys() <= KEPT_VARIABLES | {"PWD", "OLDPWD", "SHLVL", "_"}  # a shell sets the others
    assert environment["TMPDIR"] == str(tmp_path)
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(PACKAGES), str(tmp_path)]
