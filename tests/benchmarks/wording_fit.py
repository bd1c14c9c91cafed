"""Fit the vote on what machines write, and say what it is worth beside the word lists.

A logistic regression with a ridge. Each mail is judged by a fit that saw neither its language nor its translations;
the threshold is where at most one in a hundred plain mails of customers is above it, and the intercept is shifted so
that the probability is 0.5 there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from support_agent.config.embedding import MULTILINGUAL, EmbeddingModel, EmbeddingSettings
from support_agent.config.screening import ScreeningSettings
from support_agent.config.settings import Settings
from support_agent.mail.machines.automatic_wording import why_automatic
from support_agent.mail.machines.machine_vote import WEIGHTS_FILE, MachineVote, MachineWeights, committed, features
from support_agent.models import embedders
from support_agent.models.embedding.port import Embedder, Vectors
from support_agent.models.progress import stderr_progress
from tests.machine_mails import PLAIN, MadeMail, made_mails

VERSION = "3"
RIDGE = 1.0
"""C of the regression."""
SCALES: Mapping[str, float] = {"use": 1.0, "e5": 3.0}
"""The cosines of E5 lie close together: its embeddings are multiplied, so that one ridge fits both."""
FALSE_ALARMS = 0.01
DIGITS = 4
PATH = Path(__file__).parents[2] / "support_agent" / "mail" / "machines" / WEIGHTS_FILE
DOUBTFUL = ScreeningSettings().doubtful_from
Flags = NDArray[np.bool_]


class Fit(NamedTuple):
    """The weights, and for each mail whether a fit that did not know it doubts it."""

    weights: MachineWeights
    is_doubted: Flags


def opened() -> dict[str, Embedder]:
    """The embedders that there are weights for, by name."""
    models = tuple(EmbeddingModel(name) for name in MULTILINGUAL)
    settings = Settings(embedding=EmbeddingSettings(models=models))
    return dict(zip(MULTILINGUAL, embedders.load_embedders(settings, stderr_progress()), strict=True))


def fit_all() -> dict[str, Fit]:
    """Fit the weights of each embedder to the development mails, and write them."""
    mails = made_mails("development")
    fits = {name: fit(name, embedder, mails) for name, embedder in opened().items()}
    shown = {name: found.weights.model_dump() for name, found in sorted(fits.items())}
    PATH.write_text(json.dumps(shown) + "\n", encoding="utf-8")
    return fits


def fit(name: str, embedder: Embedder, mails: Sequence[MadeMail]) -> Fit:
    """One embedder's weights."""
    found = features(embedder, [(mail.subject, mail.text) for mail in mails])
    scale = np.ones(found.shape[1], dtype=np.float32)
    scale[: 4 * embedder.dimensions] = SCALES[name]
    held_out = _held_out(found * scale, mails)
    threshold = _threshold(held_out[[mail.kind in PLAIN for mail in mails]])
    model = _fitted(found * scale, [mail.is_machine for mail in mails])
    weights = MachineWeights(
        version=f"{name}-{VERSION}",
        intercept=round(float(model.intercept_[0]) - threshold, DIGITS),
        weights=tuple(round(float(weight), DIGITS) for weight in model.coef_[0] * scale),
    )
    return Fit(weights, held_out > threshold)


def _fitted(found: Vectors, is_machine: Sequence[bool]) -> LogisticRegression:
    return LogisticRegression(C=RIDGE, class_weight="balanced", max_iter=1_000).fit(found, is_machine)


def _held_out(found: Vectors, mails: Sequence[MadeMail]) -> NDArray[np.float64]:
    """The score of each mail by a fit to mails in other languages and of other folds."""
    languages, folds = np.array([mail.language for mail in mails]), np.array([mail.fold for mail in mails])
    is_machine = np.array([mail.is_machine for mail in mails])
    scores = np.zeros(len(mails))
    for language, fold in sorted({(mail.language, mail.fold) for mail in mails}):
        tried = (languages == language) & (folds == fold)
        known = (languages != language) & (folds != fold)
        scores[tried] = _fitted(found[known], is_machine[known]).decision_function(found[tried])
    return scores


def _threshold(plain: NDArray[np.float64]) -> float:
    """Above it are at most `FALSE_ALARMS` of the scores."""
    return float(np.sort(plain)[::-1][int(FALSE_ALARMS * len(plain))])


def doubted(name: str, mails: Sequence[MadeMail]) -> Flags:
    """Which mails the committed weights of an embedder doubt."""
    vote = MachineVote(opened()[name], committed()[name], ScreeningSettings())
    return np.array([vote.probability(mail.subject, mail.text) >= DOUBTFUL for mail in mails])


def table(mails: Sequence[MadeMail], votes: Mapping[str, Flags]) -> list[str]:
    """For each kind, how many go to a person by the lists, by each vote, and by both."""
    lists = np.array([bool(why_automatic(mail.subject, mail.text)) for mail in mails])
    columns = {"lists": lists}
    for name, vote in votes.items():
        columns |= {name: vote, f"lists+{name}": lists | vote}
    kinds = np.array([mail.kind for mail in mails])
    is_machine = {mail.kind: mail.is_machine for mail in mails}
    rows = [f"{'':<36}" + "".join(f"{column:>11}" for column in ("mails", *columns))]
    for kind in sorted(is_machine, key=lambda kind: (not is_machine[kind], kind)):
        found = [str(int(column[kinds == kind].sum())) for column in columns.values()]
        what = "a machine's" if is_machine[kind] else "a person's"
        rows.append(f"{kind + ', ' + what:<36}" + "".join(f"{n:>11}" for n in (str((kinds == kind).sum()), *found)))
    plain = np.array([mail.kind in PLAIN for mail in mails])
    found = [str(int(column[plain].sum())) for column in columns.values()]
    rows.append(f"{'plain mails of customers, all':<36}" + "".join(f"{n:>11}" for n in (str(plain.sum()), *found)))
    return rows
