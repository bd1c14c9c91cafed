"""Past mails of files: each once, the newest within the limits, and nothing in the files changes."""

from __future__ import annotations

import mailbox
import os
from datetime import timedelta
from pathlib import Path

import pytest

from support_agent.config.backtest import BacktestSettings
from support_agent.errors import ConfigError
from support_agent.ops.backtest.sources import FoundMail, collect, files_in
from tests.made_mailbox import write_mbox
from tests.unit.ops.backtest.made import START, raw

NOW = START + timedelta(days=30)
MAX_BYTES = 100_000


def subjects(*paths: Path) -> list[str]:
    past = collect(files_in(paths, MAX_BYTES), BacktestSettings(), NOW)
    return [mail.message.subject for mail in past.mails]


def mails(count: int) -> list[bytes]:
    return [raw(number, subject=f"mail {number}", hours=number) for number in range(count)]


def test_an_mbox_is_read_and_stays_as_it_was(tmp_path: Path) -> None:
    box = write_mbox(tmp_path / "archive.mbox", mails(3))
    before = box.read_bytes(), box.stat().st_mtime_ns
    assert subjects(box) == ["mail 0", "mail 1", "mail 2"]
    assert (box.read_bytes(), box.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [box]


def test_a_maildir_is_read_and_no_mail_moves_from_new_to_cur(tmp_path: Path) -> None:
    """Rule: what no mail program has seen stays unseen; subfolders such as .Sent are read too."""
    box = mailbox.Maildir(tmp_path / "mail", create=True)
    sent = box.add_folder("Sent")
    for number, content in enumerate(mails(2)):
        (box, sent)[number].add(content)
    before = sorted(path for path in (tmp_path / "mail").rglob("*"))
    assert subjects(tmp_path / "mail") == ["mail 0", "mail 1"]
    assert sorted(path for path in (tmp_path / "mail").rglob("*")) == before


def test_a_folder_of_eml_files_and_one_of_them_are_read_and_each_mail_counts_once(tmp_path: Path) -> None:
    for number, content in enumerate(mails(2)):
        (tmp_path / f"{number}.eml").write_bytes(content)
    assert subjects(tmp_path, tmp_path / "1.eml") == ["mail 0", "mail 1"]


def test_a_file_whose_name_is_not_utf8_is_read_and_its_place_can_be_written(tmp_path: Path) -> None:
    """Failure: a Maildir from a Latin-1 machine stopped the whole backtest."""
    (tmp_path / "cur").mkdir()
    write_mbox(tmp_path / "box", mails(1)).rename(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    for folder in (b"/cur/caf\xe9:2,S", b"/caf\xe9.eml"):
        Path(os.fsdecode(os.fsencode(tmp_path) + folder)).write_bytes(mails(1)[0])
    box = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    for path in (tmp_path, box, box.with_suffix(".eml")):
        (found,) = files_in([path], MAX_BYTES)
        assert found.raw is not None
        assert "caf\ufffd" in found.place.encode().decode()


def test_what_is_no_mailbox_is_refused_with_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no mail", "utf-8")
    for path in (tmp_path / "notes.txt", tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="name"):
            subjects(path)


def test_of_too_many_mails_the_newest_are_kept_and_the_others_counted() -> None:
    found = [FoundMail("made", content) for content in mails(5)]
    past = collect(found, BacktestSettings(max_mails=2), NOW)
    assert [mail.message.subject for mail in past.mails] == ["mail 3", "mail 4"]
    assert past.too_many == 3


def test_of_too_many_bytes_the_newest_are_kept() -> None:
    large = [FoundMail("made", raw(number, "word " * 100_000, hours=number)) for number in range(4)]
    past = collect(large, BacktestSettings(max_megabytes=1), NOW)
    assert (len(past.mails), past.too_many) == (1, 3)


def test_a_mail_that_cannot_be_read_is_counted_and_no_error() -> None:
    past = collect(
        [FoundMail("a", None), FoundMail("b", b""), FoundMail("c", b"\x00\xff junk")], BacktestSettings(), NOW
    )
    assert (past.unreadable, len(past.mails)) == (2, 1)


def test_a_mail_over_the_limit_is_read_in_part(tmp_path: Path) -> None:
    """Rule: the planner gives such a mail to a person, so it counts as one that would not be answered."""
    box = write_mbox(tmp_path / "archive.mbox", [raw(1, "word " * 1_000)])
    (mail,) = collect(files_in([box], 1_000), BacktestSettings(), NOW).mails
    assert len(mail.raw) < 1_200
    assert any("more than 1000 bytes" in defect for defect in mail.message.defects)


def test_a_mail_counts_from_its_date_or_its_arrival_and_never_from_the_future() -> None:
    dated, undated = raw(1, hours=2), b"From: a@example.net\r\n\r\nhello\r\n"
    future = raw(2, hours=24 * 900)
    arrived = START + timedelta(hours=1)
    found = [FoundMail("a", dated), FoundMail("b", undated, arrived), FoundMail("c", future)]
    past = collect(found, BacktestSettings(), NOW)
    assert [mail.at for mail in past.mails] == [arrived, START + timedelta(hours=2), NOW]
    assert len(collect(found, BacktestSettings(), NOW, since=START + timedelta(hours=2)).mails) == 2
