"""Journeys beside each other that ask one model server, and how many are in hand."""

from __future__ import annotations

import threading

from pydantic import SecretStr

from support_agent.engine.journeys import InHand
from support_agent.engine.steps import Steps
from support_agent.models.language_model import Prompt
from support_agent.models.openai import OpenAIModel
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, Launch
from tests.servers.openai import MEET_S, FakeOpenAI, pick

PROMPT = Prompt(system="Choose.", task="", parts=(("How do I get my money back?", False),))
OPTIONS = ("Refund policy", "Data export")
AT_ONCE = 4


def test_questions_of_several_journeys_are_at_the_server_at_once(
    launch: Launch, sqlite_url: str, fake_openai: FakeOpenAI
) -> None:
    """Neither the engine nor the client puts them in a row: no reply begins before all have arrived."""
    model = OpenAIModel(fake_openai.base_url, "m", SecretStr("k"), timeout_s=MEET_S, max_retries=0)
    fake_openai.answer(pick("Refund policy"))
    fake_openai.meeting = threading.Barrier(AT_ONCE)

    def handle(mail_id: str, steps: Steps) -> str:
        return steps.step("plan", lambda: OPTIONS[model.score(PROMPT, OPTIONS).picked or 0])

    journeys = launch(sqlite_url, handle, concurrency=AT_ONCE)
    for number in range(2 * AT_ONCE):
        journeys.start(f"m{number}", f"thread {number}")
    assert journeys.wait_until_idle(MEET_S)
    assert journeys.failed() == []
    assert (len(fake_openai.requests), fake_openai.most_at_once) == (2 * AT_ONCE, AT_ONCE)
    model.close()


def test_journeys_in_hand_are_counted(launch: Launch, sqlite_url: str) -> None:
    """What waits and what runs, but not what has ended: what ended for now takes no place."""
    gate = Gate()
    journeys = launch(sqlite_url, lambda mail_id, steps: steps.step("wait", gate.work), concurrency=1)
    for number in range(4):
        journeys.start(f"m{number}", f"thread {number}")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    assert journeys.in_hand() == InHand(queued=3, running=1)
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert journeys.in_hand() == InHand(0, 0)
