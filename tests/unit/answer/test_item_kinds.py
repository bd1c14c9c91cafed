"""The table of item kinds is whole, and a kind that only it knows is rendered, gated and explained."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pytest

from support_agent.answer import views
from support_agent.answer.final_answer import Answer, FinalAnswer, Item
from support_agent.answer.formatting import format_day
from support_agent.answer.item_kinds import KINDS, InWords, ItemKind
from support_agent.answer.mail_parts import ACKNOWLEDGEMENT, ANSWER, DIGEST, PACKET
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.shapes import Group, Shape, TextPart, account, counted
from support_agent.answer.sources import Rendered, Source, WordSource
from support_agent.answer.templates import Templates
from support_agent.answer.verification import Verifier
from support_agent.company.accounts import Queries
from support_agent.company.company import Company
from support_agent.core.findings import Severity
from support_agent.core.frozen import Frozen
from support_agent.errors import GateRefused
from support_agent.ops import template_checks
from support_agent.ops.provenance_report import lines_of
from support_agent.ops.template_checks import check_templates
from support_agent.ops.template_samples import sample_items
from support_agent.ops.template_tests import around
from support_agent.store.records import MailId, OutgoingKind, RenderedMailRecord
from tests.fakes_journey import Office
from tests.unit.answer.conftest import TEMPLATES


def test_each_kind_of_item_has_an_entry_a_sample_and_its_partials() -> None:
    """The union of types, the table, the samples and the English partials name the same kinds."""
    types = get_args(get_args(Item)[0])
    kinds = [one.model_fields["kind"].default for one in types]
    assert list(KINDS) == list(dict.fromkeys(item.kind for item in sample_items())) == [*kinds]
    for kind in kinds:
        assert all((TEMPLATES / "en" / f"{kind}.{end}.j2").is_file() for end in ("txt", "html"))


STORED_PARTS = {
    "account": "label row_noun value day period_name period_first period_last row_day row_label row_value record "
    "identifier column column_value",
    "clarification": "text",
    "computed": "answered asked open_day open_time remaining row_count result",
    "customer": "name",
    "document": "number title url valid_from language heading sentence step cell row rule",
    "inbound": "case_id customer_address customer_reply_to level level_why subject mail_line left_out original_id "
    "reason_code why call "
    "confidence outcome runner_up runner_up_confidence document_number document_title document_score question_number "
    "question finding_code evidence_number evidence_title evidence_grade evidence_position evidence_sentence "
    "page_address page_heading page_document page_found_by page_text answered_line "
    "reply_address proposed_line proposed_id leaves_at offered_until command_title command_line command_link "
    "story_who story_at story_line story_left_out "
    "week_since week_until week_mails week_answered week_partly_answered week_escalated week_filed week_waiting "
    "people_answered people_open median_hours ninetieth_hours answered_by_name answered_by_title answered_by_mails "
    "reason_name reason_title reason_mails filed_by_name filed_by_title filed_by_mails "
    "grown_topic grown_title grown_before grown_now age_least age_below age_cases",
    "settings": "company reply_hours support_address time_zone",
    "subject": "subject",
    "word": "period aggregation step operation reason level finding command",
}
"""What the sources of stored mails call their parts."""


def test_sources_call_their_parts_as_stored_mails_do() -> None:
    """Replay compares the sources that are stored: a part may come, none may change its name."""
    found: dict[str, set[str]] = {}
    for shape in (ANSWER, ACKNOWLEDGEMENT, PACKET, DIGEST, *(kind.shape for kind in KINDS.values())):
        for part in shape.all_parts():
            found.setdefault(part.source.model_fields["kind"].default, set()).add(part.cited_as)
    assert found == {kind: set(parts.split()) for kind, parts in STORED_PARTS.items()}


def test_a_renderer_that_shows_something_else_than_the_item_has_is_refused(
    templates: Templates, final: FinalAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate reads the same table, but takes each text from the item by itself."""
    true = views.Viewer._sourced

    def forged(viewer: views.Viewer, text: str, source: Source) -> views.Sourced:
        return true(viewer, "EUR 1,000,000.00" if text == "EUR 228.00" else text, source)

    monkeypatch.setattr(views.Viewer, "_sourced", forged)
    with pytest.raises(GateRefused, match=r"its source says 'EUR 228\.00'"):
        check(render(final, templates), final, templates)


class LoanItem(Frozen):
    """A made-up kind: things that the customer has borrowed."""

    kind: Literal["loan"] = "loan"
    series: str
    label: str
    until: date
    things: tuple[str, ...]


LOAN = LoanItem(series="loans", label="Your loan", until=date(2026, 5, 1), things=("a <ladder>", "a saw"))


def _in_words(item: LoanItem) -> InWords:
    return InWords(f"{item.label}: {', '.join(item.things)}", f"series {item.series}")


def _mismatch(item: LoanItem, company: Company, locale: str) -> str:
    return "" if item.series in company.accounts.series else f"series {item.series} is not the company's"


THING = Shape(parts=(account("thing", read=lambda thing: thing, is_queried=True),))
ENTRY = ItemKind(
    Shape(
        identity={"name": "series"},
        parts=(account("label"), account("lent_until", format_day, name="until")),
        groups=(Group("things", THING, counted("row")),),
    ),
    _in_words,
    lambda item: (f"series:{item.series}",),
    _mismatch,
    queries="series",
)
PARTIALS = {
    "loan.txt.j2": "{{ item.label }} until {{ item.until }}\n{% for one in item.things %}\n- {{ one.thing }}\n"
    "{% endfor %}\n",
    "loan.html.j2": "<p>{{ item.label }} until {{ item.until }}</p>\n<ul>\n{% for one in item.things %}\n"
    "<li>{{ one.thing }}</li>\n{% endfor %}\n</ul>\n",
}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Templates of a company whose items may be loans: the type, the entry, the sample, the two partials."""
    monkeypatch.setattr(Answer.model_fields["items"], "annotation", tuple[Item | LoanItem, ...])
    _rebuild()
    monkeypatch.setitem(KINDS, "loan", ENTRY)
    monkeypatch.setattr(template_checks, "sample_items", lambda steps=(): (*sample_items(steps), LOAN))
    directory = Path(shutil.copytree(TEMPLATES, tmp_path / "templates", ignore=shutil.ignore_patterns("tests")))
    for name, text in PARTIALS.items():
        (directory / "en" / name).write_text(text, "utf-8")
    yield directory
    monkeypatch.undo()
    _rebuild()


def _rebuild() -> None:
    for model in (Answer, FinalAnswer):
        model.model_rebuild(force=True)


def loan_answer() -> FinalAnswer:
    return around(cast(Any, LOAN))


def errors(directory: Path) -> list[str]:
    """What `check` finds wrong, by trying every sample in every language."""
    return [found.what for found in check_templates(directory) if found.severity is Severity.ERROR]


def test_a_new_kind_is_rendered_by_its_entry_and_two_partials(directory: Path) -> None:
    """In both parts of the mail, its values cleaned and escaped, and the notice says that it is account data."""
    templates, final = Templates.load(directory), loan_answer()
    rendered = render(final, templates)
    check(rendered, final, templates)
    assert "Your loan until 1 May 2026\n- a <ladder>\n- a saw\n" in rendered.text.text
    assert "<li>a &lt;ladder&gt;</li>" in rendered.html.text
    assert "from your account data." in rendered.text.text


def test_a_new_kind_is_gated(directory: Path) -> None:
    """A changed text is refused, so is a forged source, and so is a template that leaves a part out."""
    templates, final = Templates.load(directory), loan_answer()
    rendered = render(final, templates)
    spans = rendered.text.spans
    (place,) = (place for place, span in enumerate(spans) if span.text == "a <ladder>")
    true = spans[place]
    for forged in (
        true.model_copy(update={"text": "a car"}),
        true.model_copy(update={"source": true.source.model_copy(update={"row": 1})}),
        true.model_copy(update={"source": true.source.model_copy(update={"part": "gift"})}),
    ):
        text = Rendered(spans=(*spans[:place], forged, *spans[place + 1 :]))
        with pytest.raises(GateRefused, match="is refused"):
            check(rendered.model_copy(update={"text": text}), final, templates)
    assert errors(directory) == []
    (directory / "en" / "loan.html.j2").write_text("<p>{{ item.label }} until {{ item.until }}</p>", "utf-8")
    assert "html: the mail does not say account loans answer=0 item=0 part=thing row=0" in errors(directory)


def test_a_new_kind_is_verified_against_the_companys_files(directory: Path, office: Office) -> None:
    """By its entry."""
    verifier = Verifier.of(office.decider.company)
    assert list(verifier.mismatches(loan_answer(), "en")) == ["series loans is not the company's"]


def test_a_new_kind_is_explained_from_what_is_stored(directory: Path) -> None:
    """`why` names its data and the query of each of its values, `show` says it in words."""
    templates, final = Templates.load(directory), loan_answer()
    record = RenderedMailRecord(
        mail_id=MailId("mail-1"),
        kind=OutgoingKind.ANSWER,
        payload=final.model_dump(mode="json"),
        templates_version=templates.version,
        spans=render(final, templates).model_dump(mode="json"),
        header_inputs={},
        created_at=datetime(2026, 4, 1, tzinfo=UTC),
    )
    _, lines = lines_of(record, Queries(fields={}, series={"loans": "SELECT thing FROM loans"}))
    (line,) = (line for line in lines if line.text == "- a saw")
    assert [(one.text, one.what, one.query) for one in line.sources] == [
        ("- ", "template en/loan.txt.j2:3", None),
        ("a saw", "series loans, thing 1", "SELECT thing FROM loans"),
    ]
    (stored,) = FinalAnswer.model_validate(record.payload).answers[0].items
    assert KINDS[stored.kind].in_words(stored) == ("Your loan: a <ladder>, a saw", "series loans")


def test_words_of_a_new_section_are_known_to_check(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sections of `words.yaml` are those of the table."""
    words = directory / "en" / "words.yaml"
    words.write_text(words.read_text("utf-8") + "terms:\n  free: free of charge\n", "utf-8")
    assert errors(directory) == ["there is no section 'terms'"]
    terms = TextPart(WordSource, "terms", read=lambda _: "free")
    monkeypatch.setitem(KINDS, "loan", ENTRY._replace(shape=ENTRY.shape._replace(parts=(*ENTRY.shape.parts, terms))))
    found = errors(directory)
    assert found
    assert all("the mail does not say word section=terms code=free" in what for what in found)
