"""An office whose worker is watched: metrics, and spans in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from prometheus_client.parser import text_string_to_metric_families

from support_agent.app.wiring import wire
from support_agent.config.settings import EngineSettings, Settings
from support_agent.config.watch import WatchSettings
from support_agent.engine.steps import Steps
from support_agent.pipeline import handle
from support_agent.store.records import MailId
from support_agent.watch.health import WatchedWorker
from support_agent.watch.observer import WorkerObserver
from support_agent.watch.recorder import Recorder
from support_agent.watch.tracing import Tracing
from support_agent.workflow.stages import Stages
from tests.fakes_journey import Office

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


class KeptSpans(SpanExporter):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take the spans."""
        self.spans += spans
        return SpanExportResult.SUCCESS


@dataclass
class Ticking:
    """Monotonic seconds that go on by one each time they are read."""

    seconds: float = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


@dataclass
class Watched:
    """The office's worker as `app` has it watched; `brand` is a second, empty mailbox's name."""

    office: Office
    clock: Callable[[], float] = field(default_factory=Ticking)

    def __post_init__(self) -> None:
        self.exported = KeptSpans()
        self.tracing = Tracing(self.exported, "1")
        self.recorder = Recorder([""], lambda _brand: self.worker.samples())
        self.observer = WorkerObserver("", self.clock, self.recorder, self.tracing)
        self.worker = WatchedWorker(self.office.settings, self.observer, self.office.clock)
        self.worker.opened(self.office.store, lambda: "", lambda: (2, 1))

    @property
    def stages(self) -> Stages:
        office = self.office
        company, templates = office.decider.company, office.decider.templates
        return wire(
            office.settings,
            office.store,
            office.transport,
            company,
            templates,
            lambda: office.decider,
            office.clock,
            observer=self.observer,
        ).stages

    def handle(self, raw: bytes) -> MailId:
        """Take a mail to its end, as the engine does."""
        mail_id = self.office.receive(raw)
        with self.observer.journey(mail_id) as seen:
            steps = Steps(lambda _name, work: work(), EngineSettings(), lambda _s: None, observer=self.observer)
            seen.outcome = handle(mail_id, steps, self.stages)
        return mail_id

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans so far; after this none is made any more."""
        self.tracing.close()
        return self.exported.spans

    @property
    def series(self) -> Series:
        """What a scrape reads."""
        return series_in(self.recorder.rendered("")[0].decode())


def series_in(text: str) -> Series:
    """Each series with its value."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(series: Series, name: str, brand: str = "", **labels: str) -> float:
    """The value of one series."""
    return series[name, frozenset({"brand": brand, **labels}.items())]


def with_watch(office: Office, **values: object) -> Office:
    """The same office with other values of `watch` in its settings, checked as those of a file."""
    watch = WatchSettings.model_validate({**dict(office.settings.watch), **values})
    settings: Settings = office.settings.model_copy(update={"watch": watch})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))
