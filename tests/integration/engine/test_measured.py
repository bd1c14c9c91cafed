"""The benchmarks of whole journeys run, in a short form."""

from __future__ import annotations

import re

import pytest

from tests.benchmarks import intake, journeys, workers
from tests.servers.postgres import Cluster


def test_journeys_of_one_process_are_measured_and_all_end() -> None:
    assert re.match(r"4 mails in .* \{'answered': 4\}$", journeys.measured(journeys.answered(4), 2))
    assert re.match(r"4 mails in .* \{'filed': 4\}$", journeys.measured(journeys.filed(4), 2))
    assert re.match(r"a single mail waits \S+ ms \(median\), \S+ ms at most of 2$", journeys.delay(2))


def test_intake_and_empty_journeys_are_measured() -> None:
    lines = list(intake.measured(3, 1))
    assert [line.partition(" a second")[1] for line in lines] == [" a second"] * 2


@pytest.mark.servers
def test_journeys_of_several_processes_are_measured_with_two_killed(postgres_cluster: Cluster) -> None:
    *killed, line = workers.measured(postgres_cluster, 32, 4, 2, is_killing=True)
    assert len(killed) == 2
    assert line.endswith("lost 0, sent twice 0, out of order 0")
