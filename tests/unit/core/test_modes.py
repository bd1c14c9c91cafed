"""The modes of autonomy and their order; the keys of documents."""

from __future__ import annotations

from support_agent.core.modes import Mode, document_key, document_of

OFF, SHADOW, APPROVE, AUTO = Mode


def test_the_modes_go_from_the_strictest_to_the_freest() -> None:
    assert sorted(Mode, key=lambda mode: mode.rank) == [OFF, SHADOW, APPROVE, AUTO]


def test_only_shadow_and_approve_propose() -> None:
    assert [mode for mode in Mode if mode.is_proposed] == [SHADOW, APPROVE]


def test_a_documents_key_names_its_number_and_no_other_key_does() -> None:
    assert (document_key(12), document_of("document:12")) == ("document:12", 12)
    assert [document_of(key) for key in (None, "field:plan", "question:1")] == [None] * 3
