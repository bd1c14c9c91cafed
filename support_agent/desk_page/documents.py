"""The documents: what there is, what `check` says of it, how often it was sent, and how customers see it.

Invariant: the list costs one query for all uses, not one for each document, and a file that cannot be read hides no
other. Checked by tests/unit/desk_page/test_documents.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

import yaml

from support_agent.cases.autonomy import Autonomy, Standing
from support_agent.company.company import stamp_of
from support_agent.company.document_languages import languages_of
from support_agent.company.documents import Document, inspect_directory
from support_agent.company.front_matter import front_matter_and_body
from support_agent.company.languages import likely_languages
from support_agent.config.settings import CompanySettings
from support_agent.core.findings import Finding, Severity
from support_agent.core.locales import language_of
from support_agent.core.modes import document_key
from support_agent.core.proportions import upper_bound
from support_agent.desk_page.people import Role
from support_agent.desk_page.preview import MAX_QUESTION, AnswerPreview, document_mail, shown_answer
from support_agent.desk_page.visit import Desk, Framed, NotFound, Page, Result, Shown, Visit, whole_number
from support_agent.errors import SupportAgentError
from support_agent.ops.check import check_words
from support_agent.ops.publishing import document_files, document_place, present
from support_agent.outbound.rendered_mail import RenderedMail
from support_agent.store.desk_records import Label
from support_agent.store.records import CaseId
from support_agent.store.uses import StoredVersion

RECENT = timedelta(days=30)
MOST_CASES, MOST_LABELS, MOST_VERSIONS = 20, 20, 30


class Row(NamedTuple):
    """A document of the list; `document` is None if its file cannot be used, or no person has reviewed it."""

    number: int
    file: str
    document: Document | None
    is_unreviewed: bool
    languages: tuple[str, ...]
    findings: tuple[Finding, ...]
    standing: Standing
    highest: float
    """The upper bound on the share that was right, beside `standing.record.lower_bound`."""
    mails: int

    @property
    def title(self) -> str:
        """Its title, or the name of its file."""
        return self.document.head.title if self.document is not None else self.file

    @property
    def errors(self) -> int:
        """How many errors `check` finds in it."""
        return sum(one.severity is Severity.ERROR for one in self.findings)

    @property
    def is_judged(self) -> bool:
        """Whether people have judged answers with it."""
        return self.standing.record.judged > 0


SORTS: Mapping[str, Callable[[Row], tuple[object, ...]]] = {
    "number": lambda row: (row.number,),
    "title": lambda row: (row.title.casefold(), row.number),
    "delivery": lambda row: (row.document.head.delivery.value if row.document else "", row.number),
    "validity": lambda row: (row.document.head.valid_from if row.document else date.min, row.number),
    "audience": lambda row: (row.document.head.audience if row.document else "", row.number),
    "mode": lambda row: (row.standing.item.mode.rank, row.number),
    "right": lambda row: (-row.standing.record.lower_bound, -row.standing.record.judged, row.number),
    "sent": lambda row: (-row.mails, row.number),
    "findings": lambda row: (-row.errors, -len(row.findings), row.number),
}


class JudgedIn(NamedTuple):
    """What a person did with an answer that had the document."""

    label: Label
    case_id: CaseId | None


class Kept(NamedTuple):
    """A stored version of the document; `title` is "" if it cannot be read."""

    version: StoredVersion
    title: str
    is_present: bool


def index(desk: Desk, visit: Visit) -> Result:
    """The list of all documents."""
    rows, others = _rows(desk)
    asked = visit.query.get("sort", "number")
    sort = asked if asked in SORTS else "number"
    values = {
        "rows": sorted(rows, key=SORTS[sort]),
        "others": others,
        "sorts": tuple(SORTS),
        "sort": sort,
        "may_edit": visit.may(Role.ADMIN),
        "today": desk.today,
    }
    return Shown("documents.html", values)


def show(desk: Desk, visit: Visit) -> Result:
    """One document, in one of its languages."""
    number, language = document_number(visit.path["number"]), visit.query.get("language") or None
    company = desk.settings.company
    files = document_files(company)
    if (number, language) not in files:
        raise NotFound
    raw = present(company, document_place(company, number, language))
    row = next(row for row in _rows(desk)[0] if row.number == number)
    document = row.document if language is None else _documents(company, language).get(number)
    answer, refused = _preview(desk, visit, number, language)
    values = {
        "row": row,
        "language": language,
        "own_locale": company.locale,
        "languages": sorted(tag for found, tag in files if found == number and tag is not None),
        "file": files[number, language],
        "document": document,
        "raw": raw.text,
        "findings": _findings(desk)[0].get(files[number, language], ()),
        "answer": answer,
        "refused": refused,
        "question": visit.query.get("question", "")[:MAX_QUESTION],
        "versions": _versions(desk, number, language, raw.digest),
        "uses": desk.store.uses.cases(number, MOST_CASES, desk.now() - RECENT),
        "labels": _labels(desk, number),
        "may_edit": visit.may(Role.ADMIN),
    }
    return Shown("document.html", values)


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of a document's preview."""
    number, language = document_number(visit.path["number"]), visit.query.get("language") or None
    try:
        return Framed(_mail(desk, number, language, visit.query.get("question", "")).html)
    except SupportAgentError:
        raise NotFound from None


def _preview(desk: Desk, visit: Visit, number: int, language: str | None) -> tuple[AnswerPreview | None, str]:
    """The document as a customer sees it, or why it cannot be sent."""
    question = visit.query.get("question", "")
    try:
        mail = _mail(desk, number, language, question)
    except SupportAgentError as error:
        return None, str(error)
    link = visit.linked(language=language, question=question[:MAX_QUESTION])
    return shown_answer(mail, f"/documents/{number}/frame{link}", desk.now()), ""


def _mail(desk: Desk, number: int, language: str | None, question: str) -> RenderedMail:
    wired, locale = desk.wired(), desk.settings.company.locale
    company, templates = wired.company, wired.templates
    asking = question[:MAX_QUESTION]
    return document_mail(wired.decider(), company, templates, number, language or locale, asking, desk.now())


def document_number(text: str) -> int:
    """The number of a document in an address or a form.

    Raises:
        NotFound: no document can have it.
    """
    if not (number := whole_number(text)):
        raise NotFound
    return number


# The list


def _rows(desk: Desk) -> tuple[tuple[Row, ...], tuple[Finding, ...]]:
    """All documents, and the findings that are about none of their files."""
    company, settings = desk.settings.company, desk.settings.autonomy
    files = document_files(company)
    numbers = sorted({number for number, language in files if language is None})
    found, others = _findings(desk)
    documents, unreviewed = _documents(company), {path.name for path in inspect_directory(company.policies).unreviewed}
    uses: dict[int, int] = defaultdict(int)
    for use in desk.store.uses.documents(since=desk.now() - RECENT):
        uses[use.number] += use.mails
    standings = Autonomy(desk.store, settings).standings([document_key(number) for number in numbers])
    rows = []
    for number, standing in zip(numbers, standings, strict=True):
        record = standing.record
        named = [(language, files[number, language]) for found, language in files if found == number]
        highest = upper_bound(record.right, record.judged, settings.confidence)
        rows.append(
            Row(
                number=number,
                file=files[number, None],
                document=documents.get(number),
                is_unreviewed=files[number, None] in unreviewed,
                languages=tuple(sorted(language for language, _ in named if language is not None)),
                findings=tuple(one for _, name in named for one in found.get(name, ())),
                standing=standing,
                highest=highest,
                mails=uses[number],
            )
        )
    return tuple(rows), others


def _findings(desk: Desk) -> tuple[dict[str, tuple[Finding, ...]], tuple[Finding, ...]]:
    """What `check` says of the documents by their files, and what it says of others."""
    company = desk.settings.company
    by_file: dict[str, list[Finding]] = defaultdict(list)
    others: list[Finding] = []
    for finding in _checked(company, stamp_of(company), desk.today):
        path = finding.path
        if path is not None and path.suffix == ".md" and path.is_relative_to(company.policies):
            by_file[path.relative_to(company.policies).as_posix()].append(finding)
        else:
            others.append(finding)
    return {name: tuple(found) for name, found in by_file.items()}, tuple(others)


@lru_cache(maxsize=4)
def _checked(company: CompanySettings, stamp: object, today: date) -> tuple[Finding, ...]:
    """What `check` says; it runs the queries of the accounts, so it is asked once for the same files and day."""
    return tuple(check_words(company, today))


def _documents(company: CompanySettings, language: str | None = None) -> dict[int, Document]:
    """The documents of a language that can be used, by number; None: the company's own."""
    folder = company.policies if language is None else company.policies / language
    if language is not None and language not in languages_of(company.policies):
        return {}
    return {one.number: one for one in inspect_directory(folder, language or company.locale).documents}


# What belongs to one document


def _versions(desk: Desk, number: int, language: str | None, digest: str) -> tuple[Kept, ...]:
    """The stored versions of a document in one language.

    Where no answer says in which language a version is, its text is asked; in doubt it is shown.
    """
    company = desk.settings.company
    tag = language or company.locale
    others = {
        present(company, document_place(company, number, other)).digest
        for found, other in document_files(company)
        if found == number and other != language
    }
    shown = [
        one for one in desk.store.uses.document_versions(number) if one.version not in others and _may_be_in(one, tag)
    ]
    return tuple(Kept(one, title_in(one.text), one.version == digest) for one in shown[:MOST_VERSIONS])


def _may_be_in(version: StoredVersion, tag: str) -> bool:
    if version.language is not None:
        return version.language.lower() == tag.lower()
    likely = likely_languages(front_matter_and_body(version.text.decode("utf-8-sig", "replace"))[1])
    return not likely or language_of(tag) in likely


def title_in(raw: bytes) -> str:
    """The title in the front matter of a file, or ""."""
    head, _, _ = front_matter_and_body(raw.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    try:
        data = yaml.safe_load(head or "")
    except (yaml.YAMLError, ValueError, RecursionError):
        return ""
    title = data.get("title") if isinstance(data, dict) else None
    return title if isinstance(title, str) else ""


def _labels(desk: Desk, number: int) -> tuple[JudgedIn, ...]:
    key = document_key(number)
    judged = [label for label in desk.store.labels.valid() if key in label.keys or label.choice == key]
    newest = judged[: -MOST_LABELS - 1 : -1]
    mails = ((label, desk.store.mails.get(label.mail_id)) for label in newest)
    return tuple(JudgedIn(label, mail.case_id if mail is not None else None) for label, mail in mails)


PAGES = (
    Page("/documents", index),
    Page("/documents/{number:int}", show),
    Page("/documents/{number:int}/frame", frame),
)
