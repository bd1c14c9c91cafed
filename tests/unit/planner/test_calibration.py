"""The calibration of a company: what holds of a file, and what is said where it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support_agent.config.settings import Settings
from support_agent.core.findings import Severity
from support_agent.errors import ConfigError
from support_agent.planner.calibration import (
    CompanyCalibration,
    KindThreshold,
    MadeFrom,
    calibration_findings,
    calibration_of,
    made_for,
    read_calibration,
    write_calibration,
)
from support_agent.planner.combiner import Calibration
from tests.fakes_doctor import changed


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return changed(Settings(), "planner", calibration=tmp_path / "calibration.json", model_votes="never")


def threshold(kind: str, value: float, verdict: str = "proven") -> KindThreshold:
    return KindThreshold.model_validate(
        {
            "kind": kind, "verdict": verdict, "threshold": value, "answers": 200, "wrong": 0, "low": 0.0,
            "high": 0.015, "questions": 210, "right": 200, "right_before": 180,
        }
    )  # fmt: skip


def made(settings: Settings, **changes: object) -> CompanyCalibration:
    calibration = CompanyCalibration(
        made_at=datetime(2026, 11, 23, tzinfo=UTC),
        risk=0.02,
        made_for=made_for(settings),
        made_from=MadeFrom(examples=100, without_topic=30, mails=0, topics="words", threshold_answer=0.7),
        sharpness=1.2,
        none_shift=-0.1,
        thresholds=(threshold("document", 0.52), threshold("field", 0.9, "raised"), threshold("series", 0.6, "kept")),
    )
    return calibration.model_copy(update=changes)


def test_what_was_written_is_read_and_used(settings: Settings) -> None:
    written = made(settings)
    write_calibration(settings.planner.calibration, written)
    assert read_calibration(settings.planner.calibration) == written
    used = calibration_of(settings, "words")
    assert (used.sharpness, used.none_shift, used.version) == (1.2, -0.1, written.version)
    assert used.thresholds == {"document": 0.52, "field": 0.9}
    assert calibration_findings(settings, "words") == []


def test_without_a_file_nothing_changes(settings: Settings) -> None:
    assert calibration_of(settings, "words") == Calibration()
    assert calibration_findings(settings, "words") == []


def test_no_threshold_is_below_the_floor(settings: Settings) -> None:
    write_calibration(settings.planner.calibration, made(settings))
    stricter = changed(settings, "planner", threshold_floor=0.55)
    assert calibration_of(stricter, "words").thresholds == {"document": 0.55, "field": 0.9}


@pytest.mark.parametrize(
    ("values", "topics"), [({}, "other words"), ({"threshold_answer": 0.8}, "words")], ids=["words", "threshold"]
)
def test_what_has_changed_since_lowers_no_threshold(settings: Settings, values: dict[str, object], topics: str) -> None:
    """What was proven was proven of other words; a higher threshold is safe with any."""
    write_calibration(settings.planner.calibration, made(settings))
    now = changed(settings, "planner", **values)
    least = now.planner.threshold_answer
    assert calibration_of(now, topics).thresholds == {"document": least, "field": 0.9}
    (finding,) = calibration_findings(now, topics)
    assert (finding.severity, "lowers no threshold" in finding.what) == (Severity.WARNING, True)


@pytest.mark.parametrize(
    ("section", "values", "told"),
    [
        ("embedding", {"models": ("minilm", "use")}, "embedding.models e5, minilm, use, not minilm, use"),
        (
            "planner",
            {"model_votes": "doubtful"},
            "planner.model_votes never, not doubtful; language model none, not ",
        ),
    ],
)
def test_one_that_was_made_for_something_else_is_left_aside(
    settings: Settings, section: str, values: dict[str, object], told: str
) -> None:
    write_calibration(settings.planner.calibration, made(settings))
    now = changed(settings, section, **values)
    assert calibration_of(now, "words") == Calibration()
    assert told in " ".join(finding.what for finding in calibration_findings(now, "words"))


def test_one_for_other_weights_is_left_aside(settings: Settings) -> None:
    old = made_for(settings).model_copy(update={"combiner": "topic-3"})
    write_calibration(settings.planner.calibration, made(settings, made_for=old))
    assert calibration_of(settings, "words") == Calibration()
    (finding,) = calibration_findings(settings, None)
    assert finding.what == "the calibration is ignored: it was made for weights topic-3, not topic-12"


def test_another_language_model_is_another_calibration_where_it_votes(settings: Settings, tmp_path: Path) -> None:
    other = changed(settings, "model", path=tmp_path / "other.gguf")
    assert made_for(other) == made_for(settings)
    asked = [made_for(changed(one, "planner", model_votes="always")) for one in (settings, other)]
    assert asked[0] != asked[1]


def test_a_file_that_is_none_stops_the_start_and_says_what_to_do(settings: Settings) -> None:
    settings.planner.calibration.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="calibrate --write"):
        calibration_of(settings, "words")
    (finding,) = calibration_findings(settings, "words")
    assert (finding.severity, finding.path) == (Severity.ERROR, settings.planner.calibration)


def test_each_calibration_has_a_name_of_its_own(settings: Settings) -> None:
    assert made(settings).version == made(settings).version
    assert made(settings).version != made(settings, sharpness=1.3).version
    assert made(settings).version.startswith("calibration-")


def test_a_folder_that_cannot_be_written_is_told(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"planner\.calibration"):
        write_calibration(tmp_path / "missing" / "calibration.json", made(settings))
