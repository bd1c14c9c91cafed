"""What really leaves the house: every request of a room with the web on, recorded by the servers that got it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from support_agent.config.facts import GradingSettings
from support_agent.facts.grading_words import DOCUMENT_ASK, HALLUCINATION_ASK, ROUTE_ASK
from support_agent.facts.graph.entities import Linker
from support_agent.facts.inquiry.room import Rooms
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.web.open_search import open_merged_search
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material
from support_agent.tools.fact_room import RetrievalResult
from tests.fakes_facts import Piece, ScriptedRetriever, ScriptedWriter
from tests.fakes_search import HandClock
from tests.integration.facts.test_open_search import ARTICLES, world
from tests.servers.web import WebServer
from tests.unit.facts.words import WordEmbedder

NAMES = ("Anna-Marie Köller", "a.m.koeller@mail.example", "Köller Stahlbau", "Jörn Østby")
QUESTION = """Hi, ANNA KÖLLER here (a.m.koeller@mail.example, tel. +49 (0)30 123 45 67). How long does a refund take?
My address is Hauptstraße 12a, 10115 Berlin, the IBAN DE89 3704 0044 0532 0130 00, the order HF-2231, customer 4711.
See https://shop.example/orders/2231?token=s3cret-t0ken and koeller-stahlbau.example. Jorn Ostby paid on 03.04.2025.
Best, Annas colleague of Koellers, a.m.koeller"""
REWRITTEN = "refund reimbursement duration for Anna Koeller, 10115 Berlin, order HF-2231, a.m.koeller@mail.example"
PERSONAL = (
    *("anna", "marie", "köller", "koller", "koeller", "stahlbau", "jörn", "jorn", "østby", "ostby", "mail.example"),
    *("123 45", "45 67", "1234567", "12a", "10115", "de89", "3704", "0532", "2231", "4711", "03.04", "2025"),
    *("shop.example", "orders/", "token", "s3cret", "t0ken", "://shop"),
)
YEARLY = Piece(source="document:1", first=0, last=0, text="Within 30 days.")
SEATS = Piece(source="document:13", first=0, last=0, text="Seats can be added.")


class Grader:
    """`models.judge.Judge`: to the web first, only `YEARLY` helps, and every draft is a hallucination."""

    def yes(self, question: str, material: Material) -> Grade:
        fixed = {ROUTE_ASK: 0.1, HALLUCINATION_ASK: 0.1}
        helps = 0.9 if question == DOCUMENT_ASK and YEARLY.text in str(material) else 0.1
        return Grade(probability=fixed.get(question, helps), usage=Usage())


def looked(web: object, names: tuple[str, ...]) -> RetrievalResult:
    """Look into the question: the web, the documents, the rewriting, the documents, a draft, the web again."""
    workflow = Workflow(
        judge=Grader(),
        writer=ScriptedWriter([REWRITTEN, *["You can get it back."] * 3]),
        retriever=ScriptedRetriever([[SEATS], [YEARLY]]),
        web=web,  # type: ignore[arg-type]
        settings=GradingSettings(max_cycles=2, drafts=True),
        clock=lambda: 0.0,
    )
    rooms = Rooms(workflow, lambda _: workflow.retriever, Linker(()), {})
    return rooms.open("case", None, names).retrieve(QUESTION, {1, 13})


def recorded(servers: dict[str, WebServer]) -> list[str]:
    """Each request as it came, and as whoever got it reads it; without `Host`, which has the port of a test."""
    requests = [request for server in servers.values() for request in server.asked]
    headers = [" ".join(value for name, value in one.headers.items() if name != "host") for one in requests]
    whole = [
        f"{one.method} {one.target} {head} {one.body.decode()}" for one, head in zip(requests, headers, strict=True)
    ]
    return [f"{text}\n{unquote_plus(text)}\n{_unescaped(text)}".casefold() for text in whole]


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape", "replace")


@pytest.fixture
def requests(tmp_path: Path) -> list[str]:
    """Every request to an engine, to the company's site and to a page, for the question and for its rewriting."""
    with world() as (settings, servers):
        looked(open_merged_search(settings, WordEmbedder(), HandClock()), NAMES)
        assert all(server.asked for server in servers.values())
        return recorded(servers)


def test_no_request_says_who_asks(requests: list[str]) -> None:
    """Rule: names, addresses, numbers and links of the mail, and of a model's rewriting, stay in the house."""
    for personal in PERSONAL:
        assert not [request for request in requests if personal in request], personal


def test_the_question_and_its_rewriting_are_asked(requests: list[str]) -> None:
    """The test above would prove nothing if nothing was asked."""
    assert any("how long does a refund take" in request for request in requests)
    assert any("refund reimbursement duration for" in request for request in requests)
    assert any(ARTICLES[0].slug in request for request in requests)


def test_the_same_strings_are_found_where_nothing_is_withheld() -> None:
    """Nor if the recording missed them: without the names these are in the requests."""
    with world() as (settings, servers):
        looked(open_merged_search(settings, WordEmbedder(), HandClock()), ())
        requests = recorded(servers)
    for name in ("anna", "köller", "koellers", "jorn"):
        assert any(name in request for request in requests), name
