"""Editing documents: a new version, a new document, a translation, an earlier version, or an imported file.

Checked by tests/unit/desk_page/test_documents.py and tests/journey/test_page_documents.py.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath

from support_agent.company.documents import UNREVIEWED
from support_agent.company.importing.unreviewed import (
    GivenValues,
    Imported,
    free_number,
    import_document,
    original_text,
)
from support_agent.core.locales import is_locale
from support_agent.desk_page.documents import document_number, title_in
from support_agent.desk_page.drafts import draft_in, form_values, looked_at, published
from support_agent.desk_page.people import Role
from support_agent.desk_page.preview import MAX_QUESTION
from support_agent.desk_page.trials import Original
from support_agent.desk_page.visit import Desk, NotFound, Page, Result, SeeOther, Shown, Upload, Visit
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.publishing import (
    NEW,
    FileDraft,
    FileKind,
    FilePlace,
    Present,
    document_files,
    document_place,
    present,
    tried,
)
from support_agent.outbound.staff_files import clean_name

SKELETON = "\n".join(
    (
        "---",
        "number: {number}",
        "title:",
        "summary:",
        "url: https://",
        "delivery: excerpt",
        "questions: []",
        "valid_from: {today}",
        "audience: everyone",
        "---",
        "# Title",
        "",
    )
)
"""A new document; `check` names what must be filled in."""


def edit(desk: Desk, visit: Visit) -> Result:
    """The form of a document: as it is now, as an earlier version, or, in a further language, to be translated."""
    number, language = _asked(desk, visit)
    place = document_place(desk.settings.company, number, language)
    now = present(desk.settings.company, place)
    text = now.text
    if version := visit.query.get("version"):
        stored = desk.store.versions.document(version)
        if stored is None or stored.number != number:
            raise NotFound
        text = stored.raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    elif now.digest == NEW:
        text = present(desk.settings.company, document_place(desk.settings.company, number, None)).text
    return _form(desk, visit, FileDraft(place=place, text=text, base=now.digest), now, number, language)


def change(desk: Desk, visit: Visit) -> Result:
    """Look at what the form of a document says, or publish it."""
    number, language = _asked(desk, visit)
    return _done(desk, visit, number, language)


def new(desk: Desk, visit: Visit) -> Result:
    """The form of a new document, and that for a file to import."""
    number = free_number(desk.settings.company.policies)
    text = SKELETON.format(number=number, today=desk.today)
    place = document_place(desk.settings.company, number, None)
    return _form(desk, visit, FileDraft(place=place, text=text), Present(), number, None, is_new=True)


def add(desk: Desk, visit: Visit) -> Result:
    """Import a file, or look at the form of a new document, or publish it."""
    if visit.form.get("do") == "import":
        return _imported(desk, visit)
    return _done(desk, visit, document_number(visit.form.get("number", "")), None, is_new=True)


def _done(desk: Desk, visit: Visit, number: int, language: str | None, *, is_new: bool = False) -> Result:
    company = desk.settings.company
    place = document_place(company, number, language, title_in(visit.form.get("text", "").encode("utf-8", "replace")))
    draft, to = draft_in(visit, place), f"/documents/{number}" + (f"?language={language}" if language else "")
    done = published(desk, visit, draft, to)
    if isinstance(done, SeeOther):
        return done
    now = present(company, place)
    return _form(desk, visit, draft, now, number, language, is_new=is_new, is_looked_at=True, problem=done)


def _form(
    desk: Desk,
    visit: Visit,
    draft: FileDraft,
    now: Present,
    number: int,
    language: str | None,
    *,
    is_new: bool = False,
    is_looked_at: bool = False,
    problem: str = "",
    imported: Imported | None = None,
) -> Result:
    """The form, with the original beside it if the draft was imported."""
    looked = None
    if is_looked_at:
        locale = language or desk.settings.company.locale
        looked = looked_at(desk, visit, draft, now, number, locale)
    name = visit.form.get("original", "") if imported is None else _kept(desk, visit.files[0])
    kept = desk.trials.original(name)
    values = {
        **form_values(desk, visit, draft, now, looked, problem),
        "number": number,
        "language": language,
        "is_new": is_new,
        "question": visit.form.get("question", "")[:MAX_QUESTION],
        "notes": imported.notes if imported is not None else (),
        "original": kept,
        "original_name": name if kept is not None else "",
        "original_text": original_text(kept.name, kept.data) if kept is not None else "",
        "is_unreviewed": UNREVIEWED in draft.text,
    }
    return Shown("document_edit.html", values)


def _kept(desk: Desk, file: Upload) -> str:
    return desk.trials.keep_original(Original(clean_name(file.name) or "original", file.data))


def _imported(desk: Desk, visit: Visit) -> Result:
    """The draft that `policies import` makes of a file; it writes into a copy of the folder of the documents."""
    if not visit.files:
        return SeeOther("/documents/new", visit.wording("draft.no_file"), is_error=True)
    company, file = desk.settings.company, visit.files[0]
    marker = FileDraft(place=FilePlace(kind=FileKind.DOCUMENT, name=".marker"), text="")
    suffix = PurePath(clean_name(file.name)).suffix.lower()
    with tempfile.TemporaryDirectory() as temporary, tried(company, marker) as copied:
        path = Path(temporary) / f"{PurePath(clean_name(file.name)).stem or 'document'}{suffix}"
        path.write_bytes(file.data)
        try:
            imported = import_document(path, copied.policies, GivenValues())
        except ConfigError as error:
            why = str(error).replace(f"{path}: ", "")
            return SeeOther("/documents/new", visit.wording("draft.refused", why=why), is_error=True)
        text = imported.path.read_text("utf-8")
    place = document_place(company, imported.number, None, imported.title)
    draft = FileDraft(place=place, text=text)
    return _form(desk, visit, draft, Present(), imported.number, None, is_new=True, imported=imported)


def _asked(desk: Desk, visit: Visit) -> tuple[int, str | None]:
    """The document that an address names, which exists in the company's own language, and the language."""
    company, number = desk.settings.company, document_number(visit.path["number"])
    language = visit.query.get("language") or visit.form.get("language") or None
    if (number, None) not in document_files(company):
        raise NotFound
    if language is not None and not is_locale(language):
        raise PermanentError(visit.wording("draft.no_language", language=language), code="no_language")
    return number, language


PAGES = (
    Page("/documents/new", new, Role.ADMIN),
    Page("/documents/new", add, Role.ADMIN, "POST"),
    Page("/documents/{number:int}/edit", edit, Role.ADMIN),
    Page("/documents/{number:int}/edit", change, Role.ADMIN, "POST"),
)
