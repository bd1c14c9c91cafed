"""`doctor`: each part is looked at, whatever the others find; what is said, how bad it is, what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from support_agent.app.probes import real_probes
from support_agent.config.embedding import EmbeddingModel
from support_agent.config.mail_servers import SentCopies
from support_agent.config.settings import Settings
from support_agent.core.cursor import Cursor
from support_agent.core.diagnosis import Diagnosis, Health
from support_agent.errors import ConfigError, SupportAgentError, ToolCallRejected, TransientError
from support_agent.models.embedders import is_needed
from support_agent.models.language_model import Scores, Usage
from support_agent.models.pinned import MODELS
from support_agent.models.pulling import STAMP_SUFFIX
from support_agent.ops.doctor import CHECKS, MANY_MAILS, diagnose
from support_agent.planner.calibration import write_calibration
from support_agent.store.store import Store
from tests.contract.store.examples import NOON
from tests.fakes_doctor import SURE, Outside, changed, of, settings_in, the
from tests.servers.openai import FakeOpenAI, failure, pick
from tests.unit.planner.test_calibration import made

UNSURE = Scores(log_probabilities=None, picked=0, usage=Usage())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Everything set, nothing started yet."""
    return settings_in(tmp_path)


@pytest.fixture
def store(settings: Settings, empty_store: Path, tmp_path: Path) -> Iterator[Store]:
    """The database of the settings, with its tables."""
    shutil.copy(empty_store, tmp_path / "store.sqlite3")
    with Store.open(settings.store.url) as opened:
        yield opened


def put_models(settings: Settings, *, is_stamped: bool) -> None:
    """Files of the pinned sizes that take no room, with the stamp of a verified file or without."""
    cache = settings.model.cache_dir
    assert cache is not None
    for model in MODELS:
        model.folder(cache).mkdir(parents=True)
        for file in model.files:
            path = model.folder(cache) / file.name
            with path.open("wb") as opened:
                opened.truncate(file.size_bytes)
            if is_stamped:
                stamp = f"{file.sha256} {file.size_bytes} {path.stat().st_mtime_ns}\n"
                path.with_name(path.name + STAMP_SUFFIX).write_text(stamp)


def test_an_agent_before_its_first_start_is_well(settings: Settings, tmp_path: Path) -> None:
    """Rule: what the first start makes is no complaint, and looking does not make it."""
    put_models(settings, is_stamped=True)
    before = sorted(tmp_path.rglob("*"))
    diagnoses = diagnose(settings, Outside().probes())
    assert list(dict.fromkeys((entry.subject, entry.severity) for entry in diagnoses)) == [
        (subject, Health.OK) for subject, _ in CHECKS if subject not in ("clock", "secrets")
    ]
    assert sorted(tmp_path.rglob("*")) == before


def test_one_failing_check_hides_no_other(settings: Settings) -> None:
    """Rule: one call names everything to mend, a defect of a check itself included."""
    put_models(settings, is_stamped=True)
    settings.chroma.path.mkdir()
    outside = Outside(
        mails=RuntimeError("a defect"),
        sender=TransientError("smtp.example.com:465 cannot be used now: refused"),
        entries=ConfigError("chroma.path /x: not a database: choose another folder"),
    )
    found = {entry.subject: entry for entry in diagnose(settings, outside.probes())}
    assert {subject for subject, entry in found.items() if entry.severity is Health.ERROR} == {
        "mailbox", "sender", "vector store",
    }  # fmt: skip
    assert found["mailbox"].what == "the check failed: RuntimeError: a defect"
    assert found["sender"].what == "smtp.example.com:465 cannot be used now: refused"
    assert "reached from here" in found["sender"].todo
    assert (found["vector store"].what, found["vector store"].todo) == (
        "chroma.path /x: not a database",
        "choose another folder",
    )
    assert found["database"].severity is Health.OK


# Configuration


@pytest.mark.parametrize(
    ("section", "values", "what"),
    [
        ("agent", {"authserv_ids": ()}, "every sender has level 0 and nothing is answered"),
        ("agent", {"secret": SecretStr("")}, "agent.secret_file is not set"),
        ("agent", {"address": "support"}, "'support' is no plain address"),
        ("desk", {"address": ""}, "desk.address is not set"),
    ],
)
def test_a_configuration_that_answers_nobody_is_an_error(
    settings: Settings, section: str, values: dict[str, object], what: str
) -> None:
    diagnosis = the("configuration", changed(settings, section, **values))
    assert diagnosis.severity is Health.ERROR
    assert what in diagnosis.what


# Mailbox


@pytest.mark.parametrize(("section", "subject"), [("imap", "mailbox"), ("smtp", "sender")])
def test_a_server_that_is_not_set_is_an_error(settings: Settings, section: str, subject: str) -> None:
    diagnosis = the(subject, changed(settings, section, host=""))
    assert (diagnosis.severity, diagnosis.what) == (Health.ERROR, f"{section}.host is not set")


def test_many_old_mails_are_a_warning_before_the_first_start(settings: Settings) -> None:
    """A story from other tools: a support mailbox of years, answered again in one night."""
    diagnosis = the("mailbox", settings, Outside(mails=MANY_MAILS + 1))
    assert diagnosis.severity is Health.WARNING
    assert f"handles {MANY_MAILS + 1} mails" in diagnosis.what
    assert "imap.skip_existing = true" in diagnosis.todo


def test_s66_copies_that_have_no_folder_are_a_warning(settings: Settings) -> None:
    """The agent would file them nowhere, and nobody would miss them until they are needed."""
    outside = Outside(sent_folder=None)
    found = [one for one in diagnose(settings, outside.probes()) if one.subject == "mailbox"]
    assert [one.severity for one in found] == [Health.OK, Health.WARNING]
    assert "imap.sent_folder" in found[1].todo
    imap = settings.imap.model_copy(update={"sent_copies": SentCopies.NONE})
    found = diagnose(settings.model_copy(update={"imap": imap}), outside.probes())
    assert [one.severity for one in found if one.subject == "mailbox"] == [Health.OK]


def test_a_few_old_mails_are_not(settings: Settings) -> None:
    diagnosis = the("mailbox", settings, Outside(mails=MANY_MAILS))
    assert (diagnosis.severity, f"handles {MANY_MAILS} mails" in diagnosis.what) == (Health.OK, True)


def test_nor_are_mails_that_the_first_start_leaves_alone(settings: Settings) -> None:
    diagnosis = the("mailbox", changed(settings, "imap", skip_existing=True), Outside(mails=500))
    assert (diagnosis.severity, "leaves 500 mails alone" in diagnosis.what) == (Health.OK, True)


def test_nor_is_a_backlog_of_an_agent_that_has_read_the_mailbox(settings: Settings, store: Store) -> None:
    """After a stop of a week there are many mails, and all of them are to be handled."""
    store.cursors.move(Cursor(folder="INBOX", uid_validity=7, last_uid=40))
    outside = Outside(mails=500)
    diagnosis = the("mailbox", settings, outside)
    assert (diagnosis.severity, "500 mails to handle" in diagnosis.what) == (Health.OK, True)
    assert outside.cursors == [Cursor(folder="INBOX", uid_validity=7, last_uid=40)]


def test_the_mailbox_is_looked_at_without_a_database(settings: Settings, tmp_path: Path) -> None:
    """Then how far it was read is not known, and only the database complains."""
    broken = changed(settings, "store", url=f"sqlite:///{tmp_path / 'no' / 'folder.sqlite3'}")
    outside = Outside(mails=500)
    assert the("mailbox", broken, outside).severity is Health.OK
    assert outside.cursors == [None]
    database = the("database", broken, outside)
    assert (database.severity, database.todo) == (Health.ERROR, "create it")


# Model


def models_of(settings: Settings) -> list[Diagnosis]:
    """What is said about the language model and each embedding model."""
    diagnoses = diagnose(settings, Outside().probes())
    return [entry for subject in ("model", "embedding model") for entry in of(diagnoses, subject)]


def test_models_that_are_not_there_are_a_warning(settings: Settings) -> None:
    """The first start would fetch them, which takes minutes."""
    diagnoses = models_of(settings)
    assert len(diagnoses) == len([model for model in MODELS if is_needed(model, settings)])
    for diagnosis in diagnoses:
        assert (diagnosis.severity, "is not there" in diagnosis.what) == (Health.WARNING, True)
        assert "model pull" in diagnosis.todo


def test_models_of_the_right_size_that_nobody_verified_are_a_warning(settings: Settings) -> None:
    put_models(settings, is_stamped=False)
    for diagnosis in models_of(settings):
        assert (diagnosis.severity, "not verified yet" in diagnosis.what) == (Health.WARNING, True)
        assert "model verify" in diagnosis.todo


TOO_LITTLE = ConfigError("model.instances = 8 needs 3.8 GB beside the weights, of 2.1 GB: lower model.instances")


def test_instances_that_do_not_fit_into_memory_are_an_error(settings: Settings) -> None:
    """The start would refuse them."""
    put_models(settings, is_stamped=True)
    fine, refused = of(diagnose(settings, Outside(room=TOO_LITTLE).probes()), "model")
    assert (fine.severity, refused.severity) == (Health.OK, Health.ERROR)
    assert (refused.what, refused.todo) == (
        "model.instances = 8 needs 3.8 GB beside the weights, of 2.1 GB",
        "lower model.instances",
    )


def test_the_memory_of_a_running_worker_is_not_counted_twice(settings: Settings, store: Store) -> None:
    """What the worker took is missing from what is left."""
    put_models(settings, is_stamped=True)
    assert store.leases.take("worker:a", "a", timedelta(days=1), NOON)
    assert the("model", settings, Outside(room=TOO_LITTLE)).severity is Health.OK


def test_an_embedding_model_that_is_off_is_not_looked_for(settings: Settings) -> None:
    """The index's own is, whatever is listed."""
    alone = changed(settings, "embedding", models=(EmbeddingModel.MINILM,))
    (diagnosis,) = of(diagnose(alone, Outside().probes()), "embedding model")
    assert diagnosis.what.startswith("all-MiniLM-L6-v2")


def test_a_vote_without_its_model_is_a_warning(settings: Settings) -> None:
    """Rule: the rules of screening decide alone then, and the operator hears of it."""
    alone = changed(settings, "embedding", models=(EmbeddingModel.MINILM,))
    (diagnosis,) = of(diagnose(alone, Outside().probes()), "machine vote")
    assert (diagnosis.severity, "decide alone" in diagnosis.what) == (Health.WARNING, True)
    for quiet in (settings, changed(alone, "screening", machine_vote=False)):
        assert of(diagnose(quiet, Outside().probes()), "machine vote") == []


def test_a_verified_model_is_told_with_its_size(settings: Settings) -> None:
    put_models(settings, is_stamped=True)
    assert "verified, 1117 MB at " in the("model", settings).what


def test_an_own_model_file_is_looked_at(settings: Settings, tmp_path: Path) -> None:
    """Rule: a path that holds no model is found before the first mail is."""
    path = tmp_path / "own.gguf"
    own = changed(settings, "model", path=path)
    missing = the("model", own)
    assert (missing.severity, str(path) in missing.what) == (Health.ERROR, True)
    path.write_bytes(b"GGUF and more")
    assert the("model", own).severity is Health.OK


@pytest.mark.parametrize(
    ("answer", "health", "todo"),
    [
        (SURE, Health.OK, ""),
        (UNSURE, Health.WARNING, "logprobs"),
        (ToolCallRejected("the model made no usable call: a refusal"), Health.ERROR, "can call tools"),
        (TransientError("no connection to the model's server at x"), Health.ERROR, "reached from here"),
        (ConfigError("x answered 401: check model.api_key"), Health.ERROR, "check model.api_key"),
    ],
)
def test_a_model_on_a_server_is_asked(
    settings: Settings, answer: Scores | SupportAgentError, health: Health, todo: str
) -> None:
    """One real choice: address, key, name and the ability to call are seen at once."""
    remote = changed(settings, "model", planner="openai", base_url="http://x/v1", name="m")
    diagnosis = the("model", remote, Outside(model=answer))
    assert diagnosis.severity is health
    assert todo in diagnosis.todo


def test_the_real_probe_makes_one_choice(settings: Settings, fake_openai: FakeOpenAI) -> None:
    remote = {"planner": "openai", "base_url": fake_openai.base_url, "name": "m", "timeout_s": 60.0}
    ask = real_probes(NOON).ask_model
    fake_openai.answer(pick("yes"))
    assert ask(changed(settings, "model", **remote).model).picked == 0
    assert len(fake_openai.requests) == 1
    fake_openai.answer(failure(401))
    with pytest.raises(ConfigError, match=r"model\.api_key"):
        ask(changed(settings, "model", **remote).model)


# Vector store


@pytest.mark.parametrize(("entries", "what"), [(312, "312 texts"), (None, "the first start fills it")])
def test_the_vector_store_is_told_with_its_texts(settings: Settings, entries: int | None, what: str) -> None:
    settings.chroma.path.mkdir()
    diagnosis = the("vector store", settings, Outside(entries=entries))
    assert (diagnosis.severity, what in diagnosis.what) == (Health.OK, True)


@pytest.mark.parametrize(
    ("section", "values", "what"),
    [
        ("facts", {}, "retrieve: doubtful, policy always, without drafts; no web search"),
        ("facts", {"retrieve": "never"}, "off: a document answers by the choice alone"),
        ("grading", {"drafts": True}, "policy always, with drafts; no web search"),
        ("search", {"sources": ("wikipedia",)}, "questions are sent to wikipedia"),
    ],
)
def test_the_fact_room_is_told_with_what_leaves_the_house(
    settings: Settings, section: str, values: dict[str, object], what: str
) -> None:
    diagnosis = the("fact room", changed(settings, section, **values), Outside())
    assert (diagnosis.severity, what in diagnosis.what) == (Health.OK, True)


def test_weights_of_a_policy_that_cannot_be_used_are_an_error(settings: Settings, tmp_path: Path) -> None:
    """The agent would not start."""
    trained = changed(settings, "facts", policy="trained", policy_file=tmp_path / "policy-x.json")
    assert the("fact room", trained, Outside()).severity is Health.ERROR


def test_a_vector_store_server_is_always_asked(settings: Settings) -> None:
    """There may be no folder, and there is something to reach."""
    remote = changed(settings, "chroma", url="http://127.0.0.1:1")
    outside = Outside(entries=TransientError("chroma.url http://127.0.0.1:1: refused"))
    assert the("vector store", remote, outside).severity is Health.ERROR


# Calibration


def test_no_calibration_is_as_good_as_shipped(settings: Settings, tmp_path: Path) -> None:
    without = changed(settings, "planner", calibration=tmp_path / "calibration.json")
    assert the("calibration", without).severity is Health.OK


@pytest.mark.parametrize(("votes", "severity"), [("never", Health.OK), ("always", Health.WARNING)])
def test_a_calibration_is_told_with_what_it_was_made_for(
    settings: Settings, tmp_path: Path, votes: str, severity: Health
) -> None:
    """The words of the company cannot be read here: `check` says so."""
    now = changed(settings, "planner", calibration=tmp_path / "calibration.json", model_votes="never")
    write_calibration(now.planner.calibration, made(now))
    diagnosis = the("calibration", changed(now, "planner", model_votes=votes))
    assert diagnosis.severity is severity
    assert ("from 130 questions" if votes == "never" else "is ignored") in diagnosis.what


def test_a_calibration_that_is_none_is_an_error(settings: Settings, tmp_path: Path) -> None:
    """The agent would not start."""
    (tmp_path / "calibration.json").write_text("[]", "utf-8")
    broken = changed(settings, "planner", calibration=tmp_path / "calibration.json")
    assert the("calibration", broken).severity is Health.ERROR
