"""A company adds a language with files alone: templates and words in, an answer in that language out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from support_agent.config.settings import CompanySettings
from support_agent.core.findings import Finding, Severity
from support_agent.ops.check import check
from support_agent.store.records import OutgoingKind
from tests.fakes_journey import TODAY, Office, make_company, office_in, open_office, write
from tests.fakes_room import LikelyRooms

MARIA = "maria.lopez@example.com"
"""Of the locale es-ES, which the demo company has no templates for."""
SEATS = 'unit = { en = { one = "seat", other = "seats" },'
TRANSLATED = {
    "templates/es/answer.txt.j2": {"Hello {{": "Hola, {{", "Kind regards": "Un saludo"},
    "templates/es/answer.html.j2": {"Hello {{": "Hola, {{", "Kind regards": "Un saludo", 'lang="en"': 'lang="es"'},
    "templates/es/words.yaml": {"total: total": "total: importe total", "year: last year": "year: el año pasado"},
    "accounts.toml": {
        '{ en = "Payments",': '{ en = "Payments", es = "Pagos",',
        'row_noun = { en = { one = "invoice", other = "invoices" },': (
            'row_noun = { en = { one = "invoice", other = "invoices" }, es = { one = "factura", other = "facturas" },'
        ),
        '{ en = "Seats paid for",': '{ en = "Seats paid for", es = "Plazas contratadas",',
        SEATS: f'{SEATS} es = {{ one = "plaza", other = "plazas" }},',
    },
}
"""By file: what stands there, and what it becomes."""


@pytest.fixture
def company(tmp_path: Path) -> CompanySettings:
    """The demo company with a folder `templates/es`, a copy of the English one, translated in a few places."""
    settings = make_company(tmp_path)
    shutil.copytree(tmp_path / "templates" / "en", tmp_path / "templates" / "es")
    for name, changes in TRANSLATED.items():
        path = tmp_path / name
        text = path.read_text("utf-8")
        for old, new in changes.items():
            assert old in text, (name, old)
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    return settings


@pytest.fixture
def spanish_office(company: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    with office_in(tmp_path, company, empty_store) as opened:
        yield opened.with_rooms(LikelyRooms())


def bodies(office: Office, text: str, sender: str = MARIA) -> tuple[str, str]:
    """Text and HTML of the answer to a mail."""
    mail_id, outcome = office.handle(write(text, sender=sender))
    assert outcome == "answered"
    mail = message_from_bytes(office.sent(mail_id)[OutgoingKind.ANSWER].raw, policy=policy.default)
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    return plain.get_content().replace("\r\n", "\n"), html.get_content().replace("\r\n", "\n")


def test_a_language_is_added_with_files_alone(spanish_office: Office) -> None:
    """Words, nouns in their number, dates and numbers are the customer's, in text and HTML, through the gate."""
    for body in bodies(spanish_office, "How much did I pay last year?"):
        assert "Pagos el año pasado, 12 facturas, importe total: " in body
        assert "EUR 228,00" in body
        assert "1 de enero de 2025" in body
        assert "Hola, Maria Lopez" in body
    for body in bodies(spanish_office, "How many seats have I paid for?"):
        assert "Plazas contratadas: " in body
        assert "1 plaza" in body


def test_without_its_templates_nothing_is_in_that_language(spanish_office: Office, company: CompanySettings) -> None:
    """Spanish labels alone make no Spanish mail: words, units and dates are all of one language, the company's."""
    shutil.rmtree(company.templates / "es")
    shutil.rmtree(company.policies / "de")  # the documents outside are the German ones then
    german = company.model_copy(update={"locale": "de"})
    office = open_office(german, spanish_office.store)
    office.keep_company()
    try:
        text, _ = bodies(office, "How many seats have I paid for?")
    finally:
        office.decider.company.accounts.close()
    assert "Guten Tag Maria Lopez" in text
    assert "Bezahlte Plätze: 1 Platz\n" in text


def findings_of(office: Office, company: CompanySettings) -> list[Finding]:
    return check(office.settings.model_copy(update={"company": company}), TODAY)


def test_check_names_what_the_language_lacks(spanish_office: Office, company: CompanySettings) -> None:
    """Warnings, each with the file and what to add: the English words stand in, so nothing is broken."""
    lost = company.templates / "es" / "table.txt.j2"
    lost.unlink()
    findings = [f for f in findings_of(spanish_office, company) if "'es'" in f.what or f.path == lost]
    assert {finding.severity for finding in findings} == {Severity.WARNING}
    whats = {finding.what.partition(",")[0].partition(": English")[0] for finding in findings}
    assert "the template is missing" in whats
    assert "[fields.plan] label has no 'es' words" in whats
    assert "[fields.billing_cycle] values.monthly has no 'es' words" in whats
    assert "question 1 has no 'es' text" in whats
    assert "[fields.seats_paid] unit has no 'es' words" not in whats


def test_the_companys_own_locale_needs_templates(spanish_office: Office, company: CompanySettings) -> None:
    """Else every customer whose language is not known would get English, and the desk too."""
    italian = company.model_copy(update={"locale": "it"})
    (finding,) = (f for f in findings_of(spanish_office, italian) if "company.locale" in f.what)
    assert (finding.severity, finding.todo) == (Severity.ERROR, "add the folder, or choose one of de, en, es, fr")
