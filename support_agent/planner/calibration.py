"""Reads the calibration of the choice for one company, the file that `support-agent calibrate --write` makes.

The file states what it was computed for and from. It is ignored if it was made for other weights, embedding models or
language model votes. If it was made from other company texts or with another `planner.threshold_answer`, it may neither
lower a threshold nor raise a probability.

Invariant: no threshold is below `planner.threshold_floor`, and no unproven threshold is below
`planner.threshold_answer`. Checked by tests/unit/planner/test_calibration.py.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from support_agent.config.settings import Settings
from support_agent.core.findings import Finding, Severity
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.models.pinned import LANGUAGE_MODEL
from support_agent.planner.choice import ModelVotes
from support_agent.planner.combiner import Calibration, committed

AGAIN = "run `support-agent calibrate --write` again"
Share = Annotated[float, Field(ge=0, le=1)]
TopicKind = Literal["document", "field", "series", "record"]
Verdict = Literal["proven", "raised", "kept"]
"""proven: the upper bound is at most the risk. raised: not proven, but too many answers were wrong, so the threshold
was raised. kept: too few answers to decide."""


class MadeFor(Frozen):
    """The configuration that a calibration is valid for."""

    combiner: str
    embedders: tuple[str, ...]
    model_votes: ModelVotes
    model: str


class MadeFrom(Frozen):
    """What a calibration was computed from.

    `examples` counts held-out example questions, `without_topic` those whose topic was held out as well, `mails` the
    questions of labelled mails. `topics` is the checksum of the company's texts.
    """

    examples: int
    without_topic: int
    mails: int
    topics: str
    threshold_answer: Share


class KindThreshold(Frozen):
    """The threshold of one kind of topic, and what it was computed from.

    Of the `answers` that reach the threshold, `wrong` are wrong; `low` and `high` each bound the share of wrong answers
    with 95 % confidence (Clopper-Pearson). Of the `questions` with a topic of this kind, `right` are answered
    correctly, and `right_before` at `planner.threshold_answer`.
    """

    kind: TopicKind
    verdict: Verdict
    threshold: Share
    answers: Annotated[int, Field(ge=0)]
    wrong: Annotated[int, Field(ge=0)]
    low: Share
    high: Share
    questions: Annotated[int, Field(ge=0)]
    right: Annotated[int, Field(ge=0)]
    right_before: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.wrong > self.answers or (self.verdict == "proven" and not self.answers):
            raise ValueError("wrong exceeds answers, or verdict is proven without answers")
        return self


class CompanyCalibration(Frozen):
    """The calibration file; `risk` is the requested share of wrong answers."""

    format: Literal[1] = 1
    made_at: datetime
    risk: Share
    made_for: MadeFor
    made_from: MadeFrom
    sharpness: Annotated[float, Field(ge=0.1, le=5, allow_inf_nan=False)]
    none_shift: Annotated[float, Field(ge=-3, le=10, allow_inf_nan=False)]
    thresholds: tuple[KindThreshold, ...]

    @property
    def version(self) -> str:
        """The name of this calibration in plans made with it."""
        return f"calibration-{hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]}"


def made_for(settings: Settings) -> MadeFor:
    """The `made_for` of a calibration that is valid for a configuration."""
    models, votes = tuple(model.value for model in settings.embedding.models), settings.planner.model_votes
    model = settings.model
    named = model.name if model.planner == "openai" else model.path.name if model.path else LANGUAGE_MODEL.name
    return MadeFor(
        combiner=committed(models).version,
        embedders=tuple(sorted(models)),
        model_votes=votes,
        model="" if votes == "never" else named,
    )


def read_calibration(path: Path) -> CompanyCalibration | None:
    """The calibration in a file; None if there is no file.

    Raises:
        ConfigError: the file is not a calibration.
    """
    try:
        return CompanyCalibration.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        what = error.strerror if isinstance(error, OSError) else "not made by this program"
        raise ConfigError(f"{path}: {what}: delete it, or {AGAIN}") from error


def write_calibration(path: Path, made: CompanyCalibration) -> None:
    """Write the file, replacing an existing one.

    Raises:
        ConfigError: it cannot be written.
    """
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(made.model_dump_json(indent=2) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: set planner.calibration to a file that can be written") from error


def calibration_of(settings: Settings, topics: str) -> Calibration:
    """The part of the calibration that is valid for this configuration and these texts.

    Args:
        topics: Checksum of the company's texts.
    Raises:
        ConfigError: the file is not a calibration.
    """
    found = read_calibration(settings.planner.calibration)
    if found is None or found.made_for != made_for(settings):
        return Calibration()
    least, sharpness, none_shift = settings.planner.threshold_floor, found.sharpness, found.none_shift
    if not may_lower(found, settings, topics):  # nor raise probabilities, which has the same effect
        least = max(least, settings.planner.threshold_answer)
        sharpness, none_shift = min(1.0, sharpness), max(0.0, none_shift)
    return Calibration(
        sharpness=sharpness,
        none_shift=none_shift,
        thresholds={one.kind: max(one.threshold, least) for one in found.thresholds if one.verdict != "kept"},
        version=found.version,
    )


def may_lower(found: CompanyCalibration, settings: Settings, topics: str) -> bool:
    """Whether the calibration's proof still holds: same texts, same default threshold."""
    origin = found.made_from
    return origin.topics == topics and origin.threshold_answer == settings.planner.threshold_answer


def calibration_findings(settings: Settings, topics: str | None) -> list[Finding]:
    """Why the file is not used, or only in part.

    Args:
        topics: Checksum of the company's texts; None if they cannot be read.
    """
    path = settings.planner.calibration
    try:
        found = read_calibration(path)
    except ConfigError as error:
        what, _, todo = str(error).removeprefix(f"{path}: ").partition(": ")
        return [Finding(severity=Severity.ERROR, path=path, line=None, what=what, todo=todo)]
    if found is None:
        return []
    now, then = made_for(settings), found.made_for
    names = ("weights", "embedding.models", "planner.model_votes", "language model")
    pairs = zip(names, _shown(then), _shown(now), strict=True)
    other = [f"{name} {before}, not {after}" for name, before, after in pairs if before != after]
    problems = [f"the calibration is ignored: it was made for {'; '.join(other)}"] if other else []
    if not problems and topics is not None and not may_lower(found, settings, topics):
        problems = ["documents, accounts or planner.threshold_answer have changed since, so it lowers no threshold"]
    return [Finding(severity=Severity.WARNING, path=path, line=None, what=what, todo=AGAIN) for what in problems]


def _shown(made: MadeFor) -> tuple[str, ...]:
    return made.combiner, ", ".join(made.embedders), made.model_votes, made.model or "none"
