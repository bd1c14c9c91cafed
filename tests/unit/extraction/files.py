"""Files as other programs write them, made here: pdf and docx."""

from __future__ import annotations

import io
import zipfile

import pypdf

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def pdf(*pages: str) -> bytes:
    """A small pdf without compression; its cross references are left to the reader to rebuild."""
    kids = " ".join(f"{10 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj",
        f"2 0 obj <</Type /Pages /Kids [{kids}] /Count {len(pages)}>> endobj",
        "3 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(
            f"{10 + 2 * n} 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {11 + 2 * n} 0 R"
            " /Resources <</Font <</F1 3 0 R>>>>>> endobj"
        )
        objects.append(f"{11 + 2 * n} 0 obj <</Length {len(drawn)}>> stream\n{drawn}\nendstream endobj")
    return "\n".join(["%PDF-1.4", *objects, "trailer <</Root 1 0 R>>", "startxref\n0", "%%EOF"]).encode()


def archive(files: dict[str, bytes]) -> bytes:
    """A zip file with these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return out.getvalue()


def docx(body: str, namespace: str = WORD, prologue: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"{prologue}<w:document xmlns:w='{namespace}'>{body}</w:document>")
    return out.getvalue()


def paragraph(*runs: str) -> str:
    return "<w:p>" + "".join(f"<w:r><w:t>{run}</w:t></w:r>" for run in runs) + "</w:p>"


def word(body: str, styles: str = "", numbering: str = "") -> bytes:
    """A Word document with parts of its own for styles and lists."""
    out = io.BytesIO(docx(body))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (("styles", styles), ("numbering", numbering)):
            if part:
                archive.writestr(f"word/{name}.xml", f"<w:{name} xmlns:w='{WORD}'>{part}</w:{name}>")
    return out.getvalue()


def styled(text: str, properties: str) -> str:
    """A paragraph with properties, such as "<w:pStyle w:val='Title'/>"."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: tuple[str, ...]) -> str:
    """A table whose cells hold paragraphs."""
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def locked_pdf(password: str) -> bytes:
    """A pdf with a page of text that opens with a password; "" opens without being asked for one."""
    writer = pypdf.PdfWriter()
    writer.append(io.BytesIO(pdf("How do I cancel?")))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
