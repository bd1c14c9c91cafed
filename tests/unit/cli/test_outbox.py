"""`support-agent outbox`: what it prints and exits with, and that a choice that is refused changes nothing (S62).

What a choice does is checked by tests/unit/outbound/test_outbox_choices.py.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support_agent.cli import main as cli
from support_agent.outbound.outbox_choices import OutboxChoice
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.lock import only_process
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.transport.submission import Delivery
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.reporting import cancelled, proposed

READY, SENDING, SENT = OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
PROPOSED, CANCELLED = OutboxStatus.PROPOSED, OutboxStatus.CANCELLED
REFUND, CANCEL, OFF_TOPIC = "Can I get a refund?", "How do I cancel?", "Do you have a table for four on Saturday?"


class Done(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that an error is; nothing was printed beside it."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        return line


Run = Callable[..., Done]


@pytest.fixture
def run(office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`support-agent outbox` with these arguments, in a workspace with the office's store, an hour after noon."""
    company = office.settings.company
    shutil.copytree(company.policies, tmp_path / "policies")
    (tmp_path / "support-agent.toml").write_text(
        f'[store]\nurl = "{office.store.database.url}"\n[company]\nname = "{company.name}"\n'
        f'templates = "{company.templates}"\naccounts = "{company.accounts}"\n'
    )
    monkeypatch.setattr("support_agent.cli.outbox.now", lambda: NOON + timedelta(hours=1))
    monkeypatch.chdir(tmp_path)

    def run_program(*arguments: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            cli.main(["outbox", *arguments])
        assert isinstance(exit_.value.code, int)
        return Done(exit_.value.code, *capsys.readouterr())

    return run_program


def answer(office: Office, status: OutboxStatus, text: str = REFUND, sender: str = JAMES) -> OutboxRecord:
    """An answer that the server has made this of."""
    if status.is_unsent:
        return proposed(office, sender) if status is PROPOSED else cancelled(office, sender)
    said = "retry" if status in (READY, SENDING) else status.value
    office.transport.deliveries = [Delivery.model_validate({"status": said, "detail": "421 later"})]
    mail_id, _ = office.handle(write(text, sender=sender))
    record = office.sent(mail_id)[OutgoingKind.ANSWER]
    if status is SENDING:
        assert office.store.outbox.claim(record.id, NOON + timedelta(days=1))
    return now(office, record)


def now(office: Office, record: OutboxRecord) -> OutboxRecord:
    found = office.store.outbox.get(record.id)
    assert found is not None
    return found


def everything(office: Office) -> tuple[object, ...]:
    """All that a choice might change."""
    outbox = office.store.outbox.find()
    settled = [office.store.deliveries.of(record.id) for record in outbox]
    return outbox, settled, office.store.mails.find(), office.store.suppressions.all(NOON)


# The list


def test_what_is_not_known_to_be_out_is_a_table(run: Run, office: Office) -> None:
    """S62: each with its state, age, tries, recipient, case and the server's last word; the oldest first."""
    uncertain = answer(office, UNCERTAIN)
    answer(office, SENT, CANCEL, ANNA)
    waiting = answer(office, READY, REFUND, ANNA)
    done = run()
    assert (done.code, done.err) == (0, "")
    head, *lines = done.out.splitlines()
    assert head.split() == [
        "ID", "KIND", "STATUS", "AGE", "TRIES", "NEXT", "TRY", "RECIPIENT", "CASE", "LAST", "WORD",
    ]  # fmt: skip
    rows = [line for line in lines if "failure" not in line]
    wanted = [(record, status) for record, status in ((uncertain, "uncertain"), (waiting, "ready"))]
    for line, (record, status) in zip([row for row in rows if DESK not in row], wanted, strict=True):
        next_try = f"{record.next_try_at:%Y-%m-%d %H:%M}" if status == "ready" else "-"
        cells = (record.id, "answer", status, "59 min", next_try, record.recipient, str(record.case_id), "421 later")
        assert [cell for cell in cells if cell not in line] == []


def test_list_for_scripts_is_json(run: Run, office: Office) -> None:
    """One line, whose keys are a promise; a mail that waits says when it is tried next."""
    uncertain, waiting = answer(office, UNCERTAIN), answer(office, READY, REFUND, ANNA)
    done = run("--json")
    assert (done.code, done.err) == (0, "")
    found = {entry["outbox_id"]: entry for entry in json.loads(done.out)}
    told = found[uncertain.id]
    assert 3_500 < told.pop("age_s") < 3_600
    assert told == {
        "outbox_id": uncertain.id,
        "status": "uncertain",
        "kind": "answer",
        "recipient": JAMES,
        "case_id": uncertain.case_id,
        "attempts": 1,
        "next_try_at": None,
        "detail": "421 later",
    }
    assert found[waiting.id]["next_try_at"] is not None


def test_who_looks_at_the_outbox_reads_that_the_agent_is_paused(run: Run, office: Office, tmp_path: Path) -> None:
    """That is why it waits; on stderr, so that a script reads data alone."""
    answer(office, READY)
    (tmp_path / "paused").write_text("wrong policy")
    done = run("--json")
    assert (done.code, len(json.loads(done.out))) == (0, 1)
    assert done.err.startswith("support-agent: paused: wrong policy")


def test_an_outbox_with_nothing_open_says_so(run: Run, office: Office) -> None:
    answer(office, SENT)
    assert run() == (0, "no mail waits, is uncertain or failed\n", "")
    assert run("--json") == (0, "[]\n", "")


def test_a_servers_words_do_not_draw_on_the_screen(run: Run, office: Office) -> None:
    """Failure: a hostile server's reply clears the operator's terminal, or forges a second line."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 \x1b[2Jno\r\nforged  sent")]
    office.handle(write(REFUND, sender=JAMES))
    done = run()
    assert "\x1b" not in done.out
    assert [line for line in done.out.splitlines() if line.startswith("forged")] == []
    assert "\x1b" not in run("--json").out


# The choices

MAY: dict[tuple[OutboxChoice, OutboxStatus], tuple[OutboxStatus, str]] = {
    (OutboxChoice.APPROVE, PROPOSED): (READY, "ready"),
    (OutboxChoice.APPROVE, READY): (READY, "ready, as before"),
    (OutboxChoice.UNDO, PROPOSED): (CANCELLED, "cancelled"),
    (OutboxChoice.UNDO, READY): (CANCELLED, "cancelled"),
    (OutboxChoice.UNDO, CANCELLED): (CANCELLED, "cancelled, as before"),
    (OutboxChoice.RETRY, UNCERTAIN): (READY, "ready"),
    (OutboxChoice.RETRY, FAILED): (READY, "ready"),
    (OutboxChoice.RETRY, READY): (READY, "ready, as before"),
    (OutboxChoice.SENT, UNCERTAIN): (SENT, "sent"),
    (OutboxChoice.SENT, SENT): (SENT, "sent, as before"),
    (OutboxChoice.GIVE_UP, UNCERTAIN): (FAILED, "failed"),
    (OutboxChoice.GIVE_UP, READY): (FAILED, "failed"),
    (OutboxChoice.GIVE_UP, FAILED): (FAILED, "failed"),
}
NOT_PROPOSED, NOT_WANTED = "only a proposed answer is approved", "a person did not want it sent"
TO_APPROVE = "a person must approve it first: `support-agent outbox approve`"
REFUSED = {
    **{(OutboxChoice.APPROVE, status): NOT_PROPOSED for status in (SENDING, UNCERTAIN, FAILED)},
    **{(choice, CANCELLED): NOT_WANTED for choice in OutboxChoice if choice is not OutboxChoice.UNDO},
    (OutboxChoice.UNDO, SENT): "it went out already and cannot be called back",
    (OutboxChoice.UNDO, SENDING): "it is being sent right now: look again in a moment",
    (OutboxChoice.UNDO, UNCERTAIN): "it may be out: `support-agent outbox give-up` keeps it from being sent again",
    (OutboxChoice.UNDO, FAILED): "it did not go out",
    **{(choice, PROPOSED): TO_APPROVE for choice in (OutboxChoice.RETRY, OutboxChoice.SENT)},
    (OutboxChoice.GIVE_UP, PROPOSED): (
        "it is not sent as long as nobody approves it; `support-agent outbox undo` takes it off the list"
    ),
    (OutboxChoice.APPROVE, SENT): "it went out already",
    (OutboxChoice.RETRY, SENT): "sending it again would be a second mail",
    (OutboxChoice.RETRY, SENDING): "it is being sent right now: look again in a moment",
    (OutboxChoice.SENT, READY): "it still waits to be sent; `support-agent outbox give-up` keeps it from being sent",
    (OutboxChoice.SENT, FAILED): "it did not go out; `support-agent outbox retry` sends it again",
    (OutboxChoice.SENT, SENDING): "it is being sent right now: look again in a moment",
    (OutboxChoice.GIVE_UP, SENT): "it went out already and cannot be called back",
    (OutboxChoice.GIVE_UP, SENDING): "it is being sent right now: look again in a moment",
}


def test_every_choice_about_every_state_is_decided_here() -> None:
    assert set(MAY) | set(REFUSED) == {(choice, status) for choice in OutboxChoice for status in OutboxStatus}


def test_what_the_company_does_not_say_any_more_is_not_approved(run: Run, office: Office, tmp_path: Path) -> None:
    """Failure: after a policy was edited the operator sent its old text, which the desk could not."""
    record = answer(office, PROPOSED)
    (policy,) = (tmp_path / "policies").glob("001*")
    before = policy.read_text(encoding="utf-8")
    policy.write_text(before.replace("30 days", "10 days"), encoding="utf-8")
    state = everything(office)
    done = run("approve", record.id)
    assert (done.code, "the company's files have changed since" in done.error) == (1, True)
    assert (everything(office), office.store.labels.valid()) == (state, ())
    policy.write_text(before, encoding="utf-8")
    assert run("approve", record.id).code == 0


def test_an_approved_answer_gives_the_case_back_and_is_judged(run: Run, office: Office) -> None:
    """As by the desk's command."""
    record = answer(office, PROPOSED)
    assert run("approve", record.id).code == 0
    (change,) = office.store.cases.changes(CaseId(str(record.case_id)))
    assert (change.after, change.who, change.why) == (CaseState.OPEN, "the operator", "approved")
    (label,) = office.store.labels.valid()
    assert (label.outcome, label.keys, label.who) == (LabelOutcome.SAME, ("document:1",), "the operator")


@pytest.mark.parametrize("choice", OutboxChoice)
def test_s62_choice_that_makes_sense_is_done_and_said(run: Run, office: Office, choice: OutboxChoice) -> None:
    """Exit 0 and the mail's new state on stdout; the same words again change nothing more."""
    for status in (status for other, status in MAY if other is choice):
        record, (after, told) = answer(office, status, sender=f"{status}@example.net"), MAY[choice, status]
        assert run(choice.value, record.id) == (0, f"{record.id}: {told}\n", "")
        assert now(office, record).status is after
        before = everything(office)
        assert run(choice.value, record.id) == (0, f"{record.id}: {after}, as before\n", "")
        assert everything(office) == before


@pytest.mark.parametrize("choice", OutboxChoice)
def test_s62_choice_that_makes_no_sense_is_refused_with_why(run: Run, office: Office, choice: OutboxChoice) -> None:
    """Exit 1 and one line: what the mail is, and what to do instead; nothing is changed."""
    for status in (status for other, status in REFUSED if other is choice):
        record = answer(office, status, sender=f"{status}@example.net")
        before = everything(office)
        for arguments in ((choice.value, record.id), ("--json", choice.value, record.id)):
            done = run(*arguments)
            assert (done.code, done.error) == (1, f"support-agent: {record.id} is {status}: {REFUSED[choice, status]}")
        assert everything(office) == before


def test_a_mail_that_is_not_there_is_exit_2_and_says_where_to_look(run: Run, office: Office) -> None:
    answer(office, UNCERTAIN)
    before = everything(office)
    for choice in OutboxChoice:
        done = run(choice.value, "nosuchmail")
        told = "support-agent: no mail nosuchmail in the outbox: `support-agent outbox` lists them"
        assert (done.code, done.error) == (2, told)
    assert everything(office) == before


def test_wrong_usage_is_exit_2_and_changes_nothing(run: Run, office: Office) -> None:
    """No ID, an option or a command that there is not, and two at once."""
    answer(office, UNCERTAIN)
    before = everything(office)
    for arguments in (["retry"], ["sent", "--all"], ["delete", "x"], ["retry", "one", "two"]):
        done = run(*arguments)
        assert (done.code, done.out, bool(done.err)) == (2, "", True)
    assert everything(office) == before


def test_options_may_stand_before_or_after_the_command(run: Run, office: Office, tmp_path: Path) -> None:
    """`--json` and `--config`."""
    record, elsewhere = answer(office, UNCERTAIN), tmp_path / "elsewhere"
    config = str((tmp_path / "support-agent.toml").rename(tmp_path / "other.toml"))
    elsewhere.mkdir()
    told: dict[str, Any] = {"outbox_id": record.id, "status": "ready", "is_new": True}
    for arguments in (["--json", "-c", config, "retry", record.id], ["retry", record.id, "-c", config, "--json"]):
        done = run(*arguments)
        assert (done.code, json.loads(done.out), done.err) == (0, told, "")
        told["is_new"] = False
    assert run("retry", record.id).code == 2
    assert "no configuration at support-agent.toml" in run().error


def test_database_that_is_away_is_exit_1_in_one_line(run: Run, tmp_path: Path) -> None:
    """A later try may pass; nothing of the address but its host is told."""
    url = "postgresql://nobody:secret@127.0.0.1:1/away"
    (tmp_path / "support-agent.toml").write_text(f'[store]\nurl = "{url}"\ntimeout_s = 1\n')
    for arguments in ([], ["retry", "x"]):
        done = run(*arguments)
        assert done.code == 1
        assert "secret" not in done.error


# What comes of them


def test_s62_a_person_may_decide_while_the_agent_runs(run: Run, office: Office) -> None:
    """The agent is the only one that sends, not the only one that reads and writes."""
    record = answer(office, UNCERTAIN)
    with only_process(str(office.store.database.url), "pid 1", timeout_s=1):
        assert run("sent", record.id).code == 0
    assert now(office, record).status is SENT


def test_s62_retried_mail_goes_out_once_with_the_next_round(run: Run, office: Office) -> None:
    """The same bytes, so that the recipient's server may know a second copy."""
    record = answer(office, UNCERTAIN)
    run("retry", record.id)
    office.clock = Clock(NOON + timedelta(hours=2))
    for _ in range(2):
        Shift(office, FakeMailbox([])).work()
    assert [raw for recipient, raw in office.transport.given if recipient == JAMES] == [record.raw] * 2
    assert now(office, record).status is SENT


def test_s62_mail_that_was_given_up_is_neither_sent_nor_listed(run: Run, office: Office) -> None:
    """And the desk hears that its customer has no answer."""
    record = answer(office, READY)
    run("give-up", record.id)
    assert run().out == "no mail waits, is uncertain or failed\n"
    office.clock = Clock(NOON + timedelta(days=1))
    Shift(office, FakeMailbox([])).work()
    assert [recipient for recipient, _ in office.transport.given] == [JAMES, DESK]
    mail = office.store.mails.get(record.mail_id)
    assert mail is not None
    assert mail.status is MailStatus.ESCALATED


def test_s62_a_packet_that_the_desk_did_not_get_is_a_persons_too(run: Run, office: Office) -> None:
    """Nobody else can be told by mail: it was sent once more, without the original."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 no such desk")] * 2
    mail_id, _ = office.handle(write(OFF_TOPIC, sender=JAMES))
    packet = office.sent(mail_id)[OutgoingKind.PACKET]
    assert packet.id in run().out
    assert run("retry", packet.id).code == 0
    assert [told.by for told in office.store.deliveries.of(packet.id)] == [DeliverySource.OPERATOR]
