"""The measures of text against what sacrebleu 2.6.0 and rouge-score 0.1.2 printed for the same pairs."""

from __future__ import annotations

import pytest

from tests.benchmarks.papers.dstc11.text_measures import bleu, chrf, likeness, rouge_l

ANSWERS = [
    "The wifi was fast. Our wifi broke at night.",
    "Yes, parking is free.",
    "It's $3,500.50 -- the U.S. rate (per-night), isn't it?",
    "",
]
REFERENCES = [
    "Guests say that the wifi is fast, but it broke at night.",
    "Yes, there is free parking.",
    "It's $3,500.50, the U.S. rate per night; isn't it?",
    "Nothing is known.",
]


@pytest.mark.parametrize(
    ("number", "of_bleu", "of_rouge_l", "of_chrf"),
    [
        (0, 0.19767437766271104, 0.5714285714285714, 0.4182948779433639),
        (1, 0.21506254256566315, 2 / 3, 0.4850614469893708),
        (2, 0.43819512537676886, 1.0, 0.69161372107927),
        (3, 0.0, 0.0, 0.0),
    ],
)
def test_one_pair_is_worth_what_the_libraries_say(
    number: int, of_bleu: float, of_rouge_l: float, of_chrf: float
) -> None:
    """Rule: tokens, smoothing and orders are those of the published measures."""
    answer, reference = ANSWERS[number], REFERENCES[number]
    assert bleu([answer], [reference]) == pytest.approx(of_bleu, abs=1e-9)
    assert rouge_l(answer, reference) == pytest.approx(of_rouge_l, abs=1e-9)
    assert chrf([answer], [reference]) == pytest.approx(of_chrf, abs=1e-9)


def test_all_pairs_together_are_no_mean() -> None:
    """Rule: BLEU and chrF count over all pairs, ROUGE-L is a mean; what was not answered makes each worse."""
    assert bleu(ANSWERS[:3], REFERENCES[:3]) == pytest.approx(0.32136586265547585, abs=1e-9)
    assert chrf(ANSWERS[:3], REFERENCES[:3]) == pytest.approx(0.5415937460318945, abs=1e-9)
    found = likeness(ANSWERS, REFERENCES)
    assert found.bleu == pytest.approx(0.2857, abs=5e-5)
    assert found.chrf == pytest.approx(0.4915502055523423, abs=1e-9)
    assert found.rouge_l == pytest.approx((4 / 7 + 2 / 3 + 1) / 4)


def test_the_reference_itself_is_one() -> None:
    """Rule: the best that can be is 1."""
    found = likeness(REFERENCES[:3], REFERENCES[:3])
    assert (found.bleu, found.rouge_l, found.chrf) == pytest.approx((1.0, 1.0, 1.0))
