"""The keys: one for each mail, wrapped, destroyed for good; nothing is ever sealed without one or opened wrongly."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import make_url

from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.store.keys import KeySettings, Lost
from support_agent.store.vault import (
    MAGIC,
    TEXT_MAGIC,
    Vault,
    about,
    opened,
    opened_json,
    opened_text,
    sealed,
    sealed_json,
    sealed_text,
    using,
)

ONE, TWO, NEVER = "a" * 32, "b" * 32, "c" * 32
KEY = secrets.token_bytes(32)


MADE: list[Vault] = []
"""In a test; they are closed at its end."""


def vault_in(folder: Path, settings: KeySettings | None = None) -> Vault:
    made = Vault(make_url(f"sqlite:///{folder / 'store.sqlite3'}"), settings or KeySettings(seals=True), 5.0)
    MADE.append(made)
    return made


@pytest.fixture(autouse=True)
def all_closed() -> Iterator[None]:
    yield
    while MADE:
        MADE.pop().close()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return vault_in(tmp_path)


def test_keys_are_made_once_private_and_wrapped(vault: Vault, tmp_path: Path) -> None:
    """Rule: a first start needs nothing; whoever copies the store or the keys alone reads nothing."""
    assert list(tmp_path.iterdir()) == []
    box = vault.seal(ONE, b"words")
    assert b"words" not in box
    assert vault.open(box) == b"words"
    assert vault.seal(ONE, b"words") != box
    files = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if "-wal" not in path.name}
    assert files.pop("store-master.key") == 0
    assert files.pop("store-keys.sqlite3") == 0
    vault.close()
    assert vault_in(tmp_path).open(box) == b"words"


def test_nothing_is_sealed_with_a_master_key_that_a_dying_process_left_empty(vault: Vault, tmp_path: Path) -> None:
    """Rule: keys that are stored unwrapped, without a word, would be readable by whoever copies them."""
    (tmp_path / "store-master.key").touch()
    with pytest.raises(ConfigError, match=r"store-master\.key is empty: bring it back, or delete it"):
        vault.seal(ONE, b"words")
    (tmp_path / "store-master.key").unlink()
    assert vault.open(vault.seal(ONE, b"words")) == b"words"


def test_a_destroyed_key_is_gone_from_the_file_and_opens_nothing(vault: Vault, tmp_path: Path) -> None:
    """Rule: what was sealed with it is unreadable, here and in every copy; other mails are not touched.

    Nothing is sealed under its mail's id again: a new key would hide that the mail was forgotten.
    """
    box, other = vault.seal(ONE, b"words"), vault.seal(TWO, b"others")
    with vault.keys._open() as database, database.connect() as connection:
        wrapped = bytes(
            connection.exec_driver_sql("SELECT key FROM mail_keys WHERE mail_id = ?", (ONE,)).scalar() or b""
        )
    assert any(wrapped in path.read_bytes() for path in tmp_path.iterdir())
    vault.destroy([ONE, NEVER])
    vault.keys.purge()
    assert not any(wrapped in path.read_bytes() for path in tmp_path.iterdir())
    assert vault.keys.lost([ONE, TWO, NEVER]) == Lost(frozenset({ONE}), frozenset({NEVER}))
    with pytest.raises(PermanentError) as refused:
        vault.open(box)
    assert refused.value.code == "forgotten"
    assert vault.open(other) == b"others"
    with pytest.raises(PermanentError) as refused:
        vault.seal(ONE, b"again")
    assert refused.value.code == "forgotten"


def test_a_key_that_is_missing_is_not_one_that_was_destroyed(vault: Vault, tmp_path: Path) -> None:
    """Rule: beside an older copy of the keys nobody is taken for forgotten, and the error says what to put back."""
    vault.seal(ONE, b"words")
    vault.keys.purge()
    older = shutil.copytree(tmp_path, tmp_path / "older")
    box = vault.seal(TWO, b"newer")
    with pytest.raises(PermanentError, match="put back the keys of today") as refused:
        vault_in(older).open(box)
    assert refused.value.code == "no_key"


@given(place=st.integers(len(MAGIC), 87), flip=st.integers(1, 255))
def test_a_changed_value_is_never_other_words(place: int, flip: int) -> None:
    """Rule: whatever byte is changed, the value is refused, or is what it was."""
    vault = Vault(make_url("sqlite:///store.sqlite3"), KeySettings(seals=True), 5.0)
    vault._known[ONE] = AESGCM(KEY)
    box = bytearray(vault.seal(ONE, b"w" * 40))
    box[min(place, len(box) - 1)] ^= flip
    with pytest.raises((PermanentError, ConfigError)):  # a changed owner has no keys here
        vault.open(bytes(box))


def test_another_master_key_is_refused(vault: Vault, tmp_path: Path) -> None:
    """Failure: a store is opened with a wrong or new key, and seals what nobody will be able to read."""
    vault.seal(ONE, b"words")
    vault.close()
    other = vault_in(tmp_path, KeySettings(seals=True, master_key=SecretStr("00" * 32)))
    with pytest.raises(ConfigError, match="another one"):
        other.seal(TWO, b"more")
    other.close()
    (tmp_path / "store-master.key").unlink()
    with pytest.raises(ConfigError, match="missing"):
        vault_in(tmp_path).seal(TWO, b"more")
    with pytest.raises(ConfigError, match="openssl rand"):
        vault_in(tmp_path, KeySettings(seals=True, master_key=SecretStr("short"))).seal(TWO, b"more")


def test_keys_that_are_not_there_are_named(vault: Vault, tmp_path: Path) -> None:
    """Rule: a store without its keys says what is missing, and makes no new ones for reading."""
    box = vault.seal(ONE, b"words")
    vault.close()
    for path in tmp_path.glob("store-keys*"):
        path.unlink()
    with pytest.raises(ConfigError, match="no keys"):
        vault_in(tmp_path).open(box)
    assert not list(tmp_path.glob("store-keys*"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder.sqlite3", "unable to open database file"),
        ("text.sqlite3", "file is not a database"),
        (f"{'x' * 300}.sqlite3", "File name too long"),  # as in a folder that is closed to this user
    ],
)
def test_keys_that_no_second_try_opens_are_an_error_of_the_configuration(name: str, why: str, tmp_path: Path) -> None:
    """As of a store. Failure: "run it again", or an unexpected PermissionError."""
    (tmp_path / "folder.sqlite3").mkdir()
    (tmp_path / "text.sqlite3").write_bytes(b"no database" * 1000)
    vault = vault_in(tmp_path, KeySettings(seals=True, url=f"sqlite:///{tmp_path / name}"))
    with pytest.raises(ConfigError, match=re.escape(why)) as caught:
        vault.keys.check(may_create=True)
    assert "permissions" in str(caught.value)


@pytest.mark.parametrize("away", ["volume", "volume/keys.sqlite3"])
def test_keys_that_were_opened_once_are_tried_again(tmp_path: Path, away: str) -> None:
    """Failure: while their volume was away for a moment, the worker ended for good, as if its settings were wrong.
    Where the folder had stayed, an empty file was made, and the log beside it, with the newest keys, was lost.
    """
    volume = tmp_path / "volume"
    volume.mkdir()
    keys = vault_in(tmp_path, KeySettings(seals=True, url=f"sqlite:///{volume / 'keys.sqlite3'}")).keys
    keys.check(may_create=True)
    key = keys.stored("1" * 32, may_create=True)
    (tmp_path / away).rename(tmp_path / "elsewhere")
    with pytest.raises(TransientError, match=r"unable to open.*: bring its file back"):
        keys.stored("2" * 32, may_create=True)
    assert not (tmp_path / away).exists()
    (tmp_path / "elsewhere").rename(tmp_path / away)
    assert keys.stored("1" * 32, may_create=False) == key


@pytest.mark.parametrize("is_replaced", [False, True])
def test_no_new_key_is_stored_where_nobody_finds_it_again(tmp_path: Path, is_replaced: bool) -> None:
    """Failure: when the file was deleted or moved, open connections wrote new keys into it. After a restart what was
    sealed with them could not be read any more.
    """
    keys, path = vault_in(tmp_path).keys, tmp_path / "store-keys.sqlite3"
    keys.check(may_create=True)
    keys.close()
    older = path.read_bytes()
    key = keys.stored(ONE, may_create=True)
    (tmp_path / "elsewhere").mkdir()
    for file in tmp_path.glob("store-keys*"):
        file.rename(tmp_path / "elsewhere" / file.name)
    if is_replaced:
        path.write_bytes(older)
    with pytest.raises(TransientError, match="another file is in the place" if is_replaced else "bring its file back"):
        keys.stored(TWO, may_create=True)
    for file in (tmp_path / "elsewhere").iterdir():
        file.rename(tmp_path / file.name)
    assert keys.stored(ONE, may_create=False) == key
    assert keys.stored(TWO, may_create=True)


def test_links_to_keys_that_are_not_there_yet_are_new_keys(tmp_path: Path) -> None:
    """Failure: the first start ended, as the links took the names that the new files were to have."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("store-keys.sqlite3", "store-master.key"):
        (tmp_path / name).symlink_to(elsewhere / name)
    assert vault_in(tmp_path).keys.stored(ONE, may_create=True)
    assert {path.stat().st_mode & 0o777 for path in elsewhere.iterdir()} == {0o600}


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_keys_on_a_server_are_reached_as_the_store_is(tmp_path: Path, scheme: str) -> None:
    """Failure: `store.keys_url` on a server needed a driver that is not installed."""
    vault = vault_in(tmp_path, KeySettings(seals=True, url=f"{scheme}://anna@db/keys"))
    assert vault.keys.url.drivername == "postgresql+psycopg"
    assert vault.keys.files == ()


def test_the_master_key_is_changed_without_touching_the_store(vault: Vault, tmp_path: Path) -> None:
    """Rule: rotation wraps the keys again; the old master key opens nothing any more."""
    box, new = vault.seal(ONE, b"words"), SecretStr("11" * 32)
    old = tmp_path / "old"
    assert vault.keys.rotate(new) == 2
    vault.close()
    shutil.copytree(tmp_path, old)
    with pytest.raises(ConfigError, match="another one"):
        vault_in(old).open(box)
    after = vault_in(tmp_path, KeySettings(seals=True, master_key=new))
    assert after.open(box) == b"words"
    after.close()


def test_no_key_is_stored_with_a_master_key_that_another_process_has_replaced(vault: Vault, tmp_path: Path) -> None:
    """Failure: a process that was open during `keys rotate` wrapped new keys with the old master key, and with the
    new one those mails could not be read any more.
    """
    vault.seal(ONE, b"words")
    other, new = vault_in(tmp_path), SecretStr("11" * 32)
    other.keys.rotate(new)
    with pytest.raises(ConfigError, match="another one"):
        vault.seal(TWO, b"more")
    other.close()
    after = vault_in(tmp_path, KeySettings(seals=True, master_key=new))
    assert after.open(after.seal(TWO, b"more")) == b"more"
    assert after.keys.rotate(SecretStr("22" * 32)) == 3


@given(st.one_of(st.binary(), st.binary().map(lambda tail: MAGIC + tail)))
def test_bytes_come_back_without_encryption(plain: bytes) -> None:
    """Rule: no bytes of a mail are mistaken for sealed ones, though a sender chose them."""
    with using(None):
        assert opened(sealed(plain)) == plain


@given(st.one_of(st.text(), st.text().map(lambda tail: TEXT_MAGIC + tail)).filter(lambda t: t.isprintable() or True))
def test_text_and_json_come_back_without_encryption(plain: str) -> None:
    """Rule: as for bytes."""
    plain = plain.encode("utf-8", "replace").decode()
    with using(None):
        assert opened_text(sealed_text(plain)) == plain
        assert opened_json(sealed_json({"a": [plain, 1, None]})) == {"a": [plain, 1, None]}


def test_nothing_is_written_without_saying_whom_it_is_about(vault: Vault) -> None:
    """Rule: a write that names no mail fails, instead of storing plain words."""
    with using(vault), pytest.raises(PermanentError) as refused:
        sealed(b"words")
    assert refused.value.code == "unsealed"
    with using(vault), about(ONE):
        box = sealed_json({"said": "words"})
        text = sealed_text("words")
        assert "words" not in str(box) + text
        assert opened_json(box) == {"said": "words"}
        assert opened_text(text) == "words"
