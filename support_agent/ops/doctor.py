"""Checks whether the worker could run now: each part, its state, and what to do.

Invariant: every check runs, whatever the others find, and none changes anything: no mail is read, sent or marked,
nothing is downloaded, no database is created. `store_health` has the checks of the database. Checked by
tests/unit/ops/test_doctor.py, and against real servers by tests/integration/test_doctor.py.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from support_agent.config.agent import AgentSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.embedding import MULTILINGUAL
from support_agent.config.facts import Retrieve
from support_agent.config.loading import load_brands
from support_agent.config.mail_servers import SentCopies
from support_agent.config.settings import ChromaSettings, ModelSettings, Settings
from support_agent.core.clock import RELEASED
from support_agent.core.cursor import Cursor
from support_agent.core.diagnosis import Diagnosis, error, mails, named, ok, warning
from support_agent.core.findings import Finding, Severity
from support_agent.errors import SupportAgentError, ToolCallRejected, TransientError
from support_agent.models.embedders import needed_models
from support_agent.models.language_model import Scores
from support_agent.models.pinned import LANGUAGE_MODEL
from support_agent.models.progress import progress_on
from support_agent.models.pulling import CacheState, cache_dir, language_model, listing
from support_agent.ops.check import NO_AUTHSERV_ID, check_agent, check_calibration
from support_agent.ops.store_health import (
    current_store,
    look_at_alarms,
    look_at_clock,
    look_at_database,
    look_at_keys,
    look_at_traffic,
    look_at_workers,
    read_progress,
    workers,
)
from support_agent.planner.calibration import read_calibration
from support_agent.watch.causes import unreachable

MANY_MAILS = 20
"""A first start that handles more mails than this would surprise the operator."""
MEGABYTE_BYTES = 1_000_000
_SERVER_TODO = "see that it runs and can be reached from here, then run `support-agent doctor` again"


class SeenMailbox(NamedTuple):
    """The number of mails to handle, and the folder for copies of sent mail; None: there is none."""

    mails: int
    sent_folder: str | None


@dataclass(frozen=True)
class Probes:
    """How the checks reach servers and models; see `app.probes`. Each raises the errors of `errors.py`.

    `look_at_mailbox` logs in and counts the mails after a cursor, `check_sender` logs in and leaves, `ask_model` makes
    one choice on the model's server, `require_room` raises if the instances of the embedded model in a file do not fit
    into memory, `count_entries` is the number of texts in the vector store (None: not filled yet), `read_issuer` reads
    the document of the desk's page's OpenID Connect provider. `released` is the day of the program's release.
    """

    now: datetime
    look_at_mailbox: Callable[[Settings, Cursor | None], SeenMailbox]
    check_sender: Callable[[Settings], None]
    ask_model: Callable[[ModelSettings], Scores]
    require_room: Callable[[ModelSettings, Path], None]
    count_entries: Callable[[ChromaSettings], int | None]
    read_issuer: Callable[[DeskPageSettings], object]
    released: datetime = RELEASED


def diagnose(settings: Settings, probes: Probes) -> list[Diagnosis]:
    """Run every check on the mailbox and its brands. Each part gets a diagnosis, the clock only after the first mail.

    Raises:
        ConfigError: the configuration of a brand cannot be used.
    """
    found = [diagnosis for subject, run in CHECKS for diagnosis in _run(subject, run, settings, probes)]
    for name, brand in load_brands(settings).items():
        found += (one.model_copy(update={"subject": f"{name}: {one.subject}"}) for one in diagnose(brand, probes))
    return found


def _run(subject: str, run: Check, settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """The diagnoses of a check; if it fails, those before the failure, then the failure."""
    try:
        yield from run(settings, probes)
    except SupportAgentError as failure:
        yield _failure(subject, failure)
    except Exception as defect:  # one check never hides the others
        what = f"the check failed: {type(defect).__name__}: {defect}"
        yield error(subject, what, "report this as a defect")


def _failure(subject: str, failure: SupportAgentError) -> Diagnosis:
    """A message for the operator says what to do after its last colon."""
    what = str(failure)
    match failure:
        case TransientError():
            todo = _SERVER_TODO
        case ToolCallRejected():
            todo = "use a model that can call tools"
        case _ if ": " in what:
            what, _, todo = what.rpartition(": ")
        case _:
            todo = "correct it in support-agent.toml"
    return error(subject, what, todo)


def _configuration(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, findings = "configuration", check_agent(settings)
    yield from (_diagnosed(subject, finding, finding.what) for finding in findings)
    if not settings.agent.can_identify:
        yield error(subject, *NO_AUTHSERV_ID)
    elif not findings:
        desks = ", ".join(dict.fromkeys((settings.desk.address, *(route.address for route in settings.desk.routes))))
        yield ok(subject, f"answers come from {settings.agent.address}, people are {desks}")


def _secrets(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """How many previous secrets are still accepted, and when nothing needs them any more."""
    previous = len(settings.agent.previous_secrets)
    if previous:
        days = math.ceil(settings.desk.key_valid_h / 24)
        what = (
            f"signatures of {previous} previous secret{'s' * (previous > 1)} are accepted beside those of agent.secret"
        )
        yield ok("secrets", f"{what}: take them out {days} days after the last packet that one of them signed")


def _diagnosed(subject: str, finding: Finding, what: str) -> Diagnosis:
    say = error if finding.severity is Severity.ERROR else warning
    return say(subject, what, finding.todo)


def _senders(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    if settings.agent.can_identify:
        yield ok("senders", _believed(settings.agent))


def _believed(agent: AgentSettings) -> str:
    """Whose authentication results count, and what the border server must do."""
    if not agent.authserv_ids:
        return "known by the topmost Authentication-Results" if agent.believes_results_without_id else "checked by DKIM"
    named = ", ".join(agent.authserv_ids)
    if agent.believes_results_at == "top":
        return f"known by the Authentication-Results of {named}, on top of the mail only"
    return (
        f"known by the topmost Authentication-Results of {named}, wherever it stands: that server must add one to each "
        'mail or take away those that a mail brings along; if not, set agent.believes_results_at = "top"'
    )


def _mailbox(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, imap = "mailbox", settings.imap
    if not imap.host:
        yield _not_set(subject, "imap.host")
        return
    is_first_start, cursor, fetched_at = read_progress(settings)
    count, sent_folder = probes.look_at_mailbox(settings, cursor)
    found, place = mails(count), f"{imap.host}: logged in to {imap.folder}"
    if not is_first_start:
        yield ok(subject, f"{place}, {found} to handle")
    elif imap.skip_existing:
        yield ok(subject, f"{place}, the first start leaves {found} alone")
    elif count > MANY_MAILS:
        todo = "set imap.skip_existing = true to leave alone what is there already"
        yield warning(subject, f"{place}, the first start handles {found}, old ones too", todo)
    else:
        yield ok(subject, f"{place}, the first start handles {found}")
    if sent_folder is None and imap.sent_copies is not SentCopies.NONE:
        named = f"the folder {imap.sent_folder!r}" if imap.sent_folder else "a folder for sent mail"
        todo = "make it, name another one in imap.sent_folder, or set imap.sent_copies = 'none'"
        yield warning(subject, f"{imap.host} lacks {named}, so there are no copies of what goes out", todo)
    for cause in unreachable(fetched_at, imap, probes.now):
        yield warning(subject, cause.what, cause.todo)


def _sender(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    if not settings.smtp.host:
        yield _not_set("sender", "smtp.host")
        return
    probes.check_sender(settings)
    how = "logged in" if settings.smtp.user else "connected, without a login"
    yield ok("sender", f"{settings.smtp.host}: {how}")


def _model(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, model = "model", settings.model
    if model.planner == "llama":
        if model.path is not None:
            path = language_model(model, progress_on(sys.stderr))  # looks at the file, fetches nothing
            yield ok(subject, f"{path}: a GGUF file of your own")
        else:
            path = LANGUAGE_MODEL.folder(cache_dir(model)) / LANGUAGE_MODEL.entry
            yield _stored(subject, LANGUAGE_MODEL.name, model)
        if path.is_file() and not workers(settings, probes.now):  # a running worker has its memory already
            probes.require_room(model, path)
        return
    if probes.ask_model(model).log_probabilities is not None:
        yield ok(subject, f"{model.base_url}: {model.name} made a choice and says how sure it is")
        return
    what = f"{model.base_url}: {model.name} does not say how sure it is, so more mails go to people"
    yield warning(subject, what, "use a server that returns logprobs, if you want fewer")


def _embedding(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    for model in needed_models(settings):
        yield _stored("embedding model", model.name, settings.model)
    if settings.screening.machine_vote and not {*MULTILINGUAL} & {*settings.embedding.models}:
        what = "the fitted vote on what machines write has no model, so the rules of screening decide alone"
        yield warning(
            "machine vote", what, 'list "use" or "e5" in embedding.models, or set screening.machine_vote = false'
        )


def _stored(subject: str, name: str, settings: ModelSettings) -> Diagnosis:
    """Whether a pinned model is in the cache; its files are not hashed again."""
    listed = next(entry for entry in listing(cache_dir(settings)) if entry.name == name)
    size = f"{listed.size_bytes // MEGABYTE_BYTES} MB"
    if listed.state is CacheState.VERIFIED:
        return ok(subject, f"{listed.title}: verified, {size} at {listed.path}")
    if listed.state is CacheState.UNVERIFIED:
        what, todo = "is there, not verified yet", "run `support-agent model verify`"
    else:
        is_partial = listed.state is CacheState.PARTIAL
        what = f"is {'not complete' if is_partial else 'not there'}, the first start fetches it ({size})"
        todo = "run `support-agent model pull`"
    return warning(subject, f"{listed.title} {what}", todo)


def _calibration(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, problems = "calibration", check_calibration(settings)
    yield from (_diagnosed(subject, problem, f"{problem.path}: {problem.what}") for problem in problems)
    if problems:
        return
    found = read_calibration(settings.planner.calibration)
    if found is None:
        yield ok(subject, "none: choices are those of the shipped weights and planner.threshold_answer")
        return
    origin = found.made_from
    questions = origin.examples + origin.without_topic + origin.mails
    yield ok(subject, f"{found.version} of {found.made_at:%Y-%m-%d}, from {questions} questions")


def _vectors(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    subject, where = "vector store", settings.chroma.url or str(settings.chroma.path)
    if not settings.chroma.url and not settings.chroma.path.exists():
        yield ok(subject, f"{where}: the first start makes it")
        return
    count = probes.count_entries(settings.chroma)
    yield ok(subject, f"{where}: {f'{count} texts' if count is not None else 'the first start fills it'}")


def _fact_room(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    from support_agent.facts.learning.configured_policy import policy_for  # numpy and a graph take a second to import

    subject, facts, sources = "fact room", settings.facts, settings.search.sources
    if facts.retrieve is Retrieve.NEVER:
        yield ok(subject, "off: a document answers by the choice alone")
        return
    policy_for(facts)  # raises if the file of the policy cannot be used
    drafts = "with drafts" if settings.grading.writes_drafts else "without drafts"
    web = f"questions are sent to {', '.join(sources)}" if sources else "no web search"
    yield ok(subject, f"retrieve: {facts.retrieve}, policy {facts.policy}, {drafts}; {web}")


def _autonomy(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """The modes in use, what the rule would change, and modes of what the company does not have."""
    from support_agent.company.company import Company
    from support_agent.ops.autonomy_report import report, titles_of

    with current_store(settings) as store:
        if store is None:
            yield ok("autonomy", f"every item starts in {settings.autonomy.start.value}")
            return
        items = report(store, settings, titles_of(Company.load(settings.company)))
    known = [item for item in items if item.title]
    modes = Counter(item.mode for item in known)
    yield ok("autonomy", ", ".join(f"{count} in {mode.value}" for mode, count in sorted(modes.items())))
    if changing := [item.key for item in known if item.earned is not item.mode]:
        todo = "`support-agent autonomy` says why, `support-agent autonomy apply` does it"
        yield warning("autonomy", f"the rule would raise {named(changing)}", todo)
    if unknown := [item.key for item in items if not item.title]:
        todo = "`support-agent autonomy undo ITEM`, if it was renamed or taken away"
        yield warning("autonomy", f"modes of what the company does not have: {named(unknown)}", todo)


def _desk_page(settings: Settings, probes: Probes) -> Iterator[Diagnosis]:
    """How people sign in at the desk's page; `check_agent` says what is wrong with its settings."""
    subject, page = "desk page", settings.desk_page
    if page.sign_in != "oidc" or not (page.oidc_issuer and page.oidc_client_id):
        yield ok(subject, f"{page.origin}, people sign in by {page.sign_in}")
        return
    probes.read_issuer(page)
    yield ok(subject, f"{page.origin}, people sign in at {page.oidc_issuer}, which answers")


Check = Callable[[Settings, Probes], Iterator[Diagnosis]]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("configuration", _configuration),
    ("secrets", _secrets),
    ("senders", _senders),
    ("mailbox", _mailbox),
    ("sender", _sender),
    ("model", _model),
    ("embedding model", _embedding),
    ("calibration", _calibration),
    ("database", lambda settings, probes: look_at_database(settings, probes.now)),
    ("workers", lambda settings, probes: look_at_workers(settings, probes.now)),
    ("keys", lambda settings, probes: look_at_keys(settings)),
    ("automatic mail", lambda settings, probes: look_at_traffic(settings, probes.now)),
    ("alarms", lambda settings, probes: look_at_alarms(settings, probes.now)),
    ("autonomy", _autonomy),
    ("vector store", _vectors),
    ("fact room", _fact_room),
    ("desk page", _desk_page),
    ("clock", lambda settings, probes: look_at_clock(settings, probes.now, probes.released)),
)
"""The checks, in this order."""


def _not_set(subject: str, key: str) -> Diagnosis:
    return error(subject, f"{key} is not set", "fill it in in support-agent.toml")
