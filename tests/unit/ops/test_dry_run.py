"""The dry run: the same decision and the same words as the journey, as one JSON line a mail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from support_agent.answer.sources import RenderedAnswer
from support_agent.app.dry_runs import dry_run_of
from support_agent.cases.decision import Decision
from support_agent.cli import case_printing
from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.mail.message import parse
from support_agent.ops.dry_run import DryRunResult, read_mail, temporary_store
from support_agent.store.mails import Mails
from support_agent.store.records import OutgoingKind
from support_agent.workflow.decide import Decider
from tests.contract.store.examples import CASE, case, cursor
from tests.dkim_signing import Names, make_key, sign
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, STRANGER, Office, with_agent, write

CANCEL = "How do I cancel?"
SEATS = "How many seats have we paid for?"
KEYS = ["file", "outcome", "reason", "level", "calls", "answer", "seconds", "forward_passes", "mode"]


def tried(
    office: Office, raw: bytes, *, as_level: int | None = None, as_customer: str | None = None, model: bool = True
) -> DryRunResult:
    def decider() -> Decider:
        assert model, "the model was asked for"
        return office.decider

    dry_run = dry_run_of(office.settings, office.decider.company, office.decider.templates, decider)
    return dry_run.try_mail("m.eml", raw, NOON, as_level=as_level, as_customer=as_customer)


def line(done: DryRunResult) -> dict[str, Any]:
    """What a script reads."""
    read = json.loads(done.line.model_dump_json())
    assert isinstance(read, dict)
    return read


def test_line_of_an_answered_mail_has_exactly_the_promised_keys(office: Office) -> None:
    """Every key, in its order and with its type."""
    read = line(tried(office, write(SEATS, sender=JAMES)))
    assert list(read) == KEYS
    assert (read["file"], read["outcome"], read["reason"], read["level"]) == ("m.eml", "answer", None, 3)
    assert [(call["tool"], call["args"]) for call in read["calls"]] == [
        ("find_documents", {"question": 1}),
        ("send_account_field", {"field": "seats_paid"}),
        ("finish", {}),
    ]
    assert all(list(call) == ["tool", "args", "confidence"] and 0.9 < call["confidence"] <= 1 for call in read["calls"])
    assert list(read["answer"]) == ["subject", "text", "html"]
    assert isinstance(read["seconds"], float)
    assert read["forward_passes"] > 0


def test_answer_is_what_the_journey_would_send(office: Office) -> None:
    """The dry run would be worth nothing if it showed other words."""
    raw = write(SEATS, sender=JAMES)
    mail_id, _ = office.handle(raw)
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    sent = RenderedAnswer.model_validate(record.spans)
    answer = line(tried(office, raw))["answer"]
    assert answer == {"subject": sent.subject.text, "text": sent.text.text, "html": sent.html.text}


def test_a_document_of_which_no_section_reaches_the_setting_goes_to_a_person(office: Office) -> None:
    """The same mail is answered below it."""
    planner = office.settings.planner.model_copy(update={"threshold_section": 1.0})
    strict = replace(office.decider, settings=office.settings.model_copy(update={"planner": planner}))
    assert line(tried(office, write(CANCEL)))["outcome"] == "answer"
    office.decider = strict
    assert [line(tried(office, write(CANCEL)))[key] for key in ("outcome", "reason")] == ["escalate", "unsure"]


@pytest.mark.parametrize(
    ("head", "words", "outcome", "reason", "model"),
    [
        (b"Precedence: bulk\r\n", SEATS, "filed", "S5", False),
        (b"", "Let me talk to a human.", "escalate", "person_asked_for", True),
    ],
)
def test_line_without_an_answer_has_the_same_keys_and_a_filed_mail_needs_no_model(
    office: Office, head: bytes, words: str, outcome: str, reason: str, model: bool
) -> None:
    """Filed and escalated by a rule: nulls, an empty list and zeros where an answer has values."""
    read = line(tried(office, head + write(words, sender=JAMES), model=model))
    assert list(read) == KEYS
    assert (read["outcome"], read["reason"]) == (outcome, reason)
    assert (read["calls"], read["answer"], read["forward_passes"]) == ([], None, 0)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (write("Let me talk to a human."), "person_asked_for"),
        (write(SEATS, sender=JAMES).replace(b"To: support@", b"To: nobody@"), "screening"),
        (write("What is the weather like?"), "not_covered"),
        (write(SEATS, proof=None), "level"),
        (write(CANCEL, sender="j\u00fcrgen@example.org"), "unwritable"),
        (write(CANCEL, sender=DESK, proof="spf"), "unproven_ours"),
    ],
)
def test_reason_is_the_code_that_the_store_has(office: Office, raw: bytes, reason: str) -> None:
    """Failure: a dry run said "S10" where the journey says "screening", so that the two could not be compared."""
    mail_id, _ = office.handle(raw)
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert line(tried(office, raw))["reason"] == mail.reason_code == reason


def test_answer_to_an_address_that_cannot_be_written_to_is_not_promised(office: Office) -> None:
    """Failure: an answer was shown which the journey never makes; it says why."""
    done = tried(office, write(CANCEL, sender="j\u00fcrgen@example.org"))
    assert (done.line.outcome, done.line.reason, done.line.answer) == ("escalate", "unwritable", None)
    assert (
        "outcome    escalate: unwritable: j\u00fcrgen@example.org has characters before the @"
        in case_printing.dry_run(done)
    )
    assert line(tried(office, write(CANCEL, sender="jurgen@example.org")))["outcome"] == "answer"


def test_answer_that_the_gate_refuses_escalates(office: Office) -> None:
    """As in the journey; the reason names the gate, and the calls that were made are still shown."""
    read = line(tried(office.with_templates(answer="Hello.\n"), write(SEATS, sender=JAMES)))
    assert (read["outcome"], read["answer"]) == ("escalate", None)
    assert read["reason"] == "gate_refused"
    assert "send_account_field" in [call["tool"] for call in read["calls"]]


def test_decision_that_fails_escalates_and_the_next_mail_is_still_tried(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the journey, where a person gets such a mail: no run of a hundred files ends at one of them."""

    def broken(*_: object, **__: object) -> Decision:
        raise PermanentError("the accounts cannot be read", code="accounts")

    monkeypatch.setattr(Decider, "decide", broken)
    read = line(tried(office, write(SEATS, sender=JAMES)))
    assert (read["outcome"], read["reason"]) == ("escalate", "accounts")
    assert (read["calls"], read["answer"]) == ([], None)


def test_level_and_customer_can_be_assumed(office: Office) -> None:
    """What would be answered if the mail proved less, or came from somebody else."""
    raw = write(SEATS, sender=JAMES)
    assert line(tried(office, raw, as_level=0))["level"] == 0
    assert line(tried(office, raw, as_level=2))["outcome"] == "escalate"
    stranger = write(SEATS, sender=STRANGER, proof=None)
    assert line(tried(office, stranger))["level"] == 0
    as_anna = line(tried(office, stranger, as_customer=ANNA))
    assert (as_anna["level"], as_anna["outcome"]) == (3, "answer")
    assert "Anna Keller" in as_anna["answer"]["text"]
    assert line(tried(office, stranger, as_customer=ANNA, as_level=1))["level"] == 1
    with pytest.raises(ConfigError, match=f"no customer has the address '{DESK}'"):
        tried(office, stranger, as_customer=DESK)


def test_file_that_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    """Missing, or a folder."""
    for path in (tmp_path / "missing.eml", tmp_path):
        with pytest.raises(ConfigError, match=rf"{path}: .*: name a readable \.eml file"):
            read_mail(path, 10_000)


def test_s15_of_a_file_above_the_size_limit_only_the_beginning_is_read(office: Office, tmp_path: Path) -> None:
    """Failure: `try` answered a mail that the mailbox would not have read whole, and held all of it in memory."""
    raw = write(CANCEL)
    path = tmp_path / "a.eml"
    path.write_bytes(raw)
    assert read_mail(path, len(raw)) == raw
    assert line(tried(office, read_mail(path, len(raw))))["outcome"] == "answer"
    cut = read_mail(path, len(raw) - 1)
    assert cut.endswith(raw[:-1])
    assert parse(cut).defects == (f"limit: more than imap.max_message_bytes = {len(raw) - 1}",)
    read = line(tried(office, cut))
    assert (read["outcome"], read["reason"]) == ("escalate", "screening")


def test_s21_our_own_check_of_signatures_counts_here_too(office: Office) -> None:
    """Where `agent.verify_dkim` is on; the DNS is asked as the journey would ask it."""
    key = make_key()
    lookup = Names({"s1._domainkey.example.net": key.record})
    raw = sign(write(SEATS, proof=None), key, "example.net")
    for verifies, level in ((False, 0), (True, 3)):
        house = replace(with_agent(office, verify_dkim=verifies), lookup_txt=lookup)
        assert house.dry_run.try_mail("m.eml", raw, NOON).line.level == level
        assert len(lookup.asked) == int(verifies)


def test_a_workspace_that_is_not_filled_in_yet_can_be_tried(office: Office) -> None:
    """Failure: without an address of ours every mail was for somebody else, and went to a person."""
    desk = office.settings.desk.model_copy(update={"address": ""})
    agent = office.settings.agent.model_copy(update={"address": "", "secret": SecretStr("")})
    bare = replace(office, settings=office.settings.model_copy(update={"agent": agent, "desk": desk}))
    assert line(tried(bare, write(SEATS, sender=JAMES)))["outcome"] == "answer"


@pytest.mark.parametrize("pause_file", ["paused", "."])
def test_a_paused_agent_can_be_tried(office: Office, tmp_path: Path, pause_file: str) -> None:
    """Rule: the pause stops what goes to customers, not what an admin looks at."""
    paused = with_agent(office, pause_file=tmp_path / pause_file, paused=True)
    (tmp_path / "paused").touch()
    assert line(tried(paused, write(SEATS, sender=JAMES)))["outcome"] == "answer"


def test_a_mail_that_meets_a_defect_escalates_and_the_next_is_still_tried(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: as the worker does; a database that is busy once is asked again."""
    errors: list[Exception] = [TransientError("busy", code="database"), RecursionError("too deep")]
    real = Mails.save_screening

    def failing(mails: Mails, *values: Any) -> None:
        if errors:
            raise errors.pop(0)
        real(mails, *values)

    monkeypatch.setattr(Mails, "save_screening", failing)
    read = [line(tried(office, write(SEATS, sender=JAMES))) for _ in range(2)]
    assert [(one["outcome"], one["reason"]) for one in read] == [("escalate", "unexpected"), ("answer", None)]


def test_a_mail_that_would_have_to_wait_is_held(office: Office) -> None:
    """Rule: it is said, whatever limit a configuration has."""
    tried_out = office.dry_run
    with temporary_store() as store:
        older = store.mails.record(write(CANCEL, sender=JAMES), "<1@x.example>", cursor(1), NOON).id
        later = store.mails.record(write(SEATS, sender=JAMES), "<2@x.example>", cursor(2), NOON).id
        store.cases.open(case(), older)
        store.cases.join(later, CASE)
        assert tried_out.run("m.eml", store, later, NOON).line.outcome == "held"
