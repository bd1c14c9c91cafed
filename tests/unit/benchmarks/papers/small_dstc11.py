"""A benchmark of DSTC11's form, made up: two guest houses, a restaurant, and a few dialogues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KNOWLEDGE: dict[str, Any] = {
    "hotel": {
        "0": {
            "name": "SILVER FOX GUEST HOUSE",
            "reviews": {
                "0": {"traveler_type": "Couples", "sentences": {"0": "The wifi was fast.", "1": "The bed was soft."}},
                "1": {"sentences": {"0": "Breakfast came late.", "1": "Our wifi broke at night."}},
            },
            "faqs": {"0": {"question": "Is there parking?", "answer": "Yes, parking is free."}},
        },
        "3": {
            "name": "THE QUIET HARE",
            "reviews": {"0": {"sentences": {"0": "The wifi is good here.", "1": "The garden is green."}}},
            "faqs": {"0": {"question": "Is there parking?", "answer": "No, parking is in the street."}},
        },
    },
    "restaurant": {
        "7": {
            "name": "BADGER NOODLE BAR",
            "reviews": {"0": {"dishes": [], "sentences": {"0": "The noodles were hot.", "1": "The beer was warm."}}},
            "faqs": {},
        }
    },
}  # fmt: skip
RESPONSE = "The wifi was fast, guests say."


def review(number: int, document: int, sentence: int, domain: str = "hotel") -> dict[str, Any]:
    """A gold sentence."""
    return {
        "domain": domain, "entity_id": number, "doc_type": "review", "doc_id": document, "sent_id": sentence,
    }  # fmt: skip


def faq(number: int) -> dict[str, Any]:
    """A gold answer."""
    return {"domain": "hotel", "entity_id": number, "doc_type": "faq", "doc_id": 0}


DIALOGUES: list[tuple[list[str], list[dict[str, Any]]]] = [
    (["I need a room.", "Silver Fox is free.", "Is the wifi good?"], [review(0, 0, 0), review(0, 1, 1)]),
    (["Tell me of the quiet hares.", "What of them?", "How is the wifi?"], [review(3, 0, 0)]),
    (["Is the Badger Noodel Bar open?", "It is.", "Are the noodles hot?"], [review(7, 0, 0, "restaurant")]),
    (["Silver Fox or Quiet Hare?", "Both are free.", "Is there parking at either of them?"], [faq(0), faq(3)]),
    (["Hello.", "Silver Fox has a room.", "How is the bed?"], [review(0, 0, 1)]),
    (["Hello.", "The Quiet Hare has a room.", "Is there a garden?"], [review(3, 0, 1)]),
]


def write_benchmark(folder: Path, *, labels: list[dict[str, Any]] | None = None) -> Path:
    """The three files; the last dialogue needs no knowledge."""
    folder.mkdir(exist_ok=True)
    logs = [[{"speaker": "US"[n % 2], "text": text} for n, text in enumerate(texts)] for texts, _ in DIALOGUES]
    logs.append([{"speaker": "U", "text": "Thanks."}])
    gold = [{"target": True, "knowledge": knowledge, "response": RESPONSE} for _, knowledge in DIALOGUES]
    (folder / "logs.json").write_text(json.dumps(logs), encoding="utf-8")
    (folder / "labels.json").write_text(json.dumps(labels or [*gold, {"target": False}]), encoding="utf-8")
    (folder / "knowledge.json").write_text(json.dumps(KNOWLEDGE), encoding="utf-8")
    return folder
