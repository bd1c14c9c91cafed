"""Which mails a machine may answer: one test per row of the table of RFC 3834 and its kin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from support_agent.config.agent import AgentSettings
from support_agent.mail import keys
from support_agent.mail.machines.machine_headers import REPORT_PARTS, SERVICE_FIELDS, VENDOR_FIELDS
from support_agent.mail.machines.screening import RULES, Screening, Verdict, screen, why_machine
from support_agent.mail.message import not_read, parse
from support_agent.mail.outgoing import OutgoingHead, compose
from support_agent.ops.conformance.rows import FOLDER as CONFORMANCE
from support_agent.ops.conformance.rows import SENDERS
from tests.unit.mail.mails import AGENT, DESK, EMAILS, mail, raw_mail, with_header


def decide(name: str) -> tuple[Verdict, str | None]:
    screening = screen(mail(name), AGENT, DESK)
    assert screening.why
    return screening.verdict, screening.rule


@pytest.mark.parametrize(
    "name",
    [
        "plain_question",
        "auto_submitted_no_with_parameter",
        "precedence_first_class",
        "suppress_receipts_only",
        "received_50_times",
        "customer_forwards_a_bounce",
        "origin_of_another_installation_two_hops",
        "addressed_by_cc",
        "addressed_by_resent_to",
        "addressed_by_delivered_to",
        "addressed_by_x_original_to",
        "addressed_with_tag",
        "person_only_in_quotation",
        "person_user_agent",
    ],
)
def test_a_persons_mail_may_be_answered(name: str) -> None:
    """The neighbours of each rule: what looks like a machine's mail and is none."""
    assert decide(name) == (Verdict.ANSWER, None)


@pytest.mark.parametrize("name", ["bounce_null_sender", "bounce_return_path_daemon"])
def test_s1_a_null_return_path_is_filed(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S1")


def test_s1_a_bounce_that_hides_its_null_sender_goes_to_a_person() -> None:
    assert decide("bounce_without_marks") == (Verdict.DESK, "S1")


@pytest.mark.parametrize("name", ["auto_replied_upper_case_with_comment", "auto_notified", "auto_submitted_empty"])
def test_s2_anything_but_no_in_auto_submitted_is_filed(name: str) -> None:
    """RFC 3834, section 5.2: any value but "no"; case, comments and parameters do not matter."""
    assert decide(name) == (Verdict.FILE, "S2")


def test_s2_a_second_field_that_says_no_does_not_take_back_the_first() -> None:
    """Rule: one Auto-Submitted field that says so is enough, wherever it stands; a relay may add its own "no"."""
    for lines in (("no", "auto-replied"), ("auto-replied", "no")):
        message = with_header("plain_question", *(f"Auto-Submitted: {value}" for value in lines))
        assert screen(message, AGENT, DESK).rule == "S2"


def test_s2_an_automatic_reply_that_has_only_its_words_goes_to_a_person() -> None:
    """Wording proves nothing, so nothing is filed for it."""
    assert decide("absence_by_its_words") == (Verdict.DESK, "S2")


@pytest.mark.parametrize(
    "name",
    ["report_delivery_status", "report_read_receipt", "report_feedback", "report_rewrapped_as_mixed"],
)
def test_s3_reports_are_filed(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S3")


@pytest.mark.parametrize("kind", sorted(REPORT_PARTS))
def test_s3_each_kind_of_report_part_is_filed_in_whatever_it_stands(kind: str) -> None:
    """The internationalised ones too (RFC 6533)."""
    head = "From: mx <mx@example.net>\nTo: support@harborfile.example\nContent-Type: multipart/mixed; boundary=b\n\n"
    raw = f"{head}--b\nContent-Type: text/plain\n\nx\n--b\nContent-Type: {kind}\n\nX-Field: x\n--b--\n"
    assert screen(parse(raw.encode()), AGENT, DESK).rule == "S3"


def test_s3_a_report_is_known_by_its_report_type_though_its_multipart_was_renamed() -> None:
    """A gateway that rewrites the container keeps its parameters, and may drop the part that tells the status."""
    head = "From: mx <mx@example.net>\nTo: support@harborfile.example\n"
    declared = "Content-Type: multipart/mixed; report-type=Delivery-Status; boundary=b\n\n"
    raw = f"{head}{declared}--b\nContent-Type: text/plain\n\nIt could not be delivered.\n--b--\n"
    screening = screen(parse(raw.encode()), AGENT, DESK)
    assert (screening.verdict, screening.rule) == (Verdict.FILE, "S3")


@pytest.mark.parametrize("name", ["list_unsubscribe_only", "list_id", "list_mailing_list", "list_mailman"])
def test_s4_mail_of_lists_is_filed(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S4")


@pytest.mark.parametrize("value", ["bulk", "list", "junk", "auto_reply", "x"])
def test_s5_low_precedence_is_filed(value: str) -> None:
    assert decide(f"precedence_{value}") == (Verdict.FILE, "S5")


@pytest.mark.parametrize("name", ["suppress_all", "suppress_oof_in_a_list", "suppress_autoreply"])
def test_s6_suppressed_automatic_answers_are_not_sent(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S6")


@pytest.mark.parametrize("mark", VENDOR_FIELDS)
def test_s7_each_vendor_mark_has_a_mail_that_is_filed(mark: str) -> None:
    assert decide(f"vendor_{mark.lower().replace('-', '_')}") == (Verdict.FILE, "S7")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Precedence: auto-reply", "S5"),
        ("Precedence: bulk (a newsletter)", "S5"),
        ("X-Precedence: junk; x=y", "S5"),
        ("X-Auto-Response-Suppress: OOF; All", "S6"),
        ("X-Auto-Response-Suppress: DR All", "S6"),
        ("Auto-Submitted: (so (it) says) auto-replied", "S2"),
    ],
)
def test_s5_s6_marks_count_however_they_are_written(line: str, rule: str) -> None:
    assert screen(with_header("plain_question", line), AGENT, DESK).rule == rule


@pytest.mark.parametrize(
    "line",
    [
        "Auto-Submitted: no (I am (really) human)",
        "X-Autoreply: no",
        "X-Auto-Response: No",
        "X-Autogenerated: false",
        "Precedence: first-class (not bulk)",
    ],
)
def test_s7_field_that_says_no_is_no_mark(line: str) -> None:
    """Failure: a person was filed unread because the program said that it was a person."""
    assert screen(with_header("plain_question", line), AGENT, DESK).verdict is Verdict.ANSWER


PEOPLE_TOO = ["machine_name_friends_bounces", "machine_name_friends_owner", "machine_name_friends_request"]
MACHINES = sorted({path.stem for path in EMAILS.glob("machine_name_*.eml")} - set(PEOPLE_TOO))


@pytest.mark.parametrize("name", MACHINES)
def test_s8_names_of_machines_are_filed_and_shown_to_a_person_where_a_customer_has_one(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S8")
    screening = screen(mail(name), AGENT, DESK, is_customer=lambda address: address.endswith("@example.net"))
    assert (screening.verdict, screening.rule) == (Verdict.DESK, "S8")


@pytest.mark.parametrize("name", PEOPLE_TOO)
def test_s8_names_of_lists_that_people_have_too_are_shown_to_a_person(name: str) -> None:
    """Never answered, but not filed unseen either, without any other mark."""
    assert decide(name) == (Verdict.DESK, "S8")
    marked = parse(b"List-Id: <friends.example.org>\r\n" + raw_mail(name))
    assert screen(marked, AGENT, DESK).verdict is Verdict.FILE


@pytest.mark.parametrize("local", ["bouncer", "bounce-castle", "nobody", "home-owner", "feature-request", "daemon"])
def test_s8_a_person_with_such_a_name_is_not_filed_unseen(local: str) -> None:
    """Failure: the mails of a bouncy castle's hire were filed, and nobody heard of them."""
    raw = raw_mail("plain_question").replace(b"anna.keller@", f"{local}@".encode())
    assert screen(parse(raw), AGENT, DESK).verdict is Verdict.DESK


@pytest.mark.parametrize("name", ["from_without_address", "from_group", "from_missing"])
def test_s8_a_from_that_names_nobody_is_filed(name: str) -> None:
    assert decide(name) == (Verdict.FILE, "S8")


@pytest.mark.parametrize("local", ["owner", "requests", "reply", "norah", "postmasters", "anna.bounce"])
def test_s8_names_that_only_resemble_a_machine_are_people(local: str) -> None:
    raw = raw_mail("plain_question").replace(b"anna.keller@", f"{local}@".encode())
    assert screen(parse(raw), AGENT, DESK).verdict is Verdict.ANSWER


@pytest.mark.parametrize("name", ["from_own_address", "from_own_alias_with_tag"])
def test_s9_mail_from_our_own_addresses_is_dropped(name: str) -> None:
    assert decide(name) == (Verdict.DROP, "S9")


def test_s9_our_own_mail_is_known_by_its_id_or_its_origin_header_even_if_all_else_was_changed() -> None:
    own_id = keys.message_id(AGENT.secret, "harborfile.example", "case-1", "1", "answer")
    origin = keys.origin_header(AGENT.secret, own_id, 1)
    by_origin = screen(with_header("plain_question", f"X-Support-Agent-Origin: {origin}"), AGENT, DESK)
    by_id = screen(with_header("plain_question", f"Message-ID: {own_id}"), AGENT, DESK)
    assert [(found.verdict, found.rule) for found in (by_origin, by_id)] == [(Verdict.DROP, "S9")] * 2


def test_s9_our_origin_header_is_known_beside_one_of_another_installation() -> None:
    own_id = keys.message_id(AGENT.secret, "harborfile.example", "case-1", "1", "answer")
    ours = f"X-Support-Agent-Origin: {keys.origin_header(AGENT.secret, own_id, 1)}"
    for lines in ((), (ours,)):
        message = with_header("origin_of_another_installation_two_hops", *lines)
        assert screen(message, AGENT, DESK).rule == ("S9" if lines else None)


def test_s9_a_forged_id_or_origin_header_is_none_of_ours() -> None:
    """Else anybody could have a customer's mail dropped."""
    other = AGENT.model_copy(update={"secret": type(AGENT.secret)("x" * 32)})
    own_id = keys.message_id(other.secret, "harborfile.example", "case-1", "1", "answer")
    origin = keys.origin_header(other.secret, own_id, 1)
    message = with_header("plain_question", f"Message-ID: {own_id}", f"X-Support-Agent-Origin: {origin}")
    assert screen(message, AGENT, DESK).verdict is Verdict.ANSWER
    unkeyed = AgentSettings.model_validate(AGENT.model_dump() | {"secret": ""})
    assert screen(message, unkeyed, DESK).verdict is Verdict.ANSWER


def test_s9_an_answer_of_ours_that_comes_back_is_dropped() -> None:
    parent = mail("plain_question")
    own_id = keys.message_id(AGENT.secret, "harborfile.example", "c", "1", "answer")
    head = OutgoingHead(
        message_id=own_id,
        sent_at=datetime(2026, 3, 10, tzinfo=UTC),
        to="anna.keller@example.net",
        from_address=AGENT.address,
        from_name=AGENT.name,
        origin=keys.origin_header(AGENT.secret, own_id, 1),
    )
    answer = compose(head, subject="Re: Refund", text="text", html="<p>text</p>", parent=parent)
    assert screen(parse(answer), AGENT, DESK).rule == "S9"


def test_s10_mail_that_does_not_name_us_goes_to_a_person() -> None:
    assert decide("not_addressed_to_us") == (Verdict.DESK, "S10")


def test_s10_without_an_address_of_our_own_nothing_is_addressed_to_another() -> None:
    """As in `inspect` without a configuration."""
    unknown = AGENT.model_copy(update={"address": "", "aliases": ()})
    assert screen(mail("not_addressed_to_us"), unknown, DESK).verdict is Verdict.ANSWER


@pytest.mark.parametrize("name", ["received_51_times", "origin_of_another_installation_three_hops"])
def test_s11_a_loop_is_dropped(name: str) -> None:
    """Hops count whoever signed them: two installations that answer each other are a loop too."""
    assert decide(name) == (Verdict.DROP, "S11")


@pytest.mark.parametrize("order", [(1, 3), (3, 1)])
def test_s11_the_most_hops_of_several_origin_headers_count(order: tuple[int, int]) -> None:
    """Else an installation that adds its own header instead of counting on would answer for ever."""
    lines = (f"X-Support-Agent-Origin: v1; hops={hops}; token={'a' * 24}; tag={'b' * 32}" for hops in order)
    screening = screen(with_header("plain_question", *lines), AGENT, DESK)
    assert (screening.verdict, screening.rule) == (Verdict.DROP, "S11")


def test_s14_what_our_own_server_takes_for_spam_is_filed() -> None:
    assert decide("spam_flag") == (Verdict.FILE, "S14")


@pytest.mark.parametrize(
    ("verdicts", "field", "is_spam"),
    [
        (("X-Spam-Status: Yes",), "X-Spam-Status: Yes, score=9.1 required=5.0", True),
        (("X-Spam-Status: Yes",), "X-Spam-Status: No, score=0.1 autolearn=yes", False),
        (("X-Forefront-Antispam-Report: SFV:SPM",), "X-Forefront-Antispam-Report: CIP:192.0.2.1;SFV:SPM;SCL:6", True),
        (("X-Forefront-Antispam-Report: SFV:SPM",), "X-Forefront-Antispam-Report: CIP:192.0.2.1;SFV:NSPM", False),
        (("X-Spam-Flag: YES",), "X-Spam-Flag: NO\r\nX-Spam-Flag: YES", False),
        ((), "X-Spam-Flag: YES", False),
    ],
)
def test_s14_the_topmost_verdict_of_a_configured_field_counts(
    verdicts: tuple[str, ...], field: str, is_spam: bool
) -> None:
    agent = AgentSettings.model_validate(AGENT.model_dump() | {"spam_verdicts": verdicts})
    assert (screen(with_header("plain_question", field), agent, DESK).rule == "S14") is is_spam


@pytest.mark.parametrize(
    ("name", "is_machine"),
    [
        ("bounce_null_sender", True),
        ("precedence_bulk", True),
        ("precedence_list", False),
        ("list_id", False),
        ("machine_name_no_reply", True),
        ("absence_by_its_words", True),
        ("encrypted_smime", False),
        ("person_english", False),
    ],
)
def test_a_machines_mail_is_told_from_a_persons_whatever_row_decides(name: str, is_machine: bool) -> None:
    """What people write to a list is filed, and written by people."""
    assert (why_machine(mail(name), AGENT, DESK) != "") is is_machine


@pytest.mark.parametrize(
    "name",
    [
        "encrypted_pgp_mime",
        "encrypted_pgp_inline",
        "encrypted_smime",
        "calendar_invitation",
        "empty_body",
        "empty_above_the_quotation",
    ],
)
def test_s15_what_cannot_be_read_goes_to_a_person(name: str) -> None:
    assert decide(name) == (Verdict.DESK, "S15")


def test_s15_a_mail_beyond_a_limit_goes_to_a_person() -> None:
    message = parse(not_read("only the header was read") + raw_mail("plain_question"))
    assert screen(message, AGENT, DESK).rule == "S15"


def test_s37_a_mail_that_could_not_be_read_goes_to_a_person() -> None:
    """Who sent it is unknown: it is not a mail without a sender, which would be filed."""
    assert decide("server_cannot_give_it") == (Verdict.DESK, "S37")


def test_s8_a_machines_mail_that_is_too_big_is_filed_like_a_small_one() -> None:
    message = parse(not_read("only the header was read") + raw_mail("machine_name_no_reply"))
    assert screen(message, AGENT, DESK).verdict is Verdict.FILE


@pytest.mark.parametrize("name", ["from_twice", "from_two_addresses", "from_address_in_display_name"])
def test_s22_a_from_that_can_be_read_in_two_ways_goes_to_a_person(name: str) -> None:
    assert decide(name) == (Verdict.DESK, "S22")


def test_s22_two_from_fields_are_not_judged_by_the_first() -> None:
    """The first names no address, and alone would file the mail unseen (S8)."""
    screening = screen(with_header("plain_question", "From: Anna Keller"), AGENT, DESK)
    assert (screening.verdict, screening.rule) == (Verdict.DESK, "S22")


@pytest.mark.parametrize("name", ["person_english", "person_german", "person_spanish", "person_in_subject"])
def test_a_customer_who_asks_for_a_person_gets_one(name: str) -> None:
    assert decide(name) == (Verdict.DESK, "person")


def test_a_machines_mail_is_filed_whatever_it_says() -> None:
    """An out-of-office that says "call a human" must not reach the desk again and again."""
    message = with_header("person_english", "Auto-Submitted: auto-replied")
    assert screen(message, AGENT, DESK).verdict is Verdict.FILE


@pytest.mark.parametrize("name", SERVICE_FIELDS)
def test_s7_a_ticket_systems_or_mass_mailers_mail_goes_to_a_person(name: str) -> None:
    """It is automatic, but a person may have written it by means of such a system: it is not filed unseen."""
    message = with_header("plain_question", f"{name}: 4711")
    screening = screen(message, AGENT, DESK)
    assert (screening.verdict, screening.rule) == (Verdict.DESK, "S7")
    assert why_machine(message, AGENT, DESK)


@pytest.mark.parametrize(
    "line",
    [
        "Feedback-ID: i4711:Fastmail",
        "X-MC-Unique: abc-1",
        "X-Report-Abuse-To: abuse@relay.example",
        "X-FreeScout-Mail-Type: customer.message",
        "X-Mimecast-Originator: example.net",
        "X-SES-Outgoing: 2026.03.10-1.2.3.4",
        "X-Mailer: Example Mail 4.1",
    ],
)
def test_s7_what_a_relay_or_a_provider_adds_to_a_persons_mail_is_no_service(line: str) -> None:
    assert screen(with_header("plain_question", line), AGENT, DESK).verdict is Verdict.ANSWER


def test_a_persons_posting_to_a_list_is_filed_and_not_automatic() -> None:
    """What the list adds says nothing of who wrote."""
    of_list = ("List-Id: <x.example>", "List-Post: <mailto:x@x.example>", "Precedence: bulk", "X-Loop: x@x.example")
    posting = with_header("plain_question", *of_list)
    assert screen(posting, AGENT, DESK).rule == "S4"
    assert why_machine(posting, AGENT, DESK) == ""
    assert why_machine(with_header("plain_question", *of_list, "Auto-Submitted: auto-generated"), AGENT, DESK)
    newsletter = with_header("plain_question", "List-Id: <x.example>", "List-Post: NO", "Precedence: bulk")
    assert why_machine(newsletter, AGENT, DESK)


@pytest.mark.parametrize(
    "before",
    [
        b"a stray line\n",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"   \n",
        b"X Y: z\n",
        b"Received : by mx\n",
        b"-----BEGIN-----\n",
        "Größe: 4711\n".encode(),
        b"\xff\xfeX: y\n",
        b"Received: by mx\n\n",
        b"Received: by mx\n \n\n",
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_s8_a_mail_whose_header_cannot_be_read_as_far_as_from_goes_to_a_person(before: bytes, line_end: bytes) -> None:
    """The failure's story: it was filed as a mail without a sender, and nobody ever saw it."""
    raw = before + b"From: <anna@example.net>\nTo: support@harborfile.example\nSubject: A\n\nHow do I cancel?\n"
    message = parse(raw.replace(b"\r\n", b"\n").replace(b"\n", line_end))
    assert message.from_ is None
    assert screen(message, AGENT, DESK).verdict is Verdict.DESK


def test_each_row_of_the_table_decides_at_least_one_test_mail() -> None:
    """A row that no mail reaches is a row that nobody has seen work."""
    found: set[Screening] = {
        screen(parse(path.read_bytes()), AGENT, DESK, is_customer=known, senders=SENDERS)
        for path in (*EMAILS.glob("*.eml"), *(CONFORMANCE / "mails").glob("*.eml"))
        for known in (lambda address: False, lambda address: True)
    }
    assert {(rule.id, rule.verdict) for rule in RULES} <= {(one.rule, one.verdict) for one in found}
    assert all(re.fullmatch(r"S\d+|blocked|closing|person", rule.id) and rule.source for rule in RULES)


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        (("Precedence: bulk",), Verdict.DESK),
        (("X-Auto-Response-Suppress: OOF",), Verdict.DESK),
        (("X-Spam-Flag: YES",), Verdict.DESK),
        (("X-Spam-Flag: YES", "X-Zammad-Ticket: 5"), Verdict.DESK),
        (("X-Auto-Response-Suppress: OOF", "Auto-Submitted: auto-generated"), Verdict.FILE),
        (("Precedence: auto_reply",), Verdict.FILE),
        (("Precedence: bulk", "X-Autoreply: yes"), Verdict.FILE),
        (("Precedence: bulk", "Subject: Out of Office: A case"), Verdict.FILE),
    ],
)
def test_bulk_mail_of_staff_goes_to_the_desk_unless_a_program_wrote_it(lines: Sequence[str], verdict: Verdict) -> None:
    """A person who answers a packet must hear that it went nowhere; a program would answer the notice."""
    message = with_header("plain_question", *lines)
    of_staff = screen(message, AGENT, DESK, is_staff_reply=lambda: True)
    assert (of_staff.verdict, of_staff.is_refused) == (verdict, verdict is Verdict.DESK)
    of_others = screen(message, AGENT, DESK)
    assert (of_others.verdict, of_others.is_refused) == (Verdict.FILE, False)


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ((), Verdict.DESK),
        (("X-Zammad-Ticket: 5",), Verdict.DESK),
        (("Precedence: bulk",), Verdict.FILE),
        (("X-Spam-Flag: YES",), Verdict.FILE),
        (("Auto-Submitted: auto-replied",), Verdict.FILE),
        (("X-Autoreply: yes",), Verdict.FILE),
        (("Return-Path: <>",), Verdict.FILE),
        (("Subject: Out of Office: A case",), Verdict.FILE),
    ],
)
def test_s8_a_machines_name_of_staff_goes_to_the_desk_unless_more_says_that_a_program_wrote_it(
    lines: Sequence[str], verdict: Verdict
) -> None:
    """People may share postmaster@; what an automatic reply of theirs bears besides still files it."""
    message = with_header("machine_name_postmaster", *lines)
    of_staff = screen(message, AGENT, DESK, is_staff_reply=lambda: True)
    assert (of_staff.verdict, of_staff.is_refused) == (verdict, verdict is Verdict.DESK)
    assert screen(message, AGENT, DESK).verdict is Verdict.FILE


@pytest.mark.parametrize("name", PEOPLE_TOO)
def test_s8_a_name_that_people_have_too_refuses_no_staff_reply(name: str) -> None:
    """Rule: its wording decides, as of any other."""
    screening = screen(mail(name), AGENT, DESK, is_staff_reply=lambda: True)
    assert (screening.verdict, screening.rule, screening.is_refused) == (Verdict.ANSWER, None, False)


@pytest.mark.parametrize("is_customer", [True, False])
def test_s8_a_staff_reply_from_a_machines_name_is_refused_whether_a_customer_has_it_or_not(is_customer: bool) -> None:
    """Failure: of a known customer its words were passed on, whatever they were."""
    screening = screen(mail("machine_name_noreply"), AGENT, DESK, lambda _: is_customer, lambda: True)
    assert (screening.verdict, screening.rule, screening.is_refused) == (Verdict.DESK, "S8", True)
