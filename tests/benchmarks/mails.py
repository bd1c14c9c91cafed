"""`python -m tests.benchmarks.mails SET [--votes always|doubtful|never] [--room]`: how many made mails come out right.

SET: a company of `tests/companies` (shop, utility, office; rail and insurer are only reported), or a set of
`tests/mails/made` to the demo company: languages, qualifiers_reported (both only reported), qualifiers_development.
Prints a line a mail that came out wrong or was lost, then the totals, by kind and by language.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

from support_agent.app import open_decider, progress
from support_agent.configuration import load
from support_agent.trial import Tried, try_mail
from support_agent.workspace import CONFIG_FILE, init
from tests.benchmarks.companies import COMPANIES, Mail, company_settings, mails_of, read_mails
from tests.labelled import MAILS, Label, Score, score, sections_in, sent_in, total

TODAY = datetime(2026, 11, 16, 12, tzinfo=UTC)
MADE = MAILS / "made"


def main() -> None:
    """Try, score and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.mails")
    parser.add_argument("set")
    parser.add_argument("--votes", choices=["always", "doubtful", "never"], default="doubtful")
    parser.add_argument("--room", action="store_true", help="with the fact room")
    parser.add_argument("--all", action="store_true", help="print every mail")
    args = parser.parse_args()
    results = tried(args.set, args.votes, with_room=args.room)
    for mail, one, result in results:
        if args.all or result.wrong or result.questions_right < result.questions:
            _print(_line(mail, one, result))
    for name, key in (
        ("kind", lambda mail: mail.kind),
        ("language", lambda mail: mail.language),
        ("all", lambda _: "all"),
    ):
        _table(name, key, results)


def tried(name: str, votes: str = "doubtful", *, with_room: bool = False) -> list[tuple[Mail, Tried, Score]]:
    """Every mail of a set, decided by the product and scored."""
    is_company = (COMPANIES / name).is_dir()
    mails = mails_of(name) if is_company else read_mails(MADE / f"{name}.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        init(workspace, TODAY.date())
        settings = load(workspace / CONFIG_FILE)
        if is_company:
            settings = company_settings(name, settings, Path(folder) / "company")
        settings = settings.model_copy(update={"planner": settings.planner.model_copy(update={"model_votes": votes})})
        decider = open_decider(settings, progress(), in_memory=True)
        if not with_room:
            decider = replace(decider, rooms=None)
        results = []
        for mail in mails:
            one = try_mail(
                f"{mail.id}.eml",
                raw_of(mail),
                lambda: decider,
                decider.company.accounts,
                decider.settings,
                TODAY,
                as_level=mail.level,
                as_customer=mail.address if mail.level >= 3 else None,
            )
            results.append((mail, one, score(label_of(mail), sent_in(one))))
        return results


def raw_of(mail: Mail, address: str = "support@harborfile.example") -> bytes:
    """The mail as it is sent."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = mail.address, address, mail.subject
    message["Date"], message["Message-ID"] = "Mon, 16 Nov 2026 09:00:00 +0000", f"<{mail.id}@mails.example>"
    message.set_content(mail.text)
    return message.as_bytes()


def label_of(mail: Mail) -> Label:
    """The same label as those of the `.eml` sets have."""
    return Label(
        path=Path(f"{mail.id}.eml"),
        customer=mail.address,
        level=mail.level,
        kind=mail.kind,
        language=mail.language,
        expected=mail.expected,
        sections=tuple(sections_in(question) for question in mail.sections),
    )


def _line(mail: Mail, one: Tried, result: Score) -> str:
    sent = sent_in(one)
    verdict = "WRONG" if result.wrong else "right" if result.answered else "person"
    beside = f"  sections {sorted(map(sorted, sent.sections.values()))}" if result.wrong_section else ""
    got = ", ".join(sent.outcomes) or one.trial.reason
    return f"{verdict:7}{mail.id} {mail.language} {mail.kind}: {got}{beside}  expected {mail.expected}"


def _table(name: str, key: Callable[[Mail], str], results: Sequence[tuple[Mail, Tried, Score]]) -> None:
    groups: dict[str, list[tuple[Tried, Score]]] = defaultdict(list)
    for mail, one, result in results:
        groups[key(mail)].append((one, result))
    for group, of in sorted(groups.items()):
        whole = total(result for _, result in of)
        seconds = sorted(one.trial.seconds for one, _ in of)
        _print(
            f"{name} {group}: {whole.mails} mails, {whole.answered} answered, {whole.answered - whole.wrong} right "
            f"({whole.wrong_section} wrong by the section alone), {whole.answerable_answered} of {whole.answerable} "
            f"answerable; median {seconds[len(seconds) // 2]:.2f} s, 95th {seconds[int(len(seconds) * 0.95)]:.2f} s"
        )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
