"""Drafts in forms: looked at, published, taken back to a stored version, or imported from a file.

Invariant: the text of a draft is in the form alone, so nothing is lost when something is refused, and nothing is
written before "Publish". What is published was checked at that moment, and is logged with who did it. Checked by
tests/journey/test_page_documents.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from support_agent.answer.templates import Templates
from support_agent.config.settings import CompanySettings
from support_agent.core.findings import Finding
from support_agent.desk_page.people import Role
from support_agent.desk_page.preview import MAX_QUESTION, AnswerPreview, draft_mail, sample_mails, shown_answer
from support_agent.desk_page.visit import Desk, Download, Framed, NotFound, Page, Result, SeeOther, Shown, Visit
from support_agent.errors import ConfigError, PermanentError, SupportAgentError
from support_agent.ops.publishing import (
    MAX_BYTES,
    FileDraft,
    FileKind,
    FilePlace,
    Present,
    check_draft,
    errors_of,
    not_taken_over,
    path_of,
    present,
    publish,
    tried,
)
from support_agent.outbound.rendered_mail import RenderedMail
from support_agent.store.audit import AuditEvent

log = structlog.get_logger(__name__)

PATIENCE_S = 1.5
"""How long a page waits for what would change for past mails before it shows how far that is."""


class Change(NamedTuple):
    """A line of the difference to the present file: `kind` is "same", "added", "removed" or "place"."""

    kind: str
    text: str


@dataclass(frozen=True)
class Looked:
    """What a draft would do: what `check` says of its file and of others, what hinders it, how it looks and differs."""

    own: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]
    errors: tuple[Finding, ...]
    answers: tuple[AnswerPreview, ...]
    refused: str
    changes: tuple[Change, ...]
    digest: str
    is_changed: bool

    @property
    def may_be_published(self) -> bool:
        """Whether nothing hinders it."""
        return not self.errors and self.is_changed


def draft_in(visit: Visit, place: FilePlace) -> FileDraft:
    """The draft of a form."""
    return FileDraft(place=place, text=visit.form.get("text", ""), base=visit.form.get("base", ""))


def looked_at(desk: Desk, visit: Visit, draft: FileDraft, now: Present, number: int = 0, language: str = "") -> Looked:
    """Look at a draft, and begin to try it on past mails.

    Args:
        number: Of a document, and its language.
    """
    settings, today = desk.settings, desk.today
    if len(draft.raw) > MAX_BYTES:
        finding = Finding.error(None, None, visit.wording("draft.too_large", n=MAX_BYTES), "")
        return Looked((finding,), (), (finding,), (), "", (), draft.digest, is_changed=True)
    findings = check_draft(settings, draft, today)
    errors = errors_of(settings, draft, findings, today)
    answers, refused = _answers(desk, visit, draft, number, language)
    is_changed = draft.raw != now.raw
    own = path_of(settings.company, draft.place)
    if desk.bench is not None and not errors and is_changed:
        desk.trials.start(draft, settings, desk.store, desk.bench, desk.now())
        desk.trials.wait(draft.digest, PATIENCE_S)
    return Looked(
        own=tuple(one for one in findings if one in errors or one.path == own),
        elsewhere=tuple(one for one in findings if one not in errors and one.path != own),
        errors=errors,
        answers=answers,
        refused=refused,
        changes=changes_between(now.text, draft.raw.decode()),
        digest=draft.digest,
        is_changed=is_changed,
    )


def form_values(
    desk: Desk, visit: Visit, draft: FileDraft, now: Present, looked: Looked | None, problem: str
) -> dict[str, object]:
    """What the form of a draft shows; its base is the file as it is now, to which the difference is shown.

    Args:
        looked: None: the form is opened, nobody has looked at the draft yet.
        problem: Why it was not published, or "".
    """
    if not problem and looked is not None and draft.base != now.digest:
        problem = visit.wording("draft.edited", why=draft.place.name)
    return {
        "draft": draft,
        "text": draft.text.replace("\r\n", "\n"),
        "base": now.digest,
        "looked": looked,
        "problem": problem,
        "trial": desk.trials.of(draft.digest) if looked is not None else None,
    }


def published(desk: Desk, visit: Visit, draft: FileDraft, to: str) -> SeeOther | str:
    """Publish a draft, if the form orders it, and go on at its page.

    Returns:
        Why it was not published, if it was not; "": nobody ordered it, or it has errors, which the form shows.
    """
    if visit.form.get("do") != "publish":
        return ""
    try:
        if _write_checked(desk, visit, draft):
            return ""
    except PermanentError as error:
        return visit.wording("draft.edited" if error.code == "edited" else "draft.refused", why=str(error))
    if errors := not_taken_over(desk.settings):
        return SeeOther(to, visit.wording("draft.published_not_used", why=str(errors[0])), is_error=True)
    return SeeOther(to, visit.wording("draft.published"))


def _write_checked(desk: Desk, visit: Visit, draft: FileDraft) -> tuple[Finding, ...]:
    """Publish a draft; return the errors that hinder it, () if it is published.

    Raises:
        PermanentError: the file is no longer the one that was edited (code `edited`), or it cannot be written.
    """
    today = desk.today
    if len(draft.raw) <= MAX_BYTES:  # else `publish` refuses it
        errors = errors_of(desk.settings, draft, check_draft(desk.settings, draft, today), today)
        if errors:
            return errors
    before = present(desk.settings.company, draft.place)
    _keep(desk, draft.place, before)
    publish(desk.settings.company, draft)
    after = present(desk.settings.company, draft.place)
    _keep(desk, draft.place, after)
    who, file = visit.person.address, draft.place.name
    what = {"kind": draft.place.kind.value, "file": file, "was": before.digest, "now": after.digest}
    desk.store.audit.add(AuditEvent.PUBLISHED, who, desk.now(), what)
    log.info("desk_page_published", who=who, **what)
    return ()


def changes_between(before: str, after: str) -> tuple[Change, ...]:
    """The difference of two texts, with a few lines around each change."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    kinds = {"+": "added", "-": "removed", "@": "place"}
    shown = [line for line in lines if not line.startswith(("--- ", "+++ "))][:2_000]
    return tuple(Change(kinds.get(line[:1], "same"), line if line[:1] == "@" else line[1:]) for line in shown)


def _keep(desk: Desk, place: FilePlace, file: Present) -> None:
    """Store what a file says, so that it can be taken back."""
    if not file.raw:
        return
    versions = desk.store.versions
    if place.kind is FileKind.DOCUMENT:
        versions.save_document(_number_in(place), file.raw)
        return
    try:
        templates = Templates.load(desk.settings.company.templates)
    except ConfigError:
        return  # what nothing can be rendered with is no version
    versions.save_templates(templates.version, templates.as_files())


def _number_in(place: FilePlace) -> int:
    """The number of a document's file."""
    return int(place.name.rpartition("/")[2].partition("-")[0])


def _answers(
    desk: Desk, visit: Visit, draft: FileDraft, number: int, language: str
) -> tuple[tuple[AnswerPreview, ...], str]:
    """What customers would see, or why that cannot be shown."""
    with tried(desk.settings.company, draft) as company:
        try:
            mails = _mails(desk, draft, company, number, language, visit.form.get("question", ""))
        except SupportAgentError as error:
            return (), str(error).replace(f"{draft.place.folder(company).parent}/", "")
    return tuple(_framed(desk, mail) for mail in mails), ""


def _mails(
    desk: Desk, draft: FileDraft, company: CompanySettings, number: int, language: str, question: str
) -> Sequence[RenderedMail]:
    if draft.place.kind is FileKind.TEMPLATE:
        return list(sample_mails(draft.place.name, Templates.load(company.templates)))
    asking = question[:MAX_QUESTION]
    return [draft_mail(desk.wired().decider(), company, number, language, asking, desk.now())]


def _framed(desk: Desk, mail: RenderedMail) -> AnswerPreview:
    name = desk.trials.keep_frame(mail.html)
    return shown_answer(mail, f"/documents/drafts/{name}" if mail.html else "", desk.now())


# What belongs to drafts


def past(desk: Desk, visit: Visit) -> Result:
    """How far the trial of a draft on past mails is, and what it found."""
    trial = desk.trials.of(visit.path["digest"])
    if trial is None:
        raise NotFound
    return Shown("past_mails.html", {"trial": trial, "digest": visit.path["digest"]})


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of a draft's preview."""
    html = desk.trials.frame(visit.path["name"])
    if html is None:
        raise NotFound
    return Framed(html)


def original(desk: Desk, visit: Visit) -> Result:
    """The file that a draft was imported from, as it came: to be kept, never to be shown by the browser."""
    found = desk.trials.original(visit.path["name"])
    if found is None:
        raise NotFound
    return Download(found.data, found.name)


PAGES = (
    Page("/documents/past/{digest}", past, Role.ADMIN),
    Page("/documents/drafts/{name}", frame, Role.ADMIN),
    Page("/documents/originals/{name}", original, Role.ADMIN),
)
