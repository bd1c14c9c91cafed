"""What `doctor` looks at, in memory: the servers outside, and settings with everything set."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import ChromaSettings, ModelSettings, Settings
from support_agent.core.cursor import Cursor
from support_agent.core.diagnosis import Diagnosis, Health
from support_agent.models.language_model import Scores, Usage
from support_agent.ops.doctor import Probes, SeenMailbox, diagnose
from tests.contract.store.examples import NOON

T = TypeVar("T")
SURE = Scores(log_probabilities=(-0.1, -2.3), usage=Usage())


@dataclass
class Outside:
    """The servers: what they answer, or raise; `cursors` are those that the mailbox was asked with."""

    mails: int | Exception = 0
    sent_folder: str | None = "Sent"
    sender: Exception | None = None
    model: Scores | Exception = SURE
    room: Exception | None = None
    entries: int | Exception | None = None
    issuer: Exception | None = None
    cursors: list[Cursor | None] = field(default_factory=list)
    released: datetime = NOON

    def probes(self, now: datetime = NOON) -> Probes:
        def look_at_mailbox(_: Settings, cursor: Cursor | None) -> SeenMailbox:
            self.cursors.append(cursor)
            return SeenMailbox(_given(self.mails), self.sent_folder)

        def check_sender(_: Settings) -> None:
            _given(self.sender)

        def ask_model(_: ModelSettings) -> Scores:
            return _given(self.model)

        def require_room(_: ModelSettings, path: Path) -> None:
            _given(self.room)

        def count_entries(_: ChromaSettings) -> int | None:
            return _given(self.entries)

        def read_issuer(_: DeskPageSettings) -> object:
            return _given(self.issuer)

        return Probes(
            now, look_at_mailbox, check_sender, ask_model, require_room, count_entries, read_issuer, self.released
        )


def _given(answer: T | Exception) -> T:
    if isinstance(answer, Exception):
        raise answer
    return answer


def settings_in(folder: Path) -> Settings:
    """Everything set, nothing started yet."""
    return Settings.model_validate(
        {
            "imap": {"host": "imap.example.com", "user": "support", "password": SecretStr("x")},
            "smtp": {"host": "smtp.example.com", "user": "support", "password": SecretStr("x")},
            "agent": {
                "address": "support@harborfile.example",
                "authserv_ids": ("mx.harborfile.example",),
                "secret": SecretStr("k" * 32),
            },
            "desk": {"address": "desk@harborfile.example"},
            "model": {"cache_dir": folder / "models"},
            "store": {"url": f"sqlite:///{folder / 'store.sqlite3'}"},
            "chroma": {"path": folder / "chroma"},
        }
    )


def changed(settings: Settings, section: str, **values: object) -> Settings:
    part = getattr(settings, section)
    return settings.model_copy(update={section: type(part).model_validate({**dict(part), **values})})


def of(diagnoses: list[Diagnosis], subject: str) -> list[Diagnosis]:
    return [diagnosis for diagnosis in diagnoses if diagnosis.subject == subject]


def the(subject: str, settings: Settings, outside: Outside | None = None, now: datetime = NOON) -> Diagnosis:
    """The one diagnosis of a part; it says what to do exactly where something is wrong."""
    (diagnosis,) = of(diagnose(settings, (outside or Outside()).probes(now)), subject)
    assert bool(diagnosis.todo) == (diagnosis.severity is not Health.OK)
    return diagnosis
