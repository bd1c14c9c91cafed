"""The templates: by language, with made-up mails and the results of their tests, and edited as documents are.

Invariant: only a file that is there, or one that the program knows, can be named; the others are not found. Checked by
tests/unit/desk_page/test_templates_view.py.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from support_agent.answer.templates import Templates
from support_agent.core.locales import language_of
from support_agent.desk_page.drafts import draft_in, form_values, looked_at, published
from support_agent.desk_page.people import Role
from support_agent.desk_page.preview import AnswerPreview, sample_mails, shown_answer
from support_agent.desk_page.visit import Desk, Framed, NotFound, Page, Result, SeeOther, Shown, Visit, whole_number
from support_agent.errors import SupportAgentError
from support_agent.ops.publishing import FileDraft, FilePlace, Present, present, template_files, template_place
from support_agent.ops.template_tests import TemplateCase, load_cases, run_case


class Tested(NamedTuple):
    """A template test in one language: its name, and where it differs; "" if it passes."""

    name: str
    place: str
    difference: str


def index(desk: Desk, visit: Visit) -> Result:
    """The list of all templates by language."""
    files: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for name, is_there in template_files(desk.settings.company).items():
        language, _, file = name.partition("/")
        files[language].append((file, is_there))
    return Shown("templates.html", {"files": dict(files)})


def show(desk: Desk, visit: Visit) -> Result:
    """One template: what it makes of the samples, and the results of its tests."""
    place = _place(desk, visit)
    now = present(desk.settings.company, place)
    answers, refused = _answers(desk, place)
    values = {
        "name": place.name,
        "locale": visit.path["locale"],
        "is_there": bool(now.digest),
        "text": now.text,
        "answers": answers,
        "refused": refused,
        "tests": _tests(desk, place, visit.path["locale"]),
        "versions": [(one, one.text.decode() == now.text) for one in desk.store.uses.template_versions(place.name)],
        "may_edit": visit.may(Role.ADMIN),
    }
    return Shown("template.html", values)


def frame(desk: Desk, visit: Visit) -> Result:
    """The HTML of one of the samples."""
    place, at = _place(desk, visit), whole_number(visit.query.get("sample", ""))
    try:
        mails = list(sample_mails(place.name, Templates.load(desk.settings.company.templates)))
    except SupportAgentError:
        raise NotFound from None
    if at is None or at >= len(mails):
        raise NotFound
    return Framed(mails[at].html)


def edit(desk: Desk, visit: Visit) -> Result:
    """The form of a template: as it is now, or as an earlier version."""
    place = _place(desk, visit)
    now = present(desk.settings.company, place)
    text = now.text
    if version := visit.query.get("version"):
        text = (desk.store.versions.templates(version) or {}).get(place.name, "")
        if not text:
            raise NotFound
    return _form(desk, visit, FileDraft(place=place, text=text, base=now.digest), now)


def change(desk: Desk, visit: Visit) -> Result:
    """Look at what the form of a template says, or publish it."""
    place = _place(desk, visit)
    draft = draft_in(visit, place)
    done = published(desk, visit, draft, f"/documents/templates/{place.name}")
    if isinstance(done, SeeOther):
        return done
    now = present(desk.settings.company, place)
    return _form(desk, visit, draft, now, is_looked_at=True, problem=done)


def _form(
    desk: Desk, visit: Visit, draft: FileDraft, now: Present, *, is_looked_at: bool = False, problem: str = ""
) -> Result:
    looked = looked_at(desk, visit, draft, now) if is_looked_at else None
    values = form_values(desk, visit, draft, now, looked, problem)
    return Shown("template_edit.html", {**values, "name": draft.place.name})


def _place(desk: Desk, visit: Visit) -> FilePlace:
    place = template_place(desk.settings.company, f"{visit.path['locale']}/{visit.path['name']}")
    if place is None:
        raise NotFound
    return place


def _answers(desk: Desk, place: FilePlace) -> tuple[tuple[AnswerPreview, ...], str]:
    try:
        mails = list(sample_mails(place.name, Templates.load(desk.settings.company.templates)))
    except SupportAgentError as error:
        return (), str(error)
    address, now = f"/documents/templates/{place.name}/frame", desk.now()
    return tuple(
        shown_answer(mail, f"{address}?sample={at}" if mail.html else "", now) for at, mail in enumerate(mails)
    ), ""


def _tests(desk: Desk, place: FilePlace, locale: str) -> tuple[Tested, ...]:
    """The template tests in this language: those of the template's own kind of item, or all if it is of none."""
    folder = desk.settings.company.templates
    cases, unreadable = load_cases(folder)
    kind = place.name.rpartition("/")[2].partition(".")[0]
    own = [placed for placed in cases if kind in (_kind(placed.case), placed.path.stem)]
    found = [Tested(one.what, one.path.name if one.path else "", one.todo) for one in unreadable]
    templates = Templates.load(folder)
    for placed in own or cases:
        expected = {tag: one for tag, one in placed.case.expect.items() if locale in (tag, language_of(tag))}
        if not expected:
            continue
        findings = run_case(
            placed.model_copy(update={"case": placed.case.model_copy(update={"expect": expected})}), templates
        )
        what = "\n".join(one.what for one in findings)
        found.append(Tested(placed.case.name, f"{placed.path.name}:{placed.line}", what))
    return tuple(found)


def _kind(case: TemplateCase) -> str:
    return case.item.kind if case.item is not None else ""


PAGES = (
    Page("/documents/templates", index),
    Page("/documents/templates/{locale}/{name}", show),
    Page("/documents/templates/{locale}/{name}/frame", frame),
    Page("/documents/templates/{locale}/{name}/edit", edit, Role.ADMIN),
    Page("/documents/templates/{locale}/{name}/edit", change, Role.ADMIN, "POST"),
)
