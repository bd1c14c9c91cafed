"""Brands: further mailboxes in one process, each with a configuration of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support_agent.config.database_url import database_identity
from support_agent.config.loading import load, load_brands
from support_agent.errors import ConfigError
from support_agent.ops.check import check_file

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
PASSWORD_VARIABLE = "SUPPORT_AGENT__IMAP__PASSWORD"


BRAND = "[brands]\nis_brand = true\n"


def write(folder: Path, address: str, text: str = "") -> Path:
    """A configuration in a folder of its own; `text` continues its section `[imap]`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "support-agent.toml"
    path.write_text(
        f'[agent]\naddress = "{address}"\n[imap]\nhost = "mail.example"\nuser = "{address}"\n{text}', "utf-8"
    )
    return path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A mailbox with the brand `shop`."""
    write(tmp_path / "shop", "support@shop.example", BRAND)
    return write(tmp_path, "support@main.example", '[brands]\nfiles = { shop = "shop/support-agent.toml" }\n')


def test_a_brand_has_its_own_address_store_and_files(two: Path) -> None:
    """Its paths count from its own file."""
    (shop,) = load_brands(load(two)).values()
    assert shop.agent.address == "support@shop.example"
    assert shop.company.policies == two.parent / "shop" / "policies"
    assert shop.store.url == f"sqlite:///{two.parent / 'shop' / 'support-agent.sqlite3'}"


def test_environment_variables_hold_for_the_first_mailbox_alone(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a brand would sign in with the password of another, also in a command for it alone."""
    monkeypatch.setenv(PASSWORD_VARIABLE, "secret of main")
    settings = load(two)
    assert settings.imap.password.get_secret_value() == "secret of main"
    assert load_brands(settings)["shop"].imap.password.get_secret_value() == ""
    assert load(settings.brands.files["shop"]).imap.password.get_secret_value() == ""


def test_a_password_stands_in_a_file(two: Path) -> None:
    """So that a brand needs no environment, and the configuration has no secret."""
    shop = write(two.parent / "shop", "support@shop.example", f'password_file = "imap.password"\n{BRAND}')
    (shop.parent / "imap.password").write_text("secret of shop\n", "utf-8")
    assert load_brands(load(two))["shop"].imap.password.get_secret_value() == "secret of shop"


@pytest.mark.parametrize(("content", "what"), [(None, "cannot be read"), ("\n", "empty")])
def test_a_password_file_without_a_password_is_refused(tmp_path: Path, content: str | None, what: str) -> None:
    path = write(tmp_path, "support@main.example", 'password_file = "imap.password"\n')
    if content is not None:
        (tmp_path / "imap.password").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=rf"imap\.password_file .*{what}"):
        load(path)


@pytest.mark.parametrize(
    ("address", "text", "shared"),
    [
        ("support@shop.example", '[store]\nurl = "sqlite:///../support-agent.sqlite3"\n', "store.url"),
        ("support@shop.example", '[chroma]\npath = "../chroma"\n', "chroma.path"),
        ("Support@main.example", "", "agent.address or agent.aliases"),
    ],
)
def test_what_each_brand_needs_for_itself_is_not_shared(two: Path, address: str, text: str, shared: str) -> None:
    """Two agents on one store, one mailbox or one address would answer each other's mail."""
    write(two.parent / "shop", address, text + BRAND)
    with pytest.raises(ConfigError, match=f"shop and this mailbox have the same {shared}: each needs its own"):
        load_brands(load(two))


def test_each_brand_needs_keys_of_its_own_beside_its_own_file(tmp_path: Path) -> None:
    """The same mail to two brands has one id: what one of them forgets, the other could not read any more."""
    files = '[brands]\nfiles = { shop = "shop/support-agent.toml" }\n'
    main = write(tmp_path, "support@main.example", '[store]\nkeys_url = "sqlite:///k.sqlite3"\n' + files)
    write(tmp_path / "shop", "support@shop.example", '[store]\nkeys_url = "sqlite:///k.sqlite3"\n' + BRAND)
    assert load_brands(load(main))["shop"].store.keys_url == f"sqlite:///{tmp_path}/shop/k.sqlite3"
    write(tmp_path / "shop", "support@shop.example", '[store]\nkeys_url = "sqlite:///../k.sqlite3"\n' + BRAND)
    with pytest.raises(ConfigError, match=r"the same store\.keys_url, or its default: each needs its own"):
        load_brands(load(main))


@pytest.mark.parametrize(
    "store", ['url = "sqlite:///../support-agent.db"', 'keys_url = "sqlite:///../support-agent-keys.sqlite3"']
)
def test_no_brand_takes_the_keys_that_another_has_by_default(two: Path, store: str) -> None:
    """Failure: stores of one name with two endings had one file of keys, and so had a brand that named the default."""
    write(two.parent / "shop", "support@shop.example", f"[store]\n{store}\n{BRAND}")
    with pytest.raises(ConfigError, match=r"the same store\.keys_url, or its default: each needs its own"):
        load_brands(load(two))


def test_no_brand_takes_the_master_key_of_another(two: Path) -> None:
    """Failure: two files of keys had one master key beside them; changed for one, it was lost for the other."""
    two.write_text(two.read_text("utf-8") + '[store]\nkeys_url = "sqlite:///k-keys.sqlite3"\n', "utf-8")
    write(two.parent / "shop", "support@shop.example", f'[store]\nkeys_url = "sqlite:///../k-keys.db"\n{BRAND}')
    with pytest.raises(ConfigError, match=r"the same master key beside store\.keys_url: each needs its own"):
        load_brands(load(two))


@pytest.mark.parametrize(
    ("url", "other", "is_one"),
    [
        ("postgresql://a:secret@DB.example/mails", "postgres://b@db.example:5432/mails?sslmode=require", True),
        ("postgresql://a@db.example/mails", "postgresql+psycopg://a@db.example/mails", True),
        ("postgresql://a@db.example/mails", "postgresql://a@db.example/others", False),
        ("postgresql://a@db.example/mails", "postgresql://a@db.example:5433/mails", False),
        ("postgresql://a@one.example/mails?host=db", "postgresql://a@two.example/mails?host=db", True),
        ("postgresql://a@db.example/?dbname=x", "postgresql://a@db.example/?dbname=y", False),
        ("postgresql://a@localhost/mails", "postgresql://a@/mails?host=/var/run/postgresql", True),
        ("sqlite:////srv/mails.sqlite3", "sqlite+pysqlite:////srv/x/../mails.sqlite3", True),
        ("sqlite:////srv/mails.sqlite3", "sqlite:////srv/others.sqlite3", False),
    ],
)
def test_one_database_under_two_urls_is_one(url: str, other: str, is_one: bool) -> None:
    assert (database_identity(url) == database_identity(other)) is is_one


def test_a_mailbox_in_another_spelling_is_the_same(two: Path) -> None:
    text = f'host = "Mail.example."\nuser = "support@main.example"\nfolder = "inbox"\n{BRAND}'
    shop = two.parent / "shop" / "support-agent.toml"
    shop.write_text(f'[agent]\naddress = "support@shop.example"\n[imap]\n{text}', "utf-8")
    with pytest.raises(ConfigError, match=r"the same imap\.host, user and folder"):
        load_brands(load(two))


def test_a_configuration_that_reads_the_environment_is_no_brand(two: Path) -> None:
    write(two.parent / "shop", "support@shop.example")
    with pytest.raises(ConfigError, match="shop does not say that it is a brand: write is_brand = true"):
        load_brands(load(two))


def test_a_brand_has_no_brands(two: Path) -> None:
    """One configuration names all, so that none is served twice."""
    write(two.parent / "shop", "support@shop.example", '[brands]\nfiles = { other = "x.toml" }\n')
    with pytest.raises(ConfigError, match="shop has brands itself"):
        load_brands(load(two))


def test_check_names_what_is_wrong_in_a_brands_file_and_between_brands(two: Path) -> None:
    shop = write(two.parent / "shop", "support@main.example", BRAND)
    findings = check_file(two, NOON)
    assert any(finding.path == shop for finding in findings)
    (between,) = [finding for finding in findings if "have the same" in finding.what]
    assert (between.path, between.line, between.todo) == (two, 7, "each needs its own")


def test_check_names_a_brands_file_that_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path, "support@main.example", '[brands]\nfiles = { shop = "shop/support-agent.toml" }\n')
    (missing,) = [finding for finding in check_file(path, NOON) if "shop/support-agent.toml" in str(finding)]
    assert "no such file" in missing.what


def test_check_names_a_brands_file_that_is_no_toml_once(two: Path) -> None:
    shop = two.parent / "shop" / "support-agent.toml"
    shop.write_text("[agent\n", "utf-8")
    (broken,) = [finding for finding in check_file(two, NOON) if str(shop) in str(finding)]
    assert (broken.path, broken.line) == (shop, 1)
