"""Keys of the desk: each has one user, and what several keys may do is done once."""

from __future__ import annotations

from support_agent.store.desk_records import UsedKey
from support_agent.store.records import MailId
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, NOON

FIRST, SECOND = MailId("a" * 32), MailId("b" * 32)


def used(key: str, mail_id: MailId = FIRST, slot: str | None = None) -> UsedKey:
    return UsedKey(
        key=key,
        slot=slot or key,
        command="approve",
        case_id=CASE,
        mail_id=mail_id,
        who="ada@harborfile.example",
        used_at=NOON,
    )


def test_a_key_works_once(store: Store) -> None:
    assert store.used_keys.use(used("K1")) is None
    assert store.used_keys.use(used("K1", SECOND)) == used("K1")


def test_asking_for_an_earlier_use_uses_nothing(store: Store) -> None:
    assert [store.used_keys.earlier(used("K1", mail_id)) for mail_id in (FIRST, SECOND)] == [None, None]
    assert store.used_keys.use(used("K1", slot="answer")) is None
    assert store.used_keys.earlier(used("K1", slot="answer")) is None
    for key in ("K1", "K2"):
        assert store.used_keys.earlier(used(key, SECOND, slot="answer")) == used("K1", slot="answer")


def test_the_mail_that_used_a_key_may_use_it_again(store: Store) -> None:
    """A step that runs twice."""
    assert [store.used_keys.use(used("K1")) for _ in range(3)] == [None] * 3


def test_keys_that_share_a_slot_work_once_together(store: Store) -> None:
    """`approve` and `document` of one mail: whoever is first."""
    assert store.used_keys.use(used("K1", slot="answer")) is None
    assert store.used_keys.use(used("K2", SECOND, slot="answer")) == used("K1", slot="answer")
    assert store.used_keys.use(used("K3", SECOND)) is None
