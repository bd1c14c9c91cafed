"""Runs `support-agent backtest` on uploaded mails as a process of its own, and reads how far it is.

Everything about a run is in one folder below `backtest-work`: the mails, what was asked, the lines about the progress
and the report. The process holds a lock on a file there until it ends, however it ends, so a page that was started
again still knows that it runs.

Invariant: one run at a time; names in an upload are never used as paths, and no more than a bounded number of mails and
bytes is unpacked; files are their owner's alone. Checked by tests/unit/desk_page/test_backtest_process.py and
tests/journey/test_page_backtest.py.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from support_agent.config.settings import Settings
from support_agent.core.file_lock import takes_lock
from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError

PROGRAM = (sys.executable, "-P", "-c", "from support_agent.cli.main import main; main()")
FOLDER = "desk-page"
"""The folder of the page's run, below that of the command's results."""
MBOX_START, ZIP_START = b"From ", b"PK\x03\x04"
ZIP_ENTRY = b"PK\x01\x02"
"""Begins each entry of a zip's directory, so there are no more entries than these."""
UNREADABLE_ZIP = (lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError)
UNPACKED_PER_UPLOADED = 10
"""All mails of a zip may be this much larger than the largest upload; each alone may be as large."""
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
PROGRESS = re.compile(r"^(\d+) of (\d+) mails(?:, about (\d+) min left)?$")
SAID_CHARACTERS = 2_000
MOST_ADDRESSES = 20
Uploaded = tuple[str, bytes]
"""A file's name as the browser gave it, and its bytes."""
ADDRESS = re.compile(r"[^\s@,;]{0,64}@[^\s@,;]{1,255}")


class RunState(StrEnum):
    """How a run is. `stopped`: by a person; `failed`: its process ended without a report."""

    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"


class BacktestRequest(Frozen):
    """What a run was asked for; `own` are addresses from which people write; `files` counts what was uploaded."""

    who: str
    at: datetime
    own: tuple[str, ...] = ()
    without_model: bool = True
    files: int = 0


class Progress(Frozen):
    """How far a run is: mails that are done, all of them, and the minutes that are left, where they are known.

    `said` is what the process wrote last.
    """

    state: RunState
    asked: BacktestRequest
    done: int | None = None
    total: int | None = None
    minutes_left: int | None = None
    said: str = ""


class Cluster(BaseModel):
    """Questions alike that no document answers: `ops.backtest.clusters.Cluster`, as far as the page shows it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    size: int
    share: float
    words: tuple[str, ...]
    examples: tuple[str, ...]


class LastReport(BaseModel):
    """The report of the last run, as far as the page shows it; `ops.backtest.report` would load what it was made by."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    made_at: datetime
    questions: int
    answered: int
    answered_share: float
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True)
class Backtests:
    """The run of a workspace.

    Args:
        settings: Of the workspace; its limits of past mail hold.
        config: The configuration file that the process reads.
        work: Where the command keeps results, `backtest-work`.
        program: The command line of `support-agent`.
    """

    settings: Settings
    config: Path
    work: Path
    program: Sequence[str] = PROGRAM
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def start(self, asked: BacktestRequest, uploads: Sequence[Uploaded]) -> None:
        """Keep the uploaded mails in the place of earlier ones, and begin.

        Raises:
            PermanentError: a run is under way, or a file is no mbox, zip or mail, or is too large.
        """
        with self._held() as lock:
            new = self._new_mails
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(mode=PRIVATE_FOLDER)
            try:
                count = self._keep(new, uploads)
            except BaseException:  # a full disk, too: customers' mails are not left behind
                shutil.rmtree(new, ignore_errors=True)
                raise
            shutil.rmtree(self._mails, ignore_errors=True)
            new.rename(self._mails)
            asked = asked.model_copy(update={"files": count})
            _write(self._asked, asked.model_dump_json().encode())
            self._begin(asked, lock)

    def go_on(self) -> None:
        """Begin again with the same mails; what was decided is not decided again.

        Raises:
            PermanentError: a run is under way, or there is none to go on with.
        """
        with self._held() as lock:
            asked = self._read_asked()
            if asked is None:
                raise PermanentError("there is no backtest to go on with", code="no_run")
            self._begin(asked, lock)

    def stop(self) -> None:
        """End the process; it can go on later."""
        with self._lock:
            if not self._is_running():
                return
            _write(self._stopped, b"")
            with suppress(ValueError, ProcessLookupError, OSError):
                os.killpg(int(self._pid.read_text("ascii")), signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait for the end of a run that this process started."""
        for child in tuple(self._children):
            child.wait(seconds)

    def forget(self) -> None:
        """Delete the mails and the report; results that the command keeps for further runs stay.

        Raises:
            PermanentError: a run is under way.
        """
        with self._held():
            for path in self._folder.iterdir():
                if path != self._locked:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def progress(self) -> Progress | None:
        """How the run is; None: there is none."""
        with self._lock:
            is_running = self._is_running()
        if (asked := self._read_asked()) is None:
            return None
        text = _end_of(self._said)
        lines = [line for line in text.splitlines() if line.strip()]
        found = next((match for line in reversed(lines) if (match := PROGRESS.match(line))), None)
        groups = found.groups() if found else (None, None, None)
        done, total, left = (int(part) if part else None for part in groups)
        state = RunState.RUNNING if is_running else self._ended()
        said = next((line for line in reversed(lines) if not PROGRESS.match(line)), "")
        return Progress(state=state, asked=asked, done=done, total=total, minutes_left=left, said=said)

    def report(self) -> LastReport | None:
        """The figures of the last run that ended; None: there is none, or another version wrote it."""
        if not self.html.is_file():
            return None
        try:
            return LastReport.model_validate_json(self.json.read_bytes())
        except (OSError, ValidationError):
            return None

    @property
    def html(self) -> Path:
        """The report as a page; it is there once a run has ended well."""
        return self._folder / "report.html"

    @property
    def json(self) -> Path:
        """The report as data."""
        return self._folder / "report.json"

    # Parts

    @property
    def _folder(self) -> Path:
        return self.work / FOLDER

    @property
    def _mails(self) -> Path:
        return self._folder / "mails"

    @property
    def _new_mails(self) -> Path:
        """Mails that are being unpacked."""
        return self._folder / "new-mails"

    @property
    def _asked(self) -> Path:
        return self._folder / "asked.json"

    @property
    def _stopped(self) -> Path:
        return self._folder / "stopped"

    @property
    def _pid(self) -> Path:
        return self._folder / "pid"

    @property
    def _said(self) -> Path:
        return self._folder / "progress.txt"

    @property
    def _locked(self) -> Path:
        """The file that is locked while a run is under way."""
        return self._folder / "lock"

    @contextmanager
    def _held(self) -> Iterator[int]:
        """The lock of the run, as a file descriptor; a process that is started in the block keeps it until its end.

        Raises:
            PermanentError: a run has it.
        """
        self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        with self._lock:
            handle = os.open(self._locked, os.O_RDWR | os.O_CREAT, PRIVATE)
            try:
                if not takes_lock(handle, without_locks=False):
                    raise PermanentError("a backtest is under way: stop it first, or wait for its end", code="running")
                yield handle
            finally:
                os.close(handle)

    def _begin(self, asked: BacktestRequest, lock: int) -> None:
        for path in (self._stopped, self._pid, self.html, self.json):  # an old pid may be another process by now
            path.unlink(missing_ok=True)
        boxes = [str(box) for box in sorted(self._mails.glob("*.mbox"))]
        mails = [str(self._mails)] if any(self._mails.glob("*.eml")) else []
        command = [*self.program, "backtest", *boxes, *mails, *(f"--own={address}" for address in asked.own)]
        command += ["--without-model"] if asked.without_model else []
        command += ["--work", str(self.work), "--html", str(self.html), "--json", "--config", str(self.config)]
        with _private(self.json) as out, _private(self._said) as said:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, pass_fds=(lock,), start_new_session=True
            )
        _write(self._pid, str(child.pid).encode())
        self._children.append(child)

    def _is_running(self) -> bool:
        self._children[:] = [child for child in self._children if child.poll() is None]
        try:
            handle = os.open(self._locked, os.O_RDWR)
        except OSError:
            return False
        try:
            return not takes_lock(handle, without_locks=False)
        finally:
            os.close(handle)

    def _ended(self) -> RunState:
        if self.html.is_file():
            return RunState.DONE
        return RunState.STOPPED if self._stopped.exists() else RunState.FAILED

    def _read_asked(self) -> BacktestRequest | None:
        try:
            return BacktestRequest.model_validate_json(self._asked.read_bytes())
        except (OSError, ValidationError):
            return None

    def _keep(self, folder: Path, uploads: Sequence[Uploaded]) -> int:
        count = 0
        for count, (suffix, data) in enumerate(self._mails_in(uploads), start=1):
            _write(folder / f"{count:06d}{suffix}", data)
        if not count:
            raise PermanentError("no mails: choose an mbox, or a zip of .eml files", code="no_mails")
        return count

    def _mails_in(self, uploads: Sequence[Uploaded]) -> Iterator[tuple[str, bytes]]:
        """Each mail file of an upload with the suffix that it is kept under."""
        for name, data in uploads:
            if data.startswith(ZIP_START):
                yield from self._unpacked(data)
            elif data.startswith(MBOX_START):
                yield ".mbox", data
            elif name.lower().endswith(".eml"):
                yield ".eml", data
            else:
                raise PermanentError(f"{name!r} is no mbox, no zip and no .eml file", code="no_mails")

    def _unpacked(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        limits, most = self.settings.backtest, self.settings.desk_page.max_upload_bytes
        left = UNPACKED_PER_UPLOADED * most
        if data.count(ZIP_ENTRY) > limits.max_mails:
            raise PermanentError(f"more than {limits.max_mails} files in a zip", code="too_large")
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                for entry in archive.infolist():
                    if entry.is_dir() or entry.filename.startswith("__MACOSX/"):
                        continue
                    with archive.open(entry) as file:
                        content = file.read(most + 1)  # what the entry says of its size proves nothing
                    left -= len(content)
                    if left < 0 or len(content) > most:
                        raise PermanentError("the mails of a zip are too large unpacked", code="too_large")
                    if content.startswith(MBOX_START):
                        yield ".mbox", content
                    elif entry.filename.lower().endswith(".eml"):
                        yield ".eml", content
        except UNREADABLE_ZIP as error:
            raise PermanentError(f"the zip cannot be read: {error}", code="no_mails") from error


def own_addresses(text: str) -> tuple[str, ...]:
    """The addresses in a field of a form, each an address or @domain.

    Raises:
        PermanentError: something is no address.
    """
    given = tuple(dict.fromkeys(part for part in re.split(r"[\s,;]+", text) if part))
    wrong = [part for part in given if not ADDRESS.fullmatch(part)]
    if wrong or len(given) > MOST_ADDRESSES:
        raise PermanentError(f"{(wrong or given)[0]!r}: write addresses or @domains, at most {MOST_ADDRESSES}")
    return given


def _private(path: Path) -> IO[bytes]:
    """A new, empty file that only its owner may read."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")


def _write(path: Path, data: bytes) -> None:
    with _private(path) as file:
        file.write(data)


def _end_of(path: Path) -> str:
    """The last characters of a file; "" if it is not there."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - SAID_CHARACTERS))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
