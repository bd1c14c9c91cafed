"""Ids and headers that we know again, and nobody can forge (S9, S42, S50)."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from support_agent.errors import ConfigError
from support_agent.mail import keys

SECRET = SecretStr("k" * 32)
OTHER = SecretStr("o" * 32)


def own_id(case_id: str = "case-1", mail_id: str = "1", kind: str = "answer", secret: SecretStr = SECRET) -> str:
    return keys.message_id(secret, "harborfile.example", case_id, mail_id, kind)


def test_s42_the_same_mail_has_the_same_id_on_each_try_and_on_each_machine() -> None:
    expected = "<sa.3349c22325e7fe5639f496c1.58c01db8ab38f7dc2a7950a0f0c8a8c7@harborfile.example>"
    assert own_id() == own_id() == expected


def test_s42_different_mails_have_different_ids() -> None:
    """Also where the parts would be the same characters in a row."""
    ids = {own_id(), own_id("case-2"), own_id(mail_id="2"), own_id(kind="packet"), own_id(secret=OTHER)}
    ids |= {own_id("case-11", "1"), own_id("case-1", "11"), own_id("a", "1", "b"), own_id("a1", "1", "b")}
    assert len(ids) == 9


def test_s9_our_ids_verify_and_others_do_not() -> None:
    assert keys.is_own_message_id((SECRET,), own_id())
    assert keys.is_own_message_id((SECRET,), own_id().replace("harborfile.example", "gateway.example"))
    assert not keys.is_own_message_id((OTHER,), own_id())
    assert not keys.is_own_message_id((SECRET,), "<plain@mail.example.net>")


def test_s9_an_id_with_one_digit_changed_does_not_verify() -> None:
    genuine = own_id()
    for index in range(4, genuine.index("@")):
        if genuine[index] != ".":
            forged = genuine[:index] + ("1" if genuine[index] == "0" else "0") + genuine[index + 1 :]
            assert not keys.is_own_message_id((SECRET,), forged)


def test_s50_an_origin_header_tells_its_hops_and_whether_it_is_ours() -> None:
    value = keys.origin_header(SECRET, own_id(), 2)
    assert keys.read_origin((SECRET,), value) == keys.Origin(hops=2, is_ours=True)
    assert keys.read_origin((OTHER,), value) == keys.Origin(hops=2, is_ours=False)
    assert keys.read_origin((SECRET,), value.replace("hops=2", "hops=1")) == keys.Origin(hops=1, is_ours=False)
    assert keys.read_origin((SECRET,), "v2; hops=1") is None


@pytest.mark.parametrize("secret", ["", "short", "x" * 31])
def test_a_short_key_signs_nothing_and_verifies_nothing(secret: str) -> None:
    with pytest.raises(ConfigError, match=r"agent\.secret"):
        own_id(secret=SecretStr(secret))
    assert not keys.is_own_message_id((SecretStr(secret),), own_id())
    origin = keys.read_origin((SecretStr(secret),), keys.origin_header(SECRET, own_id(), 1))
    assert origin == keys.Origin(hops=1, is_ours=False)


def test_the_case_id_cannot_be_read_from_the_id() -> None:
    assert "case-1" not in own_id()


@pytest.mark.parametrize("secret", ["", "k" * 31])
def test_an_empty_or_short_key_opens_no_command_of_the_desk(secret: str) -> None:
    """Rule: it verifies nothing, and a mail that tries is no error that stops the worker."""
    key = keys.desk_key(SECRET, "approve", "packet-1")
    assert not keys.is_desk_key([SecretStr(secret)], key, "approve", "packet-1")
    assert keys.is_desk_key([SecretStr(secret), SECRET], key, "approve", "packet-1")
