"""The committed vote on the real embedders: plain questions of each kind, in several languages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from support_agent.config.embedding import EmbeddingModel, EmbeddingSettings
from support_agent.config.settings import Settings
from support_agent.facts.answer_kinds import log_odds
from support_agent.models.embedders import PINNED, load_embedders
from support_agent.models.embedding.port import Embedder
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail
from tests.unit.models.packages import RecordedProgress

DOCUMENT = (
    "How long do I have to send something back?",
    "Was kostet der Versand nach Österreich?",
    "Comment puis-je changer mon mot de passe ?",
)
ACCOUNT = (
    "How much did I pay last month?",
    "Bis wann läuft mein Vertrag?",
    "Quel est le solde de mon compte ?",
)
PERSON = (
    "Your driver was rude to my mother and I want an apology.",
    "Bitte rufen Sie mich heute noch an, ich bin wirklich verärgert.",
    "Votre livreur a cassé ma porte, j'exige que quelqu'un vienne la réparer.",
)


@pytest.fixture(scope="module", params=[("minilm", "use", "e5"), ("minilm", "use")])
def embedders(request: pytest.FixtureRequest) -> Mapping[str, Embedder]:
    settings = Settings(embedding=EmbeddingSettings(models=tuple(map(EmbeddingModel, request.param))))
    if any(locate(PINNED[model], cache_dir(settings.model)) is None for model in settings.embedding.models):
        skip_or_fail("the embedding models are not in the cache: run 'support-agent model pull'")
    return dict(zip(request.param, load_embedders(settings, RecordedProgress()), strict=True))


def test_questions_of_a_kind_are_told_from_the_others(embedders: Mapping[str, Embedder]) -> None:
    """Rule: it is a vote, so of plain questions the mean is told, in log-odds, not each one."""
    texts = [*DOCUMENT, *ACCOUNT, *PERSON]
    account, person = log_odds({name: embedder.embed(texts, "query") for name, embedder in embedders.items()}).T
    for odds, own in ((account, slice(3, 6)), (person, slice(6, 9))):
        assert odds[own].mean() > np.delete(odds, own).mean() + 1, odds
