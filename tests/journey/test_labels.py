"""What people do is a label, labels earn and lose modes, and each can be undone."""

from __future__ import annotations

import pytest

from support_agent.cases.autonomy import Autonomy
from support_agent.core.modes import Mode
from support_agent.ops.autonomy_report import label_by_hand, titles_of, unlabel
from support_agent.ops.explain import timeline
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource, ModeSource
from support_agent.store.records import MailId
from tests.fakes_desk import Proposed, order, proposed_in
from tests.fakes_journey import CUSTOMERS, DESK, JAMES, Office, twice, with_autonomy, write
from tests.unit.seen import ANSWER, PACKET, REFUND, SEATS, one

SAME, OTHER, OWN, NOTHING = LabelOutcome
EASY = {"least_judged": 2, "approve_from": 0.1, "auto_from": 0.2, "judged": 10}
"""A rule that two right judgements fulfil."""


def label_of(office: Office, mail_id: MailId) -> Label:
    (label,) = office.store.labels.of(mail_id)
    return label


def mode_of(office: Office, key: str = "document:1") -> tuple[Mode, str]:
    (item,) = Autonomy(office.store, office.settings.autonomy).modes((key,))
    return item.mode, item.why


def replied(given: Proposed, words: str, number: int = 20) -> MailId:
    """A staff reply to the packet."""
    packet = given.office.sent(given.mail_id)[PACKET].message_id
    return given.office.handle(write(words, sender=DESK, in_reply_to=packet, number=number))[0]


def first_sentence(office: Office, number: int) -> str:
    document = office.decider.company.by_number[number]
    return max((sentence.text for sentence in document.sentences), key=len)


@pytest.mark.parametrize(
    ("command", "outcome", "choice"),
    [
        ("approve", SAME, None), ("document 1", SAME, None), ("document 2", OTHER, "document:2"),
        ("own words", OWN, None), ("close", NOTHING, None), ("spam", NOTHING, None),
    ],
)  # fmt: skip
def test_a_command_is_a_label(office: Office, command: str, outcome: LabelOutcome, choice: str | None) -> None:
    """Exact, because choices are typed."""
    given = proposed_in(office)
    line = given.lines["document 1" if command.startswith("document") else command].replace("document 1", command)
    order(given.office, line, "We will call you." if command == "own words" else "")
    label = label_of(office, given.mail_id)
    how = LabelSource.REPLY if command == "own words" else LabelSource.COMMAND
    assert (label.outcome, label.choice, label.keys, label.who) == (outcome, choice, ("document:1",), DESK)
    assert label.how is how
    assert timeline(office.store, str(given.answer.case_id)).mails[0].labels == (label,)


def test_giving_back_is_no_label(office: Office) -> None:
    given = proposed_in(office)
    order(given.office, given.lines["give back"])
    assert office.store.labels.of(given.mail_id) == ()


@pytest.mark.parametrize(("number", "outcome", "choice"), [(1, SAME, None), (2, OTHER, "document:2")])
def test_a_reply_that_shares_a_documents_sentence_is_that_document(
    office: Office, number: int, outcome: LabelOutcome, choice: str | None
) -> None:
    """In shadow a person answers in own words, and often with the company's."""
    given = proposed_in(office, Mode.SHADOW)
    replied(given, f"Dear James,\r\n{first_sentence(office, number)}\r\nAda")
    label = label_of(office, given.mail_id)
    assert (label.outcome, label.choice, label.how) == (outcome, choice, LabelSource.REPLY)


def test_a_reply_with_the_values_of_the_answer_is_the_same(office: Office) -> None:
    given = proposed_in(office, Mode.SHADOW, SEATS, sender="anna.keller@example.net")
    replied(given, "Sie haben 12 Plätze.")
    assert (label_of(office, given.mail_id).outcome, label_of(office, given.mail_id).keys) == (
        SAME,
        ("field:seats_paid",),
    )


@pytest.mark.parametrize("words", ["We will call you.", "You have seven seats."])
def test_any_other_reply_is_own_words(office: Office, words: str) -> None:
    given = proposed_in(office, Mode.SHADOW, SEATS)
    replied(given, words)
    assert label_of(office, given.mail_id).outcome is OWN


def test_a_reply_to_what_was_not_proposed_judges_nothing(office: Office) -> None:
    """The open part of a mail whose other part was answered."""
    mail_id, _ = office.handle(write(f"1. {SEATS}\r\n2. Do you have a table for four on Saturday?", sender=JAMES))
    packet = office.sent(mail_id)[PACKET].message_id
    office.handle(write("No table, sorry.", sender=DESK, in_reply_to=packet, number=20))
    assert office.store.labels.valid() == ()


def test_a_label_that_runs_twice_is_one(office: Office) -> None:
    given = proposed_in(with_autonomy(office, **EASY))
    line = given.lines["close"]
    given.office.handle(write("", subject=line, sender=DESK, number=60), twice())
    assert label_of(office, given.mail_id).outcome is NOTHING
    assert [change.mode for change in office.store.modes.history()] == [Mode.SHADOW]


def test_a_label_of_what_waited_is_not_replaced_when_nothing_waits(office: Office) -> None:
    """Failure: an approved answer became a mail for a person, because the case was closed afterwards."""
    given = proposed_in(office)
    order(given.office, given.lines["approve"])
    order(given.office, given.lines["close"], number=51)
    label = label_of(office, given.mail_id)
    assert (label.outcome, label.keys) == (SAME, ("document:1",))


def test_a_document_whose_order_runs_again_after_the_move_is_the_same_label(office: Office) -> None:
    """The process died after the proposal was cancelled: nothing waits any more."""
    given = proposed_in(office)
    given.office.handle(write("", subject=given.lines["document 1"], sender=DESK, number=60), twice())
    assert label_of(office, given.mail_id).outcome is SAME


def test_own_words_stay_own_words_when_a_late_approval_is_refused(office: Office) -> None:
    given = proposed_in(office)
    replied(given, "We will call you.")
    order(given.office, given.lines["approve"])
    assert label_of(office, given.mail_id).outcome is OWN


def approved(office: Office, count: int, skip: int = 0) -> None:
    """Answers that people approved, each for another customer, without the first ones."""
    for number, sender in list(enumerate(CUSTOMERS))[skip : skip + count]:
        given = proposed_in(office, Mode.SHADOW, sender=sender, number=number)
        order(given.office, given.lines["approve"], number=number + 100)


def test_right_judgements_raise_a_mode_step_by_step(office: Office) -> None:
    """From shadow to approve to auto; then the answer leaves by itself."""
    office = with_autonomy(office, start=Mode.SHADOW, **EASY)
    seen = []
    for count in range(3):
        approved(office, 1, skip=count)
        seen.append(mode_of(office)[0])
    assert seen == [Mode.SHADOW, Mode.APPROVE, Mode.AUTO]
    assert mode_of(office)[1].startswith("earned, the rule: 3 of the last 3 judged were right")
    mail_id, outcome = office.handle(write("Can I get a refund?", sender=JAMES, number=70))
    assert (outcome, office.sent(mail_id)[ANSWER].status.value) == ("answered", "sent")


def test_a_correction_lowers_a_mode_at_once(office: Office) -> None:
    """One person's word is enough; it takes as many right ones as before to come back."""
    office = with_autonomy(office, start=Mode.SHADOW, **EASY)
    approved(office, 2)
    assert mode_of(office)[0] is Mode.APPROVE
    given = proposed_in(office, Mode.SHADOW, sender=JAMES, number=80)
    order(given.office, given.lines["own words"], "No refunds for you.", number=200)
    mode, why = mode_of(office)
    assert (mode, why) == (Mode.SHADOW, f"corrected, {DESK}: own words, mail {given.mail_id}")
    approved(office, 1, skip=2)
    assert mode_of(office)[0] is Mode.SHADOW


def test_a_correction_judges_each_item_of_the_answer(office: Office) -> None:
    office = with_autonomy(office, start=Mode.APPROVE)
    given = proposed_in(office, text=f"1. {SEATS}\r\n2. Can I get a refund?")
    order(given.office, given.lines["close"])
    assert set(label_of(office, given.mail_id).keys) == {"field:seats_paid", "document:1"}
    assert {mode_of(office, key)[0] for key in ("field:seats_paid", "document:1")} == {Mode.SHADOW}
    assert mode_of(office, "document:2")[0] is Mode.APPROVE


def test_what_a_person_set_by_hand_is_not_raised(office: Office) -> None:
    office = with_autonomy(office, start=Mode.SHADOW, **EASY)
    office.store.modes.change("document:1", Mode.SHADOW, ModeSource.BY_HAND, "the operator", "law", office.clock())
    approved(office, 4)
    assert mode_of(office)[0] is Mode.SHADOW


def test_where_nothing_is_earned_by_itself_a_correction_still_lowers(office: Office) -> None:
    office = with_autonomy(office, start=Mode.SHADOW, is_earned=False, **EASY)
    approved(office, 3)
    assert mode_of(office)[0] is Mode.SHADOW
    assert office.stages.autonomy.standings(("document:1",))[0].earned.mode is Mode.APPROVE


def judged(office: Office, mail_id: MailId, done: str) -> None:
    """`support-agent autonomy judge`, or `unjudge`."""
    case_id, titles = str(one(office, mail_id).case_id), titles_of(office.decider.company)
    if done == "unjudge":
        unlabel(office.store, office.settings, case_id, office.clock())
    else:
        label_by_hand(office.store, office.settings, titles, case_id, done, office.clock())


def answered(office: Office, sender: str) -> MailId:
    return office.handle(write(REFUND, sender=sender))[0]


def test_a_correction_that_was_undone_can_be_made_again(office: Office) -> None:
    """Failure: the undone one still counted as made."""
    mail_id = answered(office, JAMES)
    seen = []
    for done in ("own-words", "unjudge", "own-words"):
        judged(office, mail_id, done)
        seen.append(mode_of(office)[0])
    assert seen == [Mode.APPROVE, Mode.AUTO, Mode.APPROVE]


def test_each_correction_gives_back_its_own_step(office: Office) -> None:
    """Two mails lowered the item twice; the first one was a slip."""
    first, second = (answered(office, sender) for sender in CUSTOMERS[:2])
    judged(office, first, "own-words")
    judged(office, second, "nothing")
    assert mode_of(office)[0] is Mode.SHADOW
    judged(office, first, "unjudge")
    assert mode_of(office)[0] is Mode.APPROVE
    judged(office, first, "own-words")
    assert mode_of(office)[0] is Mode.SHADOW
    for mail_id in (first, second):
        judged(office, mail_id, "unjudge")
    assert mode_of(office)[0] is Mode.AUTO


def test_a_mode_is_given_back_only_when_no_correction_of_the_mail_is_left(office: Office) -> None:
    """The second judgement only names what was right; undone, the first one still says that the answer was wrong."""
    mail_id = answered(office, JAMES)
    seen = []
    for done in ("own-words", "document:5", "unjudge", "unjudge"):
        judged(office, mail_id, done)
        seen.append(mode_of(office)[0])
    assert seen == [Mode.APPROVE, Mode.APPROVE, Mode.APPROVE, Mode.AUTO]


def test_an_undone_label_gives_back_what_it_lowered(office: Office) -> None:
    """A slip of the pen at the desk."""
    given = proposed_in(office)
    order(given.office, given.lines["close"])
    autonomy = Autonomy(office.store, given.office.settings.autonomy)
    assert mode_of(given.office)[0] is Mode.SHADOW
    assert autonomy.forget(given.mail_id, "the operator", office.clock()) is not None
    assert (mode_of(given.office)[0], office.store.labels.valid()) == (Mode.APPROVE, ())
    assert one(office, given.mail_id).status.value == "escalated"
