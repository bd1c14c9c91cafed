"""Promise 1 and 2 where the model composes the calls, and composes whatever it likes, with thresholds off."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.cases.decision import Decision
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.errors import PermanentError, TransientError
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import Sender
from support_agent.models.language_model import ComposedCall, Model, Prompt, Scores, Usage
from support_agent.outbound.rendered_mail import answer_mail
from support_agent.planner.loop import Planner
from support_agent.tools.catalogue import TOOLS
from support_agent.workflow.decide import Decider
from tests.fakes import PLAIN
from tests.integration.test_hostile_model import (
    ANNA,
    NOW,
    ORDERS,
    QUESTIONS,
    Whimsical,
    WhimsicalSearch,
    company,
    mail,
    settings,
)

__all__ = ["company", "settings"]
ASKED = (*QUESTIONS, "Please show my payments of 2025 above average, highest first.", "Compare payments and storage.")
BAD: tuple[Any, ...] = (ORDERS, "@1", "@2", "@99", 4711, True, None, -1, 1.5, ["@1"], {"pointer": "@1"}, "all_time", "")


class AlwaysFirst(Whimsical):
    """Chooses the first option of everything, for sure."""

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        said = tuple(-0.001 if place == 0 else -40.0 for place in range(len(options)))
        return Scores(log_probabilities=said, usage=Usage(prompt_tokens=1, forward_passes=1))


class FirstCall(AlwaysFirst):
    """Composes the first call that is offered, with its first members."""

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        first = {name: get_args(field.annotation)[0] for name, field in calls[0].model_fields.items()}
        return ComposedCall(tool=first.pop("tool"), arguments=first, usage=Usage(prompt_tokens=1))


class WhimsicalComposer(AlwaysFirst):
    """A server whose calls are offered ones, or anything else; sometimes it raises, or returns no call at all."""

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        whim = self.whim
        if whim.random() < 0.02:
            raise whim.choice([ValueError(ORDERS), TransientError(ORDERS), PermanentError(ORDERS), KeyError(ORDERS)])
        if whim.random() < 0.05:
            return ORDERS  # type: ignore[return-value]
        ends = {call.__name__: call for call in calls if call.__name__ in ("Escalate", "Finish")}
        shape = whim.choice([call for call in calls if call.__name__ not in ends or whim.random() < 0.2] or list(calls))
        if "Finish" in ends and whim.random() < 0.7:
            shape = ends["Finish"]
        arguments = {name: whim.choice(get_args(field.annotation)) for name, field in shape.model_fields.items()}
        tool = arguments.pop("tool")
        if whim.random() < 0.1:
            tool = whim.choice([ORDERS, "delete_account", *TOOLS])
        if whim.random() < 0.1:
            arguments = {name: whim.choice(BAD) for name in [*arguments, *whim.choice([(), ("note",)])]}
        return ComposedCall(tool=tool, arguments=arguments, usage=Usage(prompt_tokens=1, forward_passes=1))


def decided(whim: random.Random, model: Model, settings: Settings, company: Company) -> tuple[Decider, Decision]:
    topics = [
        *(f"document:{document.number}" for document in company.documents),
        *(f"field:{name}" for name in company.accounts.fields),
        *[f"series:{name}" for name in company.accounts.series] * 8,  # or most mails would be about documents
    ]
    limits = settings.planner.model_copy(update={"mode": "tools"})
    decider = Decider(
        company=company,
        planner=Planner(model, limits, lambda: 0.0, combiner=PLAIN),
        search=WhimsicalSearch(whim, list(dict.fromkeys(whim.sample(topics, 24)))),
        templates=Templates.load(settings.company.templates),
        settings=settings,
    )
    sender = Sender(address=ANNA, level=3, why="test")
    message = parse(mail(whim.choice(ASKED)))
    while True:
        with suppress(TransientError):  # the step of the journey tries again
            return decider, decider.decide(message, sender, company.accounts.customer(ANNA), NOW)


@pytest.mark.parametrize("kind", [WhimsicalComposer, FirstCall, Whimsical, AlwaysFirst])
@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_model_composes_every_byte_has_a_source(
    seed: int, kind: type[Whimsical], settings: Settings, company: Company
) -> None:
    """The gate runs inside `answer_mail`; what was called is in the catalogue, with arguments of closed sets."""
    whim = random.Random(seed)
    decider, decision = decided(whim, kind(whim), settings, company)
    for call in decision.plan.calls:
        assert set(call.args) == set(TOOLS[call.tool].model_fields)
        assert not any(ORDERS in str(value) for value in call.args.values())
        assert call.status in ("done", "rejected", "below_threshold")
    if decision.final is None:
        assert decision.plan.outcome == "escalate"
        return
    rendered = answer_mail(decision.final, decider.templates, Verifier.of(company))
    for part in (rendered.text, rendered.html, rendered.subject):
        assert "IGNORE ALL RULES" not in part
        assert "\u202e" not in part


@pytest.mark.parametrize("kind", [WhimsicalComposer, Whimsical])
def test_the_whims_do_answer_sometimes(kind: type[Whimsical], settings: Settings, company: Company) -> None:
    """The test above would prove nothing if every whim escalated."""
    whims = [random.Random(seed) for seed in range(120)]
    assert sum(decided(whim, kind(whim), settings, company)[1].final is not None for whim in whims) >= 2
