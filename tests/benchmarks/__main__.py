"""`make bench`: what a choice costs, beside other ways to use the same model, measured side by side in one run.

Ratios are the result; seconds are this machine's and are asserted nowhere. The mails are the single-document ones of
the tuning set, in one fixed order. Right means: the document that the label names; for the free text, which chooses
nothing, that it states no number that stands in neither the document nor the mail.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import llama_cpp

from support_agent.app.wiring import open_decider
from support_agent.config.loading import load
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.mail.message import Message, parse
from support_agent.mail.senders.identity import Sender
from support_agent.models.language_model import Prompt, Scores
from support_agent.models.llama import LlamaModel
from support_agent.models.openai import OpenAIModel
from support_agent.models.progress import stderr_progress
from support_agent.models.pulling import language_model
from support_agent.planner.choice import NONE_TITLE, SYSTEM
from support_agent.workflow.decide import Decider
from tests.servers.llama import serve

MAILS = Path(__file__).parent.parent / "mails" / "tuning"
COUNT = 12
TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
CONTEXT_TOKENS = 4096
ANSWER_TOKENS = 200
NOTE = (
    "right: the labelled document was chosen; (c) is given it, so there: every number in the reply stands in the "
    "document or the mail, and nothing more is judged"
)
_LIST_MARKER = re.compile(r"^\s*\**\d+[.)]\s", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NO_CENTS = re.compile(r"[.,]00$")


@dataclass
class Tally:
    """What one way cost over all mails, and for how many it was right."""

    name: str
    seconds: float = 0.0
    tokens: int = 0
    passes: int = 0
    right: int = 0


@dataclass(frozen=True)
class Case:
    """One mail with the number of the document that answers it."""

    message: Message
    number: int

    @property
    def text(self) -> str:
        return f"{self.message.subject}. {self.message.visible_text}"


def main() -> None:
    """Measure and print."""
    cases = _cases()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        init(workspace, TODAY.date())
        settings = load(workspace / CONFIG_FILE)
        path = language_model(settings.model, stderr_progress())
        model = LlamaModel(path, context_tokens=CONTEXT_TOKENS)
        decider = open_decider(settings, stderr_progress(), in_memory=True, model=model)
        titles = {int(document.number): document.head.title for document in decider.company.documents}
        tallies = [_plans(decider, cases), _one_choice(model, titles, cases)]
        model.close()
        tallies += [_json_grammar(path, titles, cases), _free_text(path, decider, cases)]
        with serve(path, Path(folder) / "log.txt", CONTEXT_TOKENS) as server:
            remote = OpenAIModel(server.base_url, server.model, server.api_key, timeout_s=120.0, max_retries=2)
            tallies.append(_instructor(remote, titles, cases))
    print_table(tallies, len(cases))


def _cases() -> list[Case]:
    labels = [json.loads(line) for line in (MAILS / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    chosen = []
    for label in labels:
        if label["kind"] == "document" and label["language"] == "en" and len(label["expected"][0]) == 1:
            number = int(label["expected"][0][0].removeprefix("send_document(").removesuffix(")"))
            chosen.append(Case(parse((MAILS / label["file"]).read_bytes()), number))
    return chosen[:COUNT]


def timed(tally: Tally, cases: list[Case], choose: Callable[[Case], tuple[int | None, int, int]]) -> Tally:
    """Run one way over the mails; `choose` gives the number it chose, tokens and forward passes."""
    choose(cases[0])  # warm
    for case in cases:
        started = time.perf_counter()
        number, tokens, passes = choose(case)
        tally.seconds += time.perf_counter() - started
        tally.tokens += tokens
        tally.passes += passes
        tally.right += number == case.number
    return tally


def _plans(decider: Decider, cases: list[Case]) -> Tally:
    def choose(case: Case) -> tuple[int | None, int, int]:
        address = case.message.from_.addr if case.message.from_ else ""
        plan = decider.decide(case.message, Sender(address=address, level=2, why="bench"), None, TODAY).plan
        sent = [call.args["number"] for call in plan.calls if call.tool == "send_document" and call.status == "done"]
        return (int(sent[0]) if sent else None), plan.usage.tokens, plan.usage.forward_passes

    return timed(Tally("this agent: the whole plan, all votes"), cases, choose)


def _one_choice(model: LlamaModel, titles: dict[int, str], cases: list[Case]) -> Tally:
    options = [*titles.values(), NONE_TITLE]
    listing = "\n".join(f"- {title}" for title in options)
    numbers = [*titles, None]

    def asked(text: str) -> Scores:
        system = f"{SYSTEM}\n\nThe answers there are:\n{listing}"
        return model.score(Prompt(system=system, task="Mail:\n", parts=((text, False),)), options)

    prior = asked("").log_probabilities or ()

    def choose(case: Case) -> tuple[int | None, int, int]:
        scores = asked(case.text)
        said = [now - was for now, was in zip(scores.log_probabilities or (), prior, strict=True)]
        return numbers[max(range(len(said)), key=said.__getitem__)], scores.usage.tokens, scores.usage.forward_passes

    return timed(Tally("one closed choice among all titles, its prior removed"), cases, choose)


def _json_grammar(path: Path, titles: dict[int, str], cases: list[Case]) -> Tally:
    llama: Any = llama_cpp.Llama(str(path), n_ctx=CONTEXT_TOKENS, verbose=False)
    call = {
        "type": "object",
        "properties": {"tool": {"const": "send_document"}, "title": {"enum": [*titles.values(), NONE_TITLE]}},
        "required": ["tool", "title"],
    }
    by_title = {title: number for number, title in titles.items()}

    def choose(case: Case) -> tuple[int | None, int, int]:
        reply = llama.create_chat_completion(
            messages=_messages(titles, case),
            response_format={"type": "json_object", "schema": call},
            temperature=0.0,
            max_tokens=64,
        )
        usage = reply["usage"]
        title = json.loads(reply["choices"][0]["message"]["content"]).get("title")
        return by_title.get(title), usage["total_tokens"], usage["completion_tokens"]

    tally = timed(Tally("(a) the call written as JSON under a grammar"), cases, choose)
    llama.close()
    return tally


def _free_text(path: Path, decider: Decider, cases: list[Case]) -> Tally:
    llama: Any = llama_cpp.Llama(str(path), n_ctx=CONTEXT_TOKENS, verbose=False)
    documents = {int(document.number): document for document in decider.company.documents}

    def choose(case: Case) -> tuple[int | None, int, int]:
        words = " ".join(sentence.text for sentence in documents[case.number].sentences)
        system = f"Answer the customer's mail from this document and nothing else.\n\n{words}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": case.text}]
        reply = llama.create_chat_completion(messages=messages, temperature=0.0, max_tokens=ANSWER_TOKENS)
        usage = reply["usage"]
        said = reply["choices"][0]
        text = said["message"]["content"]
        if said["finish_reason"] == "length":  # the last word may be half a number
            text = re.sub(r"\S+$", "", text)
        number = None if invented_numbers(text, f"{words} {case.text}") else case.number
        return number, usage["total_tokens"], usage["completion_tokens"]

    tally = timed(Tally("(c) an answer in free text, the right document given"), cases, choose)
    llama.close()
    return tally


def invented_numbers(reply: str, source: str) -> set[str]:
    """Amounts, dates and limits of a reply that its source does not have; the numbers of list items are none.

    A number is digits with points, commas and colons between them: "1,500" is 1500 and "38.00" is 38. Its unit is not
    compared, nor are numbers in words.
    """
    return _numbers(_LIST_MARKER.sub("", reply)) - _numbers(source)


def _numbers(text: str) -> set[str]:
    return {_NO_CENTS.sub("", number) for number in _NUMBER.findall(_THOUSANDS.sub("", text))}


def _instructor(model: OpenAIModel, titles: dict[int, str], cases: list[Case]) -> Tally:
    options = [*titles.values(), NONE_TITLE]
    listing = "\n".join(f"- {title}" for title in options)
    numbers = [*titles, None]

    def choose(case: Case) -> tuple[int | None, int, int]:
        prompt = Prompt(
            system=f"{SYSTEM}\n\nThe answers there are:\n{listing}", task="Mail:\n", parts=((case.text, False),)
        )
        try:
            scores = model.score(prompt, options)
        except Exception as error:  # an unusable reply is a wrong answer here
            print(f"instructor: {error}", file=sys.stderr)  # noqa: T201
            return None, 0, 0
        picked = scores.picked
        return (None if picked is None else numbers[picked]), scores.usage.tokens, scores.usage.forward_passes

    return timed(Tally("(b) instructor on a local OpenAI-compatible server"), cases, choose)


def _messages(titles: dict[int, str], case: Case) -> list[dict[str, str]]:
    listing = "\n".join(f"- {title}" for title in [*titles.values(), NONE_TITLE])
    return [
        {"role": "system", "content": f"{SYSTEM}\n\nThe answers there are:\n{listing}"},
        {"role": "user", "content": case.text},
    ]


def print_table(tallies: list[Tally], count: int) -> None:
    """A line a way; the ratio is to the first one."""
    base = tallies[0].seconds
    rows = [("way", "s a mail", "ratio", "tokens", "passes", "right")]
    for tally in tallies:
        rows.append(
            (
                tally.name,
                f"{tally.seconds / count:.2f}",
                f"{tally.seconds / base:.2f}",
                f"{tally.tokens / count:.0f}",
                f"{tally.passes / count:.1f}",
                f"{tally.right} of {count}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201
    print(NOTE)  # noqa: T201


if __name__ == "__main__":
    main()
