"""`python -m tests.benchmarks.papers.policy PART --out FILE.jsonl`: record cases of the real room to train a policy on.

PART `training`: the tuning mails, and those to the companies that may be developed on; `reported`: the labelled mails,
and those to the others. `support-agent facts train TRAINING --reported REPORTED --picture CURVE.svg` learns from them
and compares: trained, always, self-ask, never and random. Checked by tests/unit/benchmarks/papers/test_policy.py.
Source: LLM-Augmenter (Peng et al. 2023), policy learning by REINFORCE.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from support_agent.company.company import Company
from support_agent.core.levels import CUSTOMER
from support_agent.facts.learning.recording import Asking, record
from support_agent.facts.opening import open_recording
from support_agent.ops.evals.mail_questions import asking, askings
from support_agent.ops.retrieval_report import searchable
from support_agent.planner.questions import questions_of
from support_agent.planner.segments import Read
from tests.benchmarks.companies import TODAY, WITH_PAPERS, company_settings, demo_settings, mails_of
from tests.benchmarks.papers.command import run
from tests.labelled import labels


class Part(StrEnum):
    """What the cases are for."""

    TRAINING = "training"
    REPORTED = "reported"


COMPANIES = {Part.TRAINING: ("demo", *WITH_PAPERS), Part.REPORTED: ("demo", "rail", "insurer")}
MAILS = {Part.TRAINING: "tuning", Part.REPORTED: "labelled"}
"""Those to the demo company."""


def asked_of(part: Part, company: str, read: Read) -> Iterator[Asking]:
    """The questions of a part to a company; mails of machines ask none."""
    if company == "demo":
        yield from askings(labels(MAILS[part]), read)
        return
    for mail in mails_of(company):
        if mail.kind != "machine" and len(mail.expected) == 1:
            question = " ".join(questions_of(mail.subject, mail.text, read))
            yield from asking(f"{company}-{mail.id}", question, mail.expected[0], *mail.sections)


def main(
    part: Annotated[Part, typer.Argument(metavar="PART", help="training or reported.")],
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="Cases are appended; those it has are kept.")],
    cases: Annotated[int, typer.Option(min=1, metavar="N", help="So many of each company's questions.")] = 15,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Of the order of the questions.")] = 1,
    drafts: Annotated[bool, typer.Option("--drafts", help="With drafts, which mails do without by default.")] = False,
) -> None:
    """Look into questions along every path with the embedded model, and append a line a question."""
    with demo_settings() as settings:
        for name in COMPANIES[part]:
            with tempfile.TemporaryDirectory() as folder:
                own = company_settings(name, settings, Path(folder))
                company = Company.load(own.company)
                try:
                    allowed: Sequence[str] = tuple(searchable(company.documents, TODAY.date(), CUSTOMER))
                    with open_recording(own, company, frozenset(allowed), drafts=drafts) as (workflow, read):
                        asked = asked_of(part, name, read)
                        n = record(out, asked, workflow, company.by_number, cases=cases, seed=seed)
                finally:
                    company.accounts.close()
            typer.echo(f"{name}: {n} cases in {out}", err=True)


if __name__ == "__main__":
    run(main, "policy")
