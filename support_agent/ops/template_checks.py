"""Checks a company's templates before a customer's mail needs them.

Invariant: without a finding of severity error every sample item and mail renders in every language and passes the
gate, and every template test passes. Checked by
tests/unit/ops/test_template_checks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.grammar import TemplateRefused
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.mail_parts import PACKET, MadeFrom
from support_agent.answer.provenance import check, check_surface
from support_agent.answer.render import SUFFIXES, parse_template, render
from support_agent.answer.sources import Rendered, Surface, WordSource
from support_agent.answer.templates import WORDS, Templates, TemplatesUnusable, read_words
from support_agent.core.findings import Finding, Severity, nearest
from support_agent.core.locales import FALLBACK_LOCALE, is_locale, language_of
from support_agent.errors import GateRefused
from support_agent.ops.template_samples import (
    CODES,
    sample_acknowledgements,
    sample_alarms,
    sample_answers,
    sample_digests,
    sample_items,
    sample_later_acknowledgements,
    sample_later_packets,
    sample_packets,
)
from support_agent.ops.template_tests import around, load_cases, run_case, without_templates

STAFF_TEMPLATES = ("escalation.txt.j2", "escalation_subject.txt.j2")
NEWS_TEMPLATES = tuple(f"{name}{end}.txt.j2" for name in ("digest", "alarm") for end in ("", "_subject"))
STAFF_SECTIONS = ("level", "reason", "finding", "command")
"""Sections of words that only the desk reads."""
STORY_OF_OTHERS = "packets with a proposed answer, the story of a case or no original use the program's template"
DIGEST_OF_OTHERS = "the weekly digest uses the program's template"
ALARM_OF_OTHERS = "alarms use the program's template"
TAKE_OVER = "take over the parts of the template that `init` writes"
SILENT_ON_HOURS = "acknowledgements do not say when people work and answer (hours)"
SILENT_ON_APPROVAL = "answers that a person approved say the same as those that nobody has seen (notice.is_approved)"
FOLLOWED_BY_VALUE = ("year", "month")
"""Codes whose words may be equal, because the year or the month follows them."""


def check_templates(directory: Path, codes: Mapping[str, Collection[str]] | None = None) -> list[Finding]:
    """Check every template, table of words and template test below a directory.

    Args:
        codes: Further codes that must have a word, by section ("step", "reason", "finding"): those that the tools make.
    Returns:
        Findings in order of discovery; rendering is tried only where the files themselves are in order.
    """
    try:
        templates = Templates.load(directory)
        findings = [
            *_grammar(directory, templates),
            *_required(directory, templates),
            *_words(directory, templates, {**CODES, **(codes or {})}),
        ]
    except TemplatesUnusable as error:
        path = directory / error.name if error.name else directory
        return [Finding.error(path, error.line, error.what, error.todo)]
    if not any(finding.severity is Severity.ERROR for finding in findings):
        for language in sorted(templates.languages):
            findings += dict.fromkeys(_samples(directory, templates, language))
    if not any(finding.severity is Severity.ERROR for finding in findings):
        cases, unreadable = load_cases(directory)
        findings += [*unreadable, *without_templates(cases, templates)]
        findings += [finding for case in cases for finding in run_case(case, templates)]
    return findings


def _grammar(directory: Path, templates: Templates) -> Iterator[Finding]:
    for file in templates.files:
        if file.name.endswith(".j2"):
            for problem in parse_template(file.name, file.text):
                yield Finding.error(directory / file.name, problem.line, problem.what, problem.todo)


def _required(directory: Path, templates: Templates) -> Iterator[Finding]:
    """Each folder is a locale; English has every template, and each other language has the same ones.

    Another language may lack the templates for the desk: its people may read English.
    """
    english = {file.name.partition("/")[2] for file in templates.files if _is_english(file.name)}
    bodies = ("answer", "acknowledgement", "notice", *KINDS)
    for name in (
        "subject.txt.j2",
        *(f"{body}.{end}.j2" for body in bodies for end in ("txt", "html")),
        *STAFF_TEMPLATES,
    ):
        if name not in english:
            path = directory / FALLBACK_LOCALE / name
            yield Finding.error(path, None, "the template is missing", "add it; `init` writes a first version")
    for language in sorted(templates.languages):
        if not is_locale(language):
            todo = "name the folder after a language, es, or what a country has of its own, pt-BR"
            yield Finding.error(directory / language, None, f"{language!r} is no locale", todo)
        elif not _is_english(language):
            for name in sorted(english.difference(STAFF_TEMPLATES, NEWS_TEMPLATES, [WORDS])):
                if _is_english(templates.resolve(name, language) or ""):
                    what = "the template is missing, so customers get the English one"
                    yield Finding.warning(
                        directory / language / name, None, what, f"translate {FALLBACK_LOCALE}/{name}"
                    )


def _is_english(name: str) -> bool:
    """Whether a file or folder of templates is English."""
    return language_of(name.partition("/")[0]) == FALLBACK_LOCALE


def _words(directory: Path, templates: Templates, codes: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """No section is misspelt, no two codes have the same words, and each code has words."""
    shapes = (PACKET, *(kind.shape for kind in KINDS.values()))
    sections = sorted({part.cited_as for one in shapes for part in one.all_parts() if part.source is WordSource})
    for language in sorted(templates.languages):
        name = f"{language}/{WORDS}"
        path = directory / name
        entries = read_words(name, templates.source(name))
        seen: dict[tuple[str, str], str] = {}
        for section, line in {section: line for section, _, _, line in reversed(entries)}.items():
            if section not in sections:
                what = f"there is no section {section!r}{nearest(section, sections)}"
                yield Finding.error(path, line, what, "use one of " + ", ".join(sections))
        for section, code, text, line in entries:
            twin = seen.setdefault((section, text.strip().casefold()), code)
            if twin != code and code not in FOLLOWED_BY_VALUE:
                what = f"{section}.{code} reads like {section}.{twin}"
                yield Finding.error(path, line, what, "use other words, so that a reader sees which it is")
        yield from _missing_words(path, templates, language, codes)


def _missing_words(
    path: Path, templates: Templates, language: str, codes: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """An error in English; another language falls back to English, and may lack the words for the desk."""
    is_for_staff = any(f"{language}/{name}" in templates.as_files() for name in STAFF_TEMPLATES)
    for section, needed in codes.items():
        if section in STAFF_SECTIONS and not _is_english(language) and not is_for_staff:
            continue
        for code in needed:
            word = templates.word(section, code, language)
            what, todo = f"no word for {section}.{code}", f"add `{code}:` with its words below `{section}:`"
            if word is None and language == FALLBACK_LOCALE:
                yield Finding.error(path, None, what, todo)
            elif word is not None and _is_english(word.name) and not _is_english(language):
                yield Finding.warning(path, None, what, todo)


def _samples(directory: Path, templates: Templates, language: str) -> Iterator[Finding]:
    """Render every sample in one language and check it at the gate."""

    def place(name: str, surface: Surface) -> Path:
        file = f"{name}{SUFFIXES[surface]}"
        return directory / (templates.resolve(file, language) or f"{language}/{file}")

    for item in sample_items(templates.codes("step")):
        yield from _item_findings(around(item, locale=language), item.kind, directory, templates, place)
    mails: tuple[tuple[MadeFrom, str, str], ...] = (
        *((made, "answer", "") for made in sample_answers(language)),
        *((made, "acknowledgement", "") for made in sample_acknowledgements(language)),
        *((made, "escalation", "") for made in sample_packets(language)),
        *((made, "escalation", STORY_OF_OTHERS) for made in sample_later_packets(language)),
        *((made, "acknowledgement", SILENT_ON_HOURS) for made in sample_later_acknowledgements(language)),
        *((made, "digest", DIGEST_OF_OTHERS) for made in sample_digests(language)),
        *((made, "alarm", ALARM_OF_OTHERS) for made in sample_alarms(language)),
    )
    for made, name, what in mails:
        try:
            check(render(made, templates), made, templates)
        except GateRefused as error:
            if what:
                yield Finding.warning(place(name, "text"), None, f"{what}: {error}", TAKE_OVER)
            else:
                yield _refused(error, directory, place(name, "html" if str(error).startswith("html:") else "text"))
    yield from (
        Finding.warning(path, None, SILENT_ON_APPROVAL, TAKE_OVER)
        for path in _silent_on_approval(language, templates, place)
    )


def _silent_on_approval(language: str, templates: Templates, place: Callable[[str, Surface], Path]) -> Iterator[Path]:
    """The templates that say the same whether a person approved an answer or not."""
    unseen = around(next(iter(sample_items())), locale=language)
    try:
        one, other = (render(unseen.model_copy(update={"is_approved": value}), templates) for value in (False, True))
    except GateRefused:
        return  # reported already
    if one.text.text == other.text.text:
        yield place("notice", "text")
    if one.html.text == other.html.text:
        yield place("notice", "html")


def _item_findings(
    final: FinalAnswer,
    kind: str,
    directory: Path,
    templates: Templates,
    place: Callable[[str, Surface], Path],
) -> Iterator[Finding]:
    """Render one item in a whole answer; each part is checked alone, so that a finding names the partial."""
    try:
        rendered = render(final, templates)
    except GateRefused as error:
        yield _refused(error, directory, place(kind, "text"))
        return
    surfaces: tuple[tuple[Surface, Rendered], ...] = (("text", rendered.text), ("html", rendered.html))
    for surface, part in surfaces:
        try:
            check_surface(surface, part, final, templates)
        except GateRefused as error:
            name = "answer" if error.code == "notice" or " settings " in str(error) else kind
            yield _refused(error, directory, place(name, surface))


def _refused(error: GateRefused, directory: Path, path: Path) -> Finding:
    if isinstance(error, TemplateRefused):
        return Finding.error(directory / error.name, error.problem.line, error.problem.what, error.problem.todo)
    todo = "print it in the template" if error.code == "missing" else "correct the template"
    return Finding.error(path, None, str(error), todo)
