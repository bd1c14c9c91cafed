"""Checks a workspace: configuration, documents, accounts, canned questions, templates.

Invariant: what `workspace.init` writes has no error, and every finding says what to do, with file and line where
there are any. Checked by tests/unit/ops/test_check.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import get_args

from support_agent.answer.templates import Templates
from support_agent.company.account_specs import read_specs
from support_agent.company.company import QUESTIONS_FILE, Company, check_company
from support_agent.company.document_languages import languages_of
from support_agent.company.documents import load_documents, numbers_in
from support_agent.company.questions import load_questions
from support_agent.company.translations import untranslated
from support_agent.config.loading import BRANDS, BrandsRefused, load, load_brands
from support_agent.config.mail_servers import OAuthSettings, Server, SignIn
from support_agent.config.settings import CompanySettings, Settings
from support_agent.config.sources import ENV_PREFIX, SettingsRefused
from support_agent.config.toml_file import read_toml
from support_agent.core.findings import Finding, Severity
from support_agent.core.locales import FALLBACK_LOCALE
from support_agent.errors import ConfigError
from support_agent.facts.topics import topics_of, version_of_topics
from support_agent.ops.check_desk import (
    check_named,
    check_reminders,
    check_route_addresses,
    check_routes,
    check_senders,
)
from support_agent.ops.check_page import check_page
from support_agent.ops.config_file import ConfigFile, address_findings, people_findings
from support_agent.ops.template_checks import check_templates
from support_agent.planner.calibration import calibration_findings
from support_agent.tools.base import UNSURE_SECTION
from support_agent.tools.data import Keep, Sort
from support_agent.tools.ending import Reason
from support_agent.tools.fact_room import FindingReason

_AT_LINE = re.compile(r"\(at line (\d+),")
"""How tomllib names the line of a syntax error."""
_TITLE = re.compile(r"^title\s*:")
NO_AUTHSERV_ID = (
    "agent.authserv_ids is empty, so every sender has level 0 and nothing is answered",
    "add the authserv-id that your own border server writes into Authentication-Results (RFC 8601),"
    " or set agent.verify_dkim where it writes none",
)
"""What is wrong without it, and what to do."""


def check_file(path: Path, now: datetime) -> list[Finding]:
    """Everything that is wrong with the workspace of a configuration file and with those of its brands.

    Args:
        path: support-agent.toml.
        now: Documents that are not valid on its day, in the company's time zone, are findings.
    """
    try:
        settings = load(path)
    except SettingsRefused as error:
        config = ConfigFile.read(path)
        return [config.refused(problem) for problem in error.problems]
    except ConfigError as error:
        return [_unreadable(path, line) for line in str(error).splitlines()]
    return [*check(settings, settings.company.day_of(now), path), *_brands(settings, now, path)]


def _brands(settings: Settings, now: datetime, path: Path) -> list[Finding]:
    """What is wrong with the brands' files, and between them."""
    found = [finding for file in settings.brands.files.values() for finding in check_file(file, now)]
    try:
        load_brands(settings)
    except BrandsRefused as error:
        found.append(ConfigFile.read(path).finding(BRANDS, error.what, error.todo))
    except ConfigError:  # a finding of that file
        pass
    return found


def check(settings: Settings, today: date, path: Path | None = None) -> list[Finding]:
    """Everything that is wrong with valid settings, and with the files they name.

    Args:
        path: The file of the settings, to name lines in it; None: they come from elsewhere.
    """
    return [
        *check_agent(settings, path),
        *check_named(settings, ConfigFile.read(path)),
        *_servers(settings, path),
        *check_words(settings.company, today),
        *check_templates(settings.company.templates, tool_codes()),
        *check_languages(settings.company, path),
        *check_calibration(settings),
    ]


def check_words(settings: CompanySettings, today: date) -> list[Finding]:
    """What is wrong with the documents, the accounts and the canned questions, each alone and between them."""
    return [
        *check_company(settings, today),
        *_documents_told_apart(settings),
        *_records_asked_about(settings),
        *_same_titles(settings.policies),
        *_same_labels(settings.accounts),
    ]


def require_sound_files(settings: Settings) -> None:
    """Refuse documents, questions and templates in which `check` finds an error; a running worker takes over no others.

    What depends on the day or on the company's database does not count: an expired document, a query that fails.

    Raises:
        ConfigError: lists the errors.
    """
    company = settings.company
    findings = [
        *(finding for finding in check_words(company, date.min) if finding.path != company.accounts),
        *check_templates(company.templates, tool_codes()),
        *check_languages(company, None),
    ]
    _refuse_errors(findings, code="company")


def check_agent(settings: Settings, path: Path | None = None) -> list[Finding]:
    """What is wrong with the agent's addresses, its people, its key and its model."""
    agent, config = settings.agent, ConfigFile.read(path)
    findings = [*_addresses(settings, config)]
    for check_people in (check_routes, check_senders, check_reminders, check_page):
        findings += check_people(settings, config)
    if not agent.secret.get_secret_value():
        todo = "set it to a file with 32 random characters or more; `support-agent init` writes one"
        findings.append(config.finding("agent.secret_file", "agent.secret_file is not set", todo))
    if agent.secret in agent.previous_secrets:
        what, todo = "agent.secret is among the previous secrets", "write a new secret, or take the old one out"
        findings.append(config.finding("agent.previous_secret_files", what, todo, severity=Severity.WARNING))
    if settings.model.planner == "openai":
        for key, value in (("model.base_url", settings.model.base_url), ("model.name", settings.model.name)):
            if not value:
                todo = 'fill it in, or set model.planner = "llama"'
                findings.append(config.finding(key, f'{key} is not set, and model.planner is "openai"', todo))
    return findings


def require_sound_addresses(settings: Settings) -> None:
    """Refuse addresses of the agent and of people that cannot be written to: what needs a person would reach nobody.

    Raises:
        ConfigError: lists the errors.
    """
    config = ConfigFile.read(None)
    checks = (_addresses, check_route_addresses, check_reminders)
    _refuse_errors((finding for one in checks for finding in one(settings, config)), code=None)


def _refuse_errors(findings: Iterable[Finding], *, code: str | None) -> None:
    if errors := [str(finding) for finding in findings if finding.severity is Severity.ERROR]:
        raise ConfigError("\n".join(errors), code=code)


def _addresses(settings: Settings, config: ConfigFile) -> Iterator[Finding]:
    """What is wrong with the addresses of the agent, the desk and its staff."""
    agent, desk = settings.agent, settings.desk
    yield from address_findings(config, "agent.address", [agent.address], "the address that answers come from")
    yield from address_findings(config, "agent.aliases", agent.aliases, "an address that reaches this mailbox")
    people = "the people who get what cannot be answered"
    yield from people_findings(config, agent, "desk.address", [desk.address], people)
    yield from people_findings(config, agent, "desk.staff", desk.staff, "the address of a person")


def check_calibration(settings: Settings) -> list[Finding]:
    """Why the calibration of the choice is not used, or only in part."""
    if not settings.planner.calibration.exists():
        return []
    try:
        company = Company.load(settings.company)
    except ConfigError:
        return calibration_findings(settings, None)  # `check_company` says what is wrong
    with closing(company.accounts):
        return calibration_findings(settings, version_of_topics(topics_of(company)))


def tool_codes() -> dict[str, tuple[str, ...]]:
    """The codes that tools put into answers and packets, by the section of words.yaml that has their words."""
    orders = get_args(Sort.model_fields["order"].annotation)
    return {
        "step": (*get_args(Keep), *orders),
        "reason": tuple(reason.value for reason in Reason),
        "finding": (*(reason.value for reason in FindingReason), UNSURE_SECTION),
    }


def _unreadable(path: Path, text: str) -> Finding:
    """The file is not TOML, or an environment variable is invalid."""
    what = text.removeprefix(f"{path}: ")
    line = int(match.group(1)) if (match := _AT_LINE.search(what)) else None
    if what != text:
        return Finding.error(path, line, what, "correct it")
    what, _, todo = text.rpartition(": ")
    return Finding.error(None, None, what, todo)


def _servers(settings: Settings, path: Path | None) -> Iterator[Finding]:
    """What `run` needs and a dry run does not. These are warnings: the values may be set only where the worker runs."""
    config = ConfigFile.read(path)
    for section, server, verb in (("imap", settings.imap, "read"), ("smtp", settings.smtp, "sent")):
        if not server.host:
            todo = "fill it in before `support-agent run`"
            what = f"{section}.host is not set, so no mail can be {verb}"
            yield config.finding(f"{section}.host", what, todo, severity=Severity.WARNING)
        elif key := _missing_login(section, server, settings.oauth):
            todo = f"set {ENV_PREFIX}{key.upper().replace('.', '__')} where the agent runs"
            what = f"{key} is not set, so the login will be refused"
            yield config.finding(key, what, todo, severity=Severity.WARNING)
    if not settings.agent.can_identify:
        yield config.finding("agent.authserv_ids", *NO_AUTHSERV_ID, severity=Severity.WARNING)


def _missing_login(section: str, server: Server, oauth: OAuthSettings) -> str:
    """The key that a login lacks, or "". IMAP always needs a login, SMTP only with a user or a token."""
    is_by_token = server.auth is SignIn.XOAUTH2
    if not server.user:
        return f"{section}.user" if section == "imap" or is_by_token else ""
    if not is_by_token:
        return "" if server.password.get_secret_value() else f"{section}.password"
    lacking = (key for key in ("token_url", "client_id") if not getattr(oauth, key))
    is_unsigned = oauth.refresh_token_file is None and oauth.client_secret_file is None
    return next((f"oauth.{key}" for key in lacking), "oauth.refresh_token_file" if is_unsigned else "")


def _documents_told_apart(settings: CompanySettings) -> Iterator[Finding]:
    """`between` of a canned question names documents that exist."""
    path = settings.policies / QUESTIONS_FILE
    try:
        load_questions(path)
        file = read_toml(path)
    except ConfigError:
        return  # there is no file, or `check_questions` says what is wrong with it
    known = numbers_in(settings.policies)
    for nth, question in enumerate(file.data.get("question", [])):
        unknown = sorted(set(question.get("between", ())) - known)
        if unknown:
            numbers = ", ".join(map(str, unknown))
            yield Finding.error(
                path,
                file.line("question", "between", nth),
                f"question {question['number']} is about document {numbers}, which does not exist",
                "name documents by the numbers of their files, or delete `between`",
            )


def _records_asked_about(settings: CompanySettings) -> Iterator[Finding]:
    """`about_records` of a canned question names a kind of records that exists, each kind once."""
    path = settings.policies / QUESTIONS_FILE
    try:
        asked = [question for question in load_questions(path) if question.about_records]
        file = read_toml(path) if asked else None
        specs, _ = read_specs(read_toml(settings.accounts))
    except ConfigError:
        return  # the checks of the two files say what is wrong
    if file is None or specs is None:
        return
    numbers = [table["number"] for table in file.data["question"]]
    first: dict[str, int] = {}
    for question in asked:
        kind, twin = question.about_records, first.setdefault(question.about_records, question.number)
        what, todo = f"question {question.number} is about the records {kind!r}, ", "leave about_records out"
        line = file.line("question", "about_records", numbers.index(question.number))
        if kind not in specs.records:
            known = f"name one of {', '.join(specs.records)}, or " if specs.records else ""
            yield Finding.error(path, line, f"{what}which do not exist", known + todo)
        elif twin != question.number:
            what = f"{what}but question {twin} is about them too, and only that one is asked"
            yield Finding.error(path, line, what, f"{todo} of one of them")


def check_languages(settings: CompanySettings, path: Path | None) -> Iterator[Finding]:
    """The company's locale has templates, and each language with templates has all translations."""
    try:
        templates = Templates.load(settings.templates)
    except ConfigError:
        return  # `check_templates` says what is wrong
    if not templates.has_language(settings.locale):
        what = f"company.locale is {settings.locale!r}, and there are no templates for it"
        todo = f"add the folder, or choose one of {', '.join(sorted(templates.languages))}"
        yield ConfigFile.read(path).finding("company.locale", what, todo)
    for language in languages_of(settings.policies):
        if not templates.has_language(language):
            what = f"there are no templates for {language!r}, so no customer gets the documents in it"
            yield Finding.warning(
                settings.policies / language,
                None,
                what,
                f"add {settings.templates.name}/{language}, or move the documents elsewhere",
            )
    yield from untranslated(settings.accounts, settings.policies / QUESTIONS_FILE, templates.languages)


def _same_titles(policies: Path) -> Iterator[Finding]:
    """The model picks documents by title, so no two may have the same title."""
    try:
        documents = load_documents(policies)
    except ConfigError:
        return  # `check_documents` says what is wrong
    first: dict[str, int] = {}
    for document in documents:
        twin = first.setdefault(document.head.title.strip().casefold(), document.number)
        if twin != document.number:
            lines = document.path.read_text("utf-8-sig").splitlines()
            yield Finding.error(
                document.path,
                next((number for number, line in enumerate(lines, 1) if _TITLE.match(line)), None),
                f"the title is also that of document {twin}, so the model cannot tell them apart",
                "give one of them another title",
            )


def _same_labels(accounts: Path) -> Iterator[Finding]:
    """The same for account fields, series and records, by their English labels."""
    try:
        file = read_toml(accounts)
    except ConfigError:
        return  # `check_accounts` says what is wrong
    specs, _ = read_specs(file)
    if specs is None:
        return
    for kind, entries in (("fields", specs.fields), ("series", specs.series), ("records", specs.records)):
        first: dict[str, str] = {}
        for name, spec in entries.items():
            twin = first.setdefault(spec.label_for(FALLBACK_LOCALE).strip().casefold(), name)
            if twin != name:
                yield Finding.error(
                    accounts,
                    file.line(f"{kind}.{name}", "label"),
                    f"the English label is also that of {twin}, so the model cannot tell them apart",
                    "give one of them another label",
                )
