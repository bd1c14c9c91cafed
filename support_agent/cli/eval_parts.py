"""Opens the chooser, the search and the decider for `eval` and `calibrate`.

What takes a second to import is imported where it is opened. Checked by
tests/unit/cli/test_eval.py and tests/unit/cli/test_calibrate.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from support_agent.app import open_dry_run
from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.errors import PermanentError
from support_agent.facts.opening import open_topic_search
from support_agent.models.language_model import Prompt, Scores
from support_agent.models.opening import close, open_model
from support_agent.models.progress import stderr_progress

if TYPE_CHECKING:
    from datetime import datetime

    from support_agent.company.company import Company
    from support_agent.facts.search import CompanySearch
    from support_agent.facts.topics import Topic
    from support_agent.mail.message import Message
    from support_agent.ops.dry_run import Tried
    from support_agent.ops.evals.calibrating import Fit
    from support_agent.ops.evals.intents import Way
    from support_agent.ops.evals.mail_labels import Label
    from support_agent.planner.calibration import CompanyCalibration
    from support_agent.planner.choice import Chooser, Option

_NUMBERS = count(1)
"""Of the collections, as those in memory share one store."""


class _Unasked:
    """Stands in for the language model where it has no vote."""

    name = "none"

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        raise PermanentError("the language model has no vote here")


@contextmanager
def open_chooser(settings: Settings) -> Iterator[Chooser]:
    """What chooses topics, without a calibration; the language model is loaded only where it may vote."""
    from support_agent.planner.choice import Chooser
    from support_agent.planner.combiner import committed

    votes = settings.planner.model_votes
    model = _Unasked() if votes == "never" else open_model(settings, stderr_progress())
    try:
        yield Chooser(model, committed(tuple(settings.embedding.models)), model_votes=votes)
    finally:
        close(model)


@contextmanager
def open_intents(settings: Settings, topics: Sequence[Topic]) -> Iterator[tuple[CompanySearch, Way]]:
    """A search in these topics, in memory, and the way their questions are decided.

    Raises:
        ConfigError: a model cannot be used.
    """
    from support_agent.ops.evals.intents import Way
    from support_agent.planner.choice import Option

    search = open_topic_search(settings, in_memory=True, name=f"measured-{next(_NUMBERS)}")
    search.update(topics)
    options = {topic.key: Option(key=topic.key, title=topic.title) for topic in topics}
    with open_chooser(settings) as chooser:
        yield search, Way(chooser, options, settings.planner.threshold_answer, settings.planner.shortlist)


def open_mail_trial(settings: Settings) -> Callable[[Label], Tried]:
    """Tries a labelled mail as the product decides it, on the day it is dated.

    Raises:
        ConfigError: a file of the company or a model cannot be used; when a mail is tried, it cannot be read.
    """
    from support_agent.mail.message import parse
    from support_agent.ops.dry_run import read_mail

    dry_run = open_dry_run(settings)

    def tried(label: Label) -> Tried:
        raw = read_mail(label.path, settings.imap.max_message_bytes)
        now = parse(raw).sent_at or utc_now()
        return dry_run.try_mail(label.path.name, raw, now, as_level=label.level, as_customer=label.customer)

    return tried


def calibrate(
    settings: Settings, risk: float, labels: Sequence[Label], made_at: datetime
) -> tuple[CompanyCalibration, Fit]:
    """Adjust the choice to the company of the configuration.

    Args:
        risk: The share of wrong answers that is allowed, 0..1.
        labels: Of mails of its own that add to its example questions.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.company.company import Company
    from support_agent.facts.topics import topics_of, version_of_topics
    from support_agent.ops.evals.calibrating import fit, thresholds
    from support_agent.ops.evals.intents import Way
    from support_agent.ops.evals.leaving_out import examples_of, left_out, of_mails, without_topic
    from support_agent.planner.calibration import CompanyCalibration, MadeFrom, made_for

    company, planner = Company.load(settings.company), settings.planner
    topics = topics_of(company)
    examples = examples_of(company, topics)
    search = open_topic_search(settings, in_memory=True, name=f"measured-{next(_NUMBERS)}")
    groups = [list(left_out(topics, examples, search)), list(without_topic(topics, examples, search))]
    search.update(topics)
    groups.append(list(of_mails(labels, search, partial(_is_for_a_machine, settings, company))))
    options = _options_of(company, topics)
    with open_chooser(settings) as chooser:
        found = fit(
            [one for group in groups for one in group],
            Way(chooser, options, planner.threshold_answer, planner.shortlist),
        )
    origin = MadeFrom(
        examples=len(groups[0]),
        without_topic=len(groups[1]),
        mails=len(groups[2]),
        topics=version_of_topics(topics),
        threshold_answer=planner.threshold_answer,
    )
    made = CompanyCalibration(
        made_at=made_at,
        risk=risk,
        made_for=made_for(settings),
        made_from=origin,
        sharpness=found.calibration.sharpness,
        none_shift=found.calibration.none_shift,
        thresholds=thresholds(found.after, risk, planner.threshold_answer, planner.threshold_floor),
    )
    return made, found


def _is_for_a_machine(settings: Settings, company: Company, message: Message) -> bool:
    from support_agent.mail.machines.screening import Verdict, screen

    accounts = company.accounts
    found = screen(message, settings.agent, settings.desk, lambda address: accounts.customer(address) is not None)
    return found.verdict is Verdict.ANSWER


def _options_of(company: Company, topics: Sequence[Topic]) -> dict[str, Option]:
    """The topics as the planner shows them to the language model."""
    from support_agent.planner.topics import topic_option

    documents = company.by_number
    return {topic.key: topic_option(topic.key, documents, company.accounts) for topic in topics}
