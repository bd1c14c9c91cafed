"""The weights of a trained policy as a JSON file, named by the sha256 of its content.

A file names the actions, features and limits of its numbers, and how they were trained; a file for others is refused,
because its numbers would mean something else. Nothing is unpickled.
Invariant: loading returns exactly what was saved. Checked by tests/unit/facts/learning/test_policy_weights.py.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Floats, InquiryLimits, Softmax

DECIMALS = 6
TRAIN_AGAIN = "train the policy again"


class PolicyWeights(Frozen):
    """A trained policy: `values` has a row for each action, with a number for each feature.

    `episodes`, `seed` and `people` (escalated cases) describe the training; `made_with` is the library of the random
    numbers, whose next version may draw others.
    """

    format: Literal[1] = 1
    actions: tuple[str, ...]
    features: tuple[str, ...]
    limits: InquiryLimits
    episodes: int = Field(ge=0)
    seed: int = Field(ge=0)
    people: int = Field(default=0, ge=0)
    made_with: str
    values: tuple[tuple[float, ...], ...]

    @property
    def name(self) -> str:
        """sha256 of the JSON, in hex."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The canonical JSON of a policy."""
        return self.model_dump_json(indent=1) + "\n"

    def policy(self) -> Softmax:
        """The policy that decides by these weights."""
        return Softmax(np.array(self.values, dtype=np.float64), self.limits, self.name)


def weights_of(values: Floats, *, limits: InquiryLimits, episodes: int, seed: int, people: int) -> PolicyWeights:
    """Weights to save, of shape (actions, features), rounded to 6 decimals."""
    rounded = np.round(values, DECIMALS) + 0.0  # no minus zero
    return PolicyWeights(
        actions=tuple(ACTIONS),
        features=FEATURES,
        limits=limits,
        episodes=episodes,
        seed=seed,
        people=people,
        made_with=f"numpy {np.__version__}",
        values=tuple(tuple(float(value) for value in row) for row in rounded),
    )


def save(weights: PolicyWeights, folder: Path) -> Path:
    """Write the weights atomically to `policy-<sha256>.json` in the folder; returns the file.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    path = folder / f"policy-{weights.name}.json"
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_text(weights.to_json(), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; choose another folder") from error
    return path


def load(path: Path) -> PolicyWeights:
    """Read weights that `save` wrote.

    Raises:
        ConfigError: the file is missing, invalid, changed, or for other actions or features.
    """
    try:
        text = path.read_text(encoding="utf-8")
        weights = PolicyWeights.model_validate_json(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; {TRAIN_AGAIN}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text; {TRAIN_AGAIN}") from error
    except ValidationError as error:
        detail = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, detail["loc"])) or "the file"
        raise ConfigError(f"{path}: {where}: {detail['msg']}; {TRAIN_AGAIN}") from error
    if what := _wrong(weights):
        raise ConfigError(f"{path}: {what}; {TRAIN_AGAIN}")
    if path.name != f"policy-{weights.name}.json" or text != weights.to_json():
        raise ConfigError(f"{path}: its name is not its checksum: the file was changed or renamed; {TRAIN_AGAIN}")
    return weights


def _wrong(weights: PolicyWeights) -> str | None:
    """Why this program cannot decide by these weights."""
    if weights.actions != tuple(ACTIONS):
        return f"it is for the actions {', '.join(weights.actions)}"
    if weights.features != FEATURES:
        other = sorted(set(weights.features) ^ set(FEATURES))
        return f"it is for other features ({', '.join(other) or 'in another order'})"
    if [len(row) for row in weights.values] != [len(FEATURES)] * len(ACTIONS):
        shape = " ".join(str(len(row)) for row in weights.values)
        return f"it has rows of {shape} numbers, not {len(ACTIONS)} rows of {len(FEATURES)}"
    if not np.isfinite(np.array(weights.values)).all():
        return "a weight is not a number"
    return None
