"""Labels: what people did with mails, once each, undone without being lost."""

from __future__ import annotations

from support_agent.store.desk_records import LabelOutcome
from support_agent.store.store import Store
from tests.contract.store.examples import MINUTE, NOON, label, record

SAME, OTHER, OWN, NOTHING = LabelOutcome


def test_a_label_is_kept_once(store: Store) -> None:
    """A step that runs twice, perhaps a second later."""
    mail_id = record(store)
    first = store.labels.add(label(mail_id))
    assert store.labels.add(label(mail_id, at=NOON + MINUTE)) == first
    assert store.labels.of(mail_id) == store.labels.valid() == (first,)


def test_the_last_label_of_a_mail_is_valid(store: Store) -> None:
    """A person undid an answer, and then wrote."""
    mail_id = record(store)
    store.labels.add(label(mail_id, NOTHING))
    second = store.labels.add(label(mail_id, OWN))
    assert (second.number, store.labels.valid()) == (2, (second,))
    assert [kept.outcome for kept in store.labels.of(mail_id)] == [NOTHING, OWN]


def test_an_undone_label_gives_way_to_the_one_before_it(store: Store) -> None:
    mail_id = record(store)
    first, second = store.labels.add(label(mail_id)), store.labels.add(label(mail_id, OTHER))
    assert store.labels.undo(mail_id, NOON) == second
    assert store.labels.valid() == (first,)
    assert store.labels.undo(mail_id, NOON) == first
    assert (store.labels.valid(), store.labels.undo(mail_id, NOON)) == ((), None)
    assert [kept.undone_at for kept in store.labels.of(mail_id)] == [NOON, NOON]


def test_valid_labels_come_in_the_order_in_which_they_were_made(store: Store) -> None:
    late, early = record(store, 1), record(store, 2)
    store.labels.add(label(late, at=NOON + MINUTE))
    store.labels.add(label(early))
    assert [kept.mail_id for kept in store.labels.valid()] == [early, late]
