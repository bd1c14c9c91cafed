"""`python -m tests.benchmarks.answer_kinds [--fit]`: how well a question alone tells what would answer it.

`--fit` writes `support_agent/facts/answer_kinds.json`, from the questions to made-up companies in `tests/trades`, each
labelled with a section, an account value or nothing. Printed is, on the companies in `tests/companies`, which are not
among them: the area under the ROC curve of the vote for a person, among all questions, and of that for the account,
among those that something answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from support_agent.config.embedding import EmbeddingSettings, set_name
from support_agent.config.settings import Settings
from support_agent.facts import answer_kinds
from support_agent.facts.answer_kinds import WEIGHTS_FILE, KindWeights, inputs, log_odds
from support_agent.models.embedders import load_embedders
from support_agent.models.embedding.port import Embedder, Vectors
from support_agent.models.progress import stderr_progress
from support_agent.planner.choice import NONE_KEY
from support_agent.planner.combiner import ACCOUNT
from tests.benchmarks.adapter import REPORTED
from tests.benchmarks.companies import FITTED, company_questions, demo_settings, search_of
from tests.benchmarks.fit import SETS
from tests.benchmarks.trades import NOTHING, is_account, trades
from tests.benchmarks.weights_text import weights_text

WRITTEN = Path(answer_kinds.__file__).parent / WEIGHTS_FILE
VERSION = "kinds-2"
"""Change it when the weights do."""
DOCUMENT_ROW, ACCOUNT_ROW, PERSON_ROW = range(3)
INVERSE_RIDGE = 1.0
"""scikit-learn's C; tried on the companies of `FITTED`: 0.3, 1, 10."""
DIGITS = 3


def fit(embedders: dict[str, Embedder]) -> KindWeights:
    """The weights for these embedders."""
    # Without the page that is beside it, such a question reads like one that is answered.
    asked = [question for trade in trades() for question in trade.questions if not question.beside]
    kinds = [
        PERSON_ROW if one.page == NOTHING else ACCOUNT_ROW if is_account(one.page) else DOCUMENT_ROW for one in asked
    ]
    without_constant = inputs(_embedded(embedders, [one.text for one in asked]))[:, :-1]
    model = LogisticRegression(C=INVERSE_RIDGE, max_iter=1_000).fit(without_constant, kinds)
    rows = np.hstack([model.coef_, model.intercept_[:, None]])
    odds = (rows - rows[DOCUMENT_ROW]).round(DIGITS).tolist()
    return KindWeights(version=VERSION, account=odds[ACCOUNT_ROW], person=odds[PERSON_ROW])


def measured(name: str, settings: Settings, embedders: dict[str, Embedder]) -> str:
    """A company's line."""
    asked = company_questions(name, search_of(name, settings).read)
    vectors = _embedded(embedders, [one.question for one in asked])
    account_odds, person_odds = log_odds(vectors).T
    needs_person = [NONE_KEY in one.topics for one in asked]
    answered = [place for place, needs in enumerate(needs_person) if not needs]
    is_value = [asked[place].topics[0].startswith(ACCOUNT) for place in answered]
    person = roc_auc_score(needs_person, person_odds)
    account = roc_auc_score(is_value, account_odds[answered])
    return f"{name:<10} {len(asked)} questions: a person {person:.2f}, the account {account:.2f}"


def _embedded(embedders: dict[str, Embedder], texts: Sequence[str]) -> dict[str, Vectors]:
    return {name: embedder.embed(texts, "query") for name, embedder in embedders.items()}


def main() -> None:
    """Fit if told to, then measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.answer_kinds")
    parser.add_argument("--fit", action="store_true", help="fit the weights and write them")
    args = parser.parse_args()
    written = {}
    with demo_settings() as settings:
        names = [model.value for model in settings.embedding.models]
        embedders = dict(zip(names, load_embedders(settings, stderr_progress()), strict=True))
        if args.fit:
            for models in SETS:
                written[set_name(models)] = fit({name: embedders[name] for name in models}).model_dump()
            WRITTEN.write_text(weights_text(written), encoding="utf-8")
        for models in SETS:
            own = settings.model_copy(update={"embedding": EmbeddingSettings(models=models)})
            _print(f"{', '.join(models)}:")
            for name in (*FITTED, *REPORTED):
                _print(f"  {measured(name, own, {each: embedders[each] for each in models})}")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
