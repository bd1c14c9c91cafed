"""A backtest's process: one at a time, in a folder of its own; what is uploaded may be hostile."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from support_agent.config.backtest import BacktestSettings
from support_agent.config.desk_page import DeskPageSettings
from support_agent.config.settings import Settings
from support_agent.desk_page.backtest_process import BacktestRequest, Backtests, RunState, own_addresses
from support_agent.errors import PermanentError

ASKED = BacktestRequest(who="boss@harborfile.example", at=datetime(2026, 11, 20, tzinfo=UTC))
MAIL = b"From: anna.keller@example.net\r\nSubject: A question\r\n\r\nHow?\r\n"
MBOX = b"From anna Thu Nov 20 12:00:00 2026\n" + MAIL.replace(b"\r\n", b"\n")
WAITS = """
import sys
print("1 of 9 mails, about 4 min left", file=sys.stderr, flush=True)
sys.stdin.read()
import time; time.sleep(60)
"""
DIES = "import sys; sys.exit('support-agent: the model is not there: run model pull')"
ENDS = """
import json, pathlib, sys
given = sys.argv[1:]
print("2 of 2 mails", file=sys.stderr)
report = {"made_at": "2026-11-20T12:00:00Z", "questions": 2, "answered": 1, "answered_share": 0.5, "clusters": []}
print(json.dumps({**report, "given": given}))
pathlib.Path(given[given.index("--html") + 1]).write_text("<p>report</p>")
"""
LIMITS = Settings(backtest=BacktestSettings(max_mails=3), desk_page=DeskPageSettings(max_upload_bytes=10_000))


def zipped(*files: tuple[str, bytes]) -> bytes:
    """A zip of these files."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return held.getvalue()


METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def broken_inside(method: int) -> bytes:
    """A zip whose directory is whole and whose file is not."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr("a.eml", MAIL * 50)
    raw = bytearray(held.getvalue())
    begin = len("a.eml") + 30 + 9
    raw[begin : begin + 20] = b"\xff" * 20
    return bytes(raw)


def made(folder: Path, script: str) -> Backtests:
    return Backtests(LIMITS, folder / "support-agent.toml", folder / "work", (sys.executable, "-c", script))


def state(backtests: Backtests) -> RunState:
    progress = backtests.progress()
    assert progress is not None
    return progress.state


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Backtests]:
    """A run that does not end by itself."""
    backtests = made(tmp_path, WAITS)
    backtests.start(ASKED, [("a.mbox", MBOX)])
    yield backtests
    backtests.stop()
    backtests.wait(30)


def test_a_run_that_ends_well_has_a_report(tmp_path: Path) -> None:
    backtests = made(tmp_path, ENDS)
    assert (backtests.progress(), backtests.report()) == (None, None)
    backtests.start(ASKED.model_copy(update={"own": ("@example.org",)}), [("a.mbox", MBOX), ("b.eml", MAIL)])
    backtests.wait(30)
    progress, report = backtests.progress(), backtests.report()
    assert progress is not None
    assert (progress.state, progress.done, progress.total, progress.asked.files) == (RunState.DONE, 2, 2, 2)
    assert report is not None
    assert report.answered_share == 0.5
    given = backtests.json.read_text("utf-8")
    assert all(part in given for part in ("--own=@example.org", "--without-model", "--work", "--config", "000001.mbox"))
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "work").rglob("*") if path != backtests.html} == {0}


def test_one_run_at_a_time(running: Backtests) -> None:
    """Attack: two admins start at once; also by a page that was started again and knows no process."""
    again = Backtests(running.settings, running.config, running.work, running.program)
    for backtests in (running, again):
        assert state(backtests) is RunState.RUNNING
        with pytest.raises(PermanentError, match="a backtest is under way"):
            backtests.start(ASKED, [("a.mbox", MBOX)])
        with pytest.raises(PermanentError, match="a backtest is under way"):
            backtests.forget()


def test_a_run_is_stopped_and_goes_on(running: Backtests) -> None:
    running.stop()
    running.wait(30)
    assert state(running) is RunState.STOPPED
    running.go_on()
    assert state(running) is RunState.RUNNING


def test_a_process_that_dies_leaves_a_failed_run_with_its_last_words(tmp_path: Path) -> None:
    backtests = made(tmp_path, DIES)
    backtests.start(ASKED, [("a.mbox", MBOX)])
    backtests.wait(30)
    progress = backtests.progress()
    assert progress is not None
    assert (progress.state, progress.said) == (
        RunState.FAILED,
        "support-agent: the model is not there: run model pull",
    )
    backtests.forget()
    assert backtests.progress() is None
    with pytest.raises(PermanentError, match="no backtest to go on with"):
        backtests.go_on()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.exe", b"MZ", "no mbox, no zip and no .eml"),
        ("a.zip", b"PK\x03\x04 broken", "the zip cannot be read"),
        *(("a.zip", broken_inside(method), "the zip cannot be read") for method in METHODS),
        ("a.zip", zipped(*((f"{n}.eml", MAIL) for n in range(4))), "more than 3 files"),
        ("bomb.zip", zipped(("a.eml", b"\0" * 10_001)), "too large unpacked"),
        ("bomb.zip", zipped(*((f"{n}.eml", b"\0" * 40_000) for n in range(3))), "too large unpacked"),
    ],
)
def test_what_is_no_mail_or_too_much_is_refused_and_the_mails_before_stay(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    """Attack: a zip that unpacks to far more than it holds."""
    backtests = made(tmp_path, ENDS)
    backtests.start(ASKED, [("a.mbox", MBOX)])
    backtests.wait(30)
    with pytest.raises(PermanentError, match=why):
        backtests.start(ASKED, [("b.eml", MAIL), (name, data)])
    assert [path.name for path in (tmp_path / "work" / "desk-page" / "mails").iterdir()] == ["000001.mbox"]
    assert not (tmp_path / "work" / "desk-page" / "new-mails").exists()


def test_a_zip_without_a_mail_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="no mails: choose an mbox"):
        made(tmp_path, ENDS).start(ASKED, [("a.zip", zipped(("notes.txt", b"x"), ("__MACOSX/a.eml", MAIL)))])


def test_a_name_in_a_zip_is_no_path(tmp_path: Path) -> None:
    """Attack: zip slip."""
    backtests = made(tmp_path, ENDS)
    names = ("../../../slip.eml", "/etc/slip.eml", "..\\slip.eml")
    backtests.start(ASKED, [("../up.zip", zipped(*((name, MAIL) for name in names)))])
    backtests.wait(30)
    found = sorted(path.name for path in tmp_path.rglob("*.eml"))
    assert found == ["000001.eml", "000002.eml", "000003.eml"]
    assert {path.parent.name for path in tmp_path.rglob("*.eml")} == {"mails"}


def test_own_addresses_are_addresses() -> None:
    """Attack: an address that would be an option of the command."""
    assert own_addresses("a@example.org, @example.net;\nb@example.org") == (
        "a@example.org",
        "@example.net",
        "b@example.org",
    )
    for text in ("--html", "a b", " ".join(f"{n}@example.org" for n in range(21))):
        with pytest.raises(PermanentError, match="write addresses"):
            own_addresses(text)


def test_the_pid_of_an_earlier_run_is_gone_before_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the page dies before it writes the new one, and `stop` ends a stranger's process."""
    backtests = made(tmp_path, ENDS)
    backtests.start(ASKED, [("a.mbox", MBOX)])
    backtests.wait(30)
    pid = tmp_path / "work" / "desk-page" / "pid"
    seen = [pid.exists()]

    def begins(*_: object, **__: object) -> None:
        seen.append(pid.exists())
        raise OSError

    monkeypatch.setattr("subprocess.Popen", begins)
    with pytest.raises(OSError):  # noqa: PT011 the test's own
        backtests.go_on()
    assert seen == [True, False]
