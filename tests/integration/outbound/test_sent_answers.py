"""What a person sent from a mail program, found in the Sent folder of a real Dovecot."""

from __future__ import annotations

from itertools import count

import pytest

from support_agent.core.modes import Mode
from support_agent.store.desk_records import LabelOutcome
from support_agent.transport.mailbox import Mailbox
from support_agent.workflow.sent_answers import SentAnswers
from tests.fakes_desk import proposed_in, status_of
from tests.fakes_journey import JAMES, Office, write
from tests.servers.dovecot import Dovecot
from tests.unit.seen import ACKNOWLEDGEMENT, one

pytestmark = pytest.mark.servers
NUMBERS = count(1)


def test_a_persons_answer_in_the_sent_folder_judges_what_waited(office: Office, dovecot: Dovecot) -> None:
    """By In-Reply-To; our own acknowledgement beside it counts as nobody's answer, and nothing there is marked."""
    given = proposed_in(office, Mode.SHADOW)
    user = f"answers-{next(NUMBERS)}@harborfile.example"
    settings = given.office.settings.model_copy(update={"imap": dovecot.settings(user, sent_folder="Sent")})
    labelling = given.office.wired.desk.labelling
    looker = SentAnswers(office.store, settings, labelling, lambda: Mailbox(settings.imap), office.clock)
    with dovecot.as_person(user) as person:
        person.create_folder("Sent")
        person.append("Sent", office.sent(given.mail_id)[ACKNOWLEDGEMENT].raw)
    looker.look_after()
    assert status_of(office, given.answer) == "proposed"

    first = one(office, given.mail_id).message_id
    reply = write("We will call you.", sender="ada@harborfile.example", in_reply_to=first)
    with dovecot.as_person(user) as person:
        person.append("Sent", reply.replace(b"To: support@harborfile.example", f"To: {JAMES}".encode()))
    SentAnswers(office.store, settings, labelling, lambda: Mailbox(settings.imap), office.clock).look_after()
    (label,) = office.store.labels.of(given.mail_id)
    assert (label.outcome, label.who) == (LabelOutcome.OWN_WORDS, "ada@harborfile.example")
    assert status_of(office, given.answer) == "cancelled"
    with dovecot.as_person(user) as person:
        person.select_folder("Sent")
        assert person.search("UNSEEN") == [1, 2]
