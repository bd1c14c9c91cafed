"""Chains of seals; row S23. That they hold is our border server's word, so the signatures here are no signatures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.senders.arc import sealed_results, tag_list
from support_agent.mail.senders.identity import identify
from tests.unit.mail.mails import AGENT, with_header

OURS = "Authentication-Results: mx.harborfile.example; dmarc=fail header.from=example.net; arc=pass"
LIST = "lists.example.org"
SECOND = "relay.example.com"
SEEN = "dkim=pass header.d=example.net; dmarc=pass header.from=example.net"


def arc_set(number: int, sealer: str, results: str, cv: str | None = None) -> list[str]:
    cv = cv or ("none" if number == 1 else "pass")
    return [
        f"ARC-Seal: i={number}; a=rsa-sha256; t=1763640000; cv={cv};\r\n d={sealer}; s=arc; b=AAAA",
        f"ARC-Message-Signature: i={number}; a=rsa-sha256; c=relaxed/relaxed; d={sealer}; s=arc; h=from; bh=A; b=A",
        f"ARC-Authentication-Results: i={number}; mx.{sealer}; {results}",
    ]


ONE = arc_set(1, LIST, SEEN)
TWO = [*arc_set(2, SECOND, "dmarc=fail header.from=example.net; arc=pass"), *ONE]


def level(*lines: str, sealers: tuple[str, ...] = (LIST,)) -> tuple[int, str]:
    agent = AGENT.model_copy(update={"arc_sealers": sealers})
    sender = identify(with_header("plain_question", *lines), agent, lambda address: False)
    return sender.level, sender.why


def test_s23_a_sealer_is_believed_only_where_it_is_configured() -> None:
    assert level(OURS, *ONE)[0] == 2
    assert level(OURS, *ONE, sealers=("LISTS.example.org",))[0] == 2
    assert level(OURS, *ONE, sealers=())[0] == 0
    assert level(OURS, *ONE, sealers=("example.org",))[0] == 0
    assert level(OURS, *ONE)[1] == (
        "dmarc=pass for example.net, as seen and sealed by lists.example.org (arc=pass), not a known customer"
    )


def test_s23_every_sealer_of_the_chain_must_be_configured() -> None:
    """The last one could have written the sets before it."""
    assert level(OURS, *TWO, sealers=(LIST, SECOND))[0] == 2
    assert level(OURS, *TWO, sealers=(LIST,))[0] == 0
    assert level(OURS, *TWO, sealers=(SECOND,))[0] == 0


@pytest.mark.parametrize("result", ["arc=fail", "arc=none", "arc=pass; arc=fail", "x-arc=pass", "spf=none"])
def test_s23_our_own_server_must_have_found_the_chain_whole(result: str) -> None:
    assert level(OURS.replace("arc=pass", result), *ONE)[0] == 0


def test_s23_the_word_of_a_forged_header_does_not_do() -> None:
    forged = OURS.replace("mx.harborfile.example", "mx.evil.example")
    assert level(forged, *ONE)[0] == 0
    assert (
        level("Authentication-Results: mx.harborfile.example; dmarc=fail header.from=example.net", OURS, *ONE)[0] == 0
    )


@pytest.mark.parametrize(
    "results",
    [
        "dmarc=fail header.from=example.net",
        "dmarc=pass header.from=example.org",
        "spf=pass smtp.mailfrom=lists.example.org",
        "dkim=pass header.d=evil.example",
        "none",
        "dmarc=pass (unclosed",
    ],
)
def test_s23_what_the_sealer_saw_is_judged_like_what_we_see(results: str) -> None:
    assert level(OURS, *arc_set(1, LIST, results))[0] < 2


def test_s23_an_aligned_pass_that_the_sealer_saw_proves_the_domain_too() -> None:
    assert level(OURS, *arc_set(1, LIST, "dkim=pass header.d=example.net"))[0] == 2


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ONE[1:],
        ONE[:2],
        [ONE[0], ONE[2]],
        [*ONE, ONE[0]],
        [*ONE, ONE[2]],
        arc_set(2, LIST, SEEN),
        [*arc_set(3, LIST, SEEN), *ONE],
        arc_set(1, LIST, SEEN, cv="pass"),
        arc_set(1, LIST, SEEN, cv="fail"),
        [*arc_set(2, LIST, SEEN, cv="none"), *ONE],
        [*arc_set(2, LIST, SEEN, cv="fail"), *ONE],
        [line.replace("i=1", "i=0") for line in ONE],
        [line.replace("i=1", "i=01") for line in ONE],
        [line.replace("i=1", "i=1000") for line in ONE],
        [ONE[0].replace("d=", "x="), *ONE[1:]],
        [ONE[0] + "; d=lists.example.org", *ONE[1:]],
        [*ONE[:2], ONE[2].replace("i=1; ", "")],
    ],
)
def test_s23_a_chain_with_a_gap_a_double_or_a_failed_link_is_none(lines: list[str]) -> None:
    assert level(OURS, *lines)[0] == 0


def test_s23_the_tags_of_a_seal_may_come_in_any_order() -> None:
    seal = "ARC-Seal: a=rsa-sha256; cv=none; d=Lists.Example.org; s=arc; b=AA; i = 1 ;"
    assert level(OURS, seal, *ONE[1:])[0] == 2


def test_a_tag_list_is_read_or_refused() -> None:
    assert tag_list("a=1; b = x=y ;\r\n c=;") == {"a": "1", "b": "x=y", "c": ""}
    for text in ("", ";", "a", "a=1;;b=2", "a=1; a=2", "=1", "1=a"):
        assert tag_list(text) is None


@given(st.lists(st.sampled_from([*TWO, "ARC-Seal: x", "ARC-Authentication-Results: i=", OURS]), max_size=9))
def test_s23_any_order_and_number_of_fields_is_one_whole_chain_or_none(lines: list[str]) -> None:
    sealed = sealed_results(with_header("plain_question", *lines), {LIST, SECOND})
    if sealed is not None:
        assert sealed.sealers in ((LIST,), (LIST, SECOND))
        assert {line for line in lines if line.startswith("ARC")} in (set(ONE), set(TWO))
