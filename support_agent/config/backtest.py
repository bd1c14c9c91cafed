"""The section `[backtest]`: how much past mail is read, and what the report assumes.

Checked by tests/unit/ops/backtest.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen

PROVEN_BY_MAIL = -1
"""As the level to assume: the one that each mail proves."""
Share = Annotated[float, Field(ge=0, le=1)]


class BacktestSettings(Frozen):
    """How much past mail `backtest` and `what-if` read, and what their report assumes."""

    max_mails: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    """Most mails that are kept; of more, the newest."""
    max_megabytes: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Most megabytes of mail that are kept in memory; of more, the newest."""
    same_subject_days: Annotated[int, Field(ge=0, le=365)] = 14
    """An answer without In-Reply-To and References belongs to its recipient's newest mail with its subject that
    is no older than this."""
    shared_meaning: Share = 0.58
    """From this cosine on, a sentence that a person wrote says what a document's sentence says."""
    near_questions: Share = 0.35
    """From this mean cosine on, questions that nobody's document answers are in one cluster."""
    fewest_in_cluster: Annotated[int, Field(ge=2, le=1000)] = 3
    """Questions that make a cluster."""
    minutes_per_answer: Annotated[float, Field(ge=0, le=600)] = 5.0
    """Minutes that a person needs to read and answer a mail; assumed, not measured."""
    minutes_per_wrong_answer: Annotated[float, Field(ge=0, le=6000)] = 15.0
    """Minutes that a person needs to make up for a wrong automatic answer; assumed, not measured."""
