"""`demo`: the example company's mails, answered by the embedded model over IMAP and SMTP on this machine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support_agent.demo import read_mails
from support_agent.demo.workspace import CONFIG_FILE
from tests.acceptance.program import run

COMPOSED = (
    "fetch_series(payments, last_year)",
    "filter(@1, above_average)",
    "sort(@2, highest_first)",
    "send_table(@3)",
)
"""The calls that a person who read "above average, highest first" would make; no form lists them."""
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]


@pytest.mark.usefixtures("models")
def test_the_demo_tells_each_mails_story_and_leaves_a_workspace_that_replays(tmp_path: Path) -> None:
    """Every mail is in the table at the end, answered, escalated or filed, and can be made again byte for byte.

    One of them needs calls that the model composes: filter, then sort, then send. One is shown in the README.
    """
    demo = run("demo", "--workspace", "shown", folder=tmp_path)
    assert demo.code == 0, demo.err
    table = demo.out[demo.out.rindex("sent, or why not") :]
    outcomes = {line.split()[0]: line.split()[2] for line in table.splitlines() if ".eml" in line}
    assert set(outcomes) >= {name for name, _ in read_mails()}
    assert set(outcomes.values()) == {"answered", "escalated", "filed"}
    assert "as it arrived at james.okafor@example.org" in demo.out
    composed = demo.out[demo.out.index("20-composed-question.eml   from") :]
    assert tuple(re.findall(r"^  (\w+\(.*\)) +[01]\.\d\d  done$", composed, re.MULTILINE)) == COMPOSED

    config = Path("shown", CONFIG_FILE)
    listed = run("cases", "--json", "--config", config, folder=tmp_path)
    cases = [one["case"] for one in json.loads(listed.out)]
    (shown,) = (case["id"] for case in cases if case["subject"] == "Total for last year")
    told = _plain(run("why", shown, "--config", config, folder=tmp_path).out)
    answer, sources = re.findall(r"```\n(.*?)```", README[README.index("## An answer as it arrives") :], re.DOTALL)[:2]
    assert [line for line in _plain(answer) if line not in _plain(demo.out)] == []
    assert [line for line in _plain(sources) if line not in told] == []

    replayed = run("replay", "--all", "--json", "--config", config, folder=tmp_path)
    assert replayed.code == 0, replayed.out + replayed.err
    entries = json.loads(replayed.out)["replayed"]
    assert len(entries) >= list(outcomes.values()).count("answered") > 0
    assert all(entry["is_identical"] for entry in entries)

    again = run("demo", "--workspace", "mails-of-mine", folder=_folder_of_somebody_else(tmp_path))
    assert again.code == 2
    assert "is not a demo workspace" in again.err


def _plain(text: str) -> list[str]:
    """Its lines, without how wide their columns are, nor the probabilities: the last digit is the machine's."""
    return [re.sub(r"\s[01]\.\d\d(?=\s|$)", "", " ".join(line.split())) for line in text.splitlines() if line.strip()]


def _folder_of_somebody_else(folder: Path) -> Path:
    mine = folder / "mails-of-mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("do not delete this")
    return folder
