"""`python -m tests.benchmarks.mails SET [--votes always|doubtful|never] [--room]`: how many made mails come out right.

SET: a company of `tests/companies` (rail and insurer are only reported), or a set of
`tests/mails/made` to the demo company: languages, qualifiers_reported (both only reported), qualifiers_development,
qualifiers_development_2, hostile.
Prints a line a mail that came out wrong or was lost, then the totals, by kind and by language. With `--room` the mails
that were sent a document are decided once more, with the fact room, which can only take an answer back: printed is what
it changed, and what the looks took.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from statistics import mean

from support_agent.app.wiring import open_decider
from support_agent.models.progress import stderr_progress
from support_agent.ops.dry_run import DryRunResult
from support_agent.ops.evals.mail_labels import MailLabel
from support_agent.ops.evals.mails import ScoredMail, evaluate, line_of, report_of, sent_in, table
from support_agent.workflow.decide import Decider
from tests.benchmarks.companies import (
    COMPANIES,
    TODAY,
    Mail,
    company_settings,
    demo_settings,
    dry_run_by,
    mails_of,
    read_mails,
)
from tests.labelled import MAILS

MADE = MAILS / "made"


def main() -> None:
    """Try, score and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.mails")
    parser.add_argument("set")
    parser.add_argument("--votes", choices=["always", "doubtful", "never"], default="doubtful")
    parser.add_argument("--room", action="store_true", help="and what the fact room changes")
    parser.add_argument("--all", action="store_true", help="print every mail")
    args = parser.parse_args()
    with opened(args.set, args.votes) as (mails, decider):
        results = tried_by(replace(decider, rooms=None), mails)
        for result in results:
            if args.all or result.score.wrong or result.score.questions_right < result.score.questions:
                _print(line_of(result))
        _print(table(report_of(results)))
        if args.room:
            _print(changed_by_room(mails, decider, results))


def changed_by_room(mails: Sequence[Mail], decider: Decider, without: Sequence[ScoredMail]) -> str:
    """What the fact room makes of the mails that were sent a document without it."""
    before = {one.label.path: one for one in without if any("document" in sent for sent in sent_in(one.tried).outcomes)}
    after = tried_by(decider, [mail for mail in mails if path_of(mail) in before])
    changed = [
        f"changed, {'wrong' if was.score.wrong else 'right'} before: {line_of(now)}"
        for now in after
        if sent_in(now.tried) != sent_in((was := before[now.label.path]).tried)
    ]
    looks = [look.seconds for one in after if one.tried.decision for look in one.tried.decision.findings.values()]
    told = f"the fact room changed {len(changed)} of {len(before)} mails that were sent a document"
    return "\n".join([*changed, f"{told}, in {len(looks)} looks of {mean(looks or [0.0]):.1f} s"])


@contextmanager
def opened(name: str, votes: str = "doubtful") -> Iterator[tuple[list[Mail], Decider]]:
    """The mails of a set, and what decides them."""
    is_company = (COMPANIES / name).is_dir()
    mails = mails_of(name) if is_company else read_mails(MADE / f"{name}.jsonl")
    with demo_settings() as settings, tempfile.TemporaryDirectory() as folder:
        if is_company:
            settings = company_settings(name, settings, Path(folder) / "company")
        settings = settings.model_copy(update={"planner": settings.planner.model_copy(update={"model_votes": votes})})
        yield mails, open_decider(settings, stderr_progress(), in_memory=True)


def tried_by(decider: Decider, mails: Sequence[Mail]) -> list[ScoredMail]:
    """Each mail, decided and scored."""
    by_path = {path_of(mail): mail for mail in mails}

    def one(label: MailLabel) -> DryRunResult:
        raw, customer = raw_of(by_path[label.path]), label.customer if label.level >= 3 else None
        return dry_run_by(decider).try_mail(label.path.name, raw, TODAY, as_level=label.level, as_customer=customer)

    return evaluate(map(label_of, mails), one)


def path_of(mail: Mail) -> Path:
    """What a mail of a set is called."""
    return Path(f"{mail.id}.eml")


def raw_of(mail: Mail, address: str = "support@harborfile.example") -> bytes:
    """The mail as it is sent."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = mail.address, address, mail.subject
    message["Date"], message["Message-ID"] = "Mon, 16 Nov 2026 09:00:00 +0000", f"<{mail.id}@mails.example>"
    message.set_content(mail.text)
    return message.as_bytes()


def label_of(mail: Mail) -> MailLabel:
    """The same label as those of the `.eml` sets have."""
    return MailLabel(
        path=path_of(mail),
        customer=mail.address,
        level=mail.level,
        kind=mail.kind,
        language=mail.language,
        expected=mail.expected,
        sections=mail.sections,
    )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
