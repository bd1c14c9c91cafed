"""The gate: whatever a hostile renderer does to a span, the mail is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.expected_text import expected
from support_agent.answer.final_answer import DocumentItem, FieldItem, FinalAnswer
from support_agent.answer.literals import stands_at
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.sources import (
    AccountSource,
    ComputedSource,
    CustomerSource,
    DocumentSource,
    InboundSource,
    Rendered,
    RenderedAnswer,
    SettingsSource,
    Source,
    Span,
    SubjectSource,
    TemplateSource,
    WordSource,
    key_of,
)
from support_agent.answer.templates import Templates
from support_agent.company.values import Text
from support_agent.errors import GateRefused
from support_agent.ops.template_samples import (
    sample_acknowledgements,
    sample_answers,
    sample_items,
    sample_packets,
)
from support_agent.ops.template_tests import around

PARTS = ("subject", "text", "html")
Change = Callable[[tuple[Span, ...]], tuple[Span, ...]]


def tampered(rendered: RenderedAnswer, part: str, change: Change) -> RenderedAnswer:
    spans = change(getattr(rendered, part).spans)
    return rendered.model_copy(update={part: Rendered(spans=spans)})


def with_span(rendered: RenderedAnswer, part: str, span: Span) -> RenderedAnswer:
    """The mail with one more span, in the middle."""
    return tampered(rendered, part, lambda spans: (*spans[: len(spans) // 2], span, *spans[len(spans) // 2 :]))


@pytest.mark.parametrize("locale", ["en", "en-US", "de-AT", "es-ES"])
def test_what_the_renderer_makes_of_every_sample_passes(templates: Templates, locale: str) -> None:
    """The gate lets every honest mail through, in every language."""
    for final in sample_answers(locale):
        check(render(final, templates), final, templates)
    for acknowledgement in sample_acknowledgements(locale):
        check(render(acknowledgement, templates), acknowledgement, templates)
    for packet in sample_packets(locale):
        check(render(packet, templates), packet, templates)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_changed_text_of_any_span_is_refused(
    templates: Templates, final: FinalAnswer, rendered: RenderedAnswer, data: st.DataObject
) -> None:
    """Any span, any other text: it is no whole piece of the line, or not what its source says."""
    part = data.draw(st.sampled_from(PARTS))
    spans = getattr(rendered, part).spans
    position = data.draw(st.integers(0, len(spans) - 1))
    text = data.draw(st.text(min_size=1) | st.just(f"{spans[position].text}x") | st.just(f"un{spans[position].text}"))
    source = spans[position].source
    assume(text.strip() != spans[position].text.strip())
    if isinstance(source, TemplateSource):
        assume(not stands_at(text, templates.source(source.name), source.line))
    changed = spans[position].model_copy(update={"text": text})
    with pytest.raises(GateRefused):
        check(
            tampered(rendered, part, lambda spans: (*spans[:position], changed, *spans[position + 1 :])),
            final,
            templates,
        )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_source_of_another_span_is_refused(
    templates: Templates, final: FinalAnswer, rendered: RenderedAnswer, data: st.DataObject
) -> None:
    """A true text under a false source is refused: `why` would show a lie."""
    part = data.draw(st.sampled_from(("text", "html")))
    spans = getattr(rendered, part).spans
    value_positions = [place for place, span in enumerate(spans) if not isinstance(span.source, TemplateSource)]
    one, other = (data.draw(st.sampled_from(value_positions)) for _ in range(2))
    assume(spans[one].text != spans[other].text)
    changed = spans[one].model_copy(update={"source": spans[other].source})
    with pytest.raises(GateRefused):
        check(
            tampered(rendered, part, lambda spans: (*spans[:one], changed, *spans[one + 1 :])),
            final,
            templates,
        )


@pytest.mark.parametrize(
    ("kind", "detail", "forged"),
    [
        ("document", "number", 99),
        ("document", "version", "1" * 64),
        ("account", "name", "another_series"),
        ("account", "name", "another_field"),
        ("clarification", "number", 99),
        ("word", "line", 99),
        ("word", "name", "de/words.yaml"),
        ("word", "code", "another_code"),
    ],
)
def test_a_true_text_with_a_false_citation_is_refused(
    templates: Templates, final: FinalAnswer, kind: str, detail: str, forged: object
) -> None:
    """The number, version, series or line that `why` would show is checked, not only the text."""
    spared = {"another_series": "plan", "another_field": "payments"}.get(str(forged))

    def forge(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(
            span.model_copy(update={"source": span.source.model_copy(update={detail: forged})})
            if span.source.kind == kind and getattr(span.source, detail) != spared
            else span
            for span in spans
        )

    with pytest.raises(GateRefused, match="there is nothing at the source"):
        check(tampered(render(final, templates), "text", forge), final, templates)


@pytest.mark.parametrize(
    "source",
    [
        TemplateSource(name="en/answer.txt.j2", line=2),
        TemplateSource(name="en/none.txt.j2", line=1),
        TemplateSource(name="../policies/x.txt.j2", line=1),
        SettingsSource(part="company"),
        CustomerSource(),
        SubjectSource(),
        ComputedSource(part="asked"),
        ComputedSource(part="result", answer=0, item=0),
        ComputedSource(part="row_count", answer=999, item=0),
        DocumentSource(answer=0, item=0, number=1, version="4f1c", part="sentence", sentence=5),
        DocumentSource(answer=0, item=0, number=2, version="4f1c", part="title"),
        DocumentSource(answer=0, item=0, number=1, version="1" * 64, part="title"),
        AccountSource(answer=0, item=0, name="plan", part="value"),
        WordSource(name="en/words.yaml", line=1, section="period", code="year", answer=0, item=0),
        InboundSource(part="mail_line", index=0),
    ],
)
@pytest.mark.parametrize("part", ["text", "html"])
def test_a_sentence_of_a_model_has_no_source_to_hide_behind(
    templates: Templates, final: FinalAnswer, source: Source, part: str
) -> None:
    """Promise 1: text that no template, document or account holds cannot be sent under any citation."""
    span = Span(text="Of course, you will get a full refund!", source=source)
    with pytest.raises(GateRefused, match=rf"^{part}: 'Of course, you will get a full refund!' is refused: "):
        check(with_span(render(final, templates), part, span), final, templates)


@pytest.mark.parametrize(
    ("part", "text", "name", "message"),
    [
        ("text", "Guten Tag ", "de/answer.txt.j2", "not the template of locale"),
        ("text", "HOW TO REPLY\n", "en/escalation.txt.j2", "not for this kind of mail"),
        ("text", "<hr", "en/notice.html.j2", "no template of this part"),
        ("html", "Hello ", "en/answer.txt.j2", "no template of this part"),
        ("text", "H", "en/answer.txt.j2", "does not stand in"),
    ],
)
def test_a_literal_comes_from_this_mails_own_templates(
    templates: Templates, final: FinalAnswer, part: str, text: str, name: str, message: str
) -> None:
    """Not from another language, part or kind of mail, and never letter by letter."""
    lines = templates.source(name).split("\n")
    line = next((number for number, content in enumerate(lines, 1) if text.strip() in content), 1)
    span = Span(text=text, source=TemplateSource(name=name, line=line))
    with pytest.raises(GateRefused, match=message):
        check(with_span(render(final, templates), part, span), final, templates)


def test_a_literal_that_passed_for_another_mail_is_checked_again_for_this_one(templates: Templates) -> None:
    """The gate remembers what has passed: not across locales, and not from a packet to a customer's mail."""
    item = FieldItem(field="plan", label="Plan", value=Text(text="Team"))
    german, english = around(item, locale="de"), around(item)
    packet = next(sample_packets("en"))
    own = {span.source for span in render(english, templates).text.spans}
    for other in (german, packet):
        rendered = render(other, templates)
        check(rendered, other, templates)
        literals = [span for span in rendered.text.spans if isinstance(span.source, TemplateSource)]
        foreign = [span for span in literals if span.source not in own and span.text.strip()]
        assert foreign
        for span in foreign:
            with pytest.raises(GateRefused, match=r"not the template of locale|not for this kind of mail"):
                check(with_span(render(english, templates), "text", span), english, templates)


def test_a_value_that_is_not_escaped_is_refused(templates: Templates) -> None:
    """A renderer without autoescape would let a value be markup."""
    final = around(FieldItem(field="plan", label="Plan", value=Text(text="<b>Team</b>")))
    rendered = render(final, templates)

    def unescape(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(
            span.model_copy(update={"text": "<b>Team</b>"}) if "&lt;b&gt;" in span.text else span for span in spans
        )

    with pytest.raises(GateRefused, match="which would be escaped"):
        check(tampered(rendered, "html", unescape), final, templates)


@pytest.mark.parametrize("part", ["text", "html"])
def test_an_item_that_is_left_out_is_refused(templates: Templates, part: str) -> None:
    """Promise 4: a parameter that a template or renderer drops stops the mail, whichever it is."""
    for item in sample_items(("highest_3", "newest_first")):
        final = around(item, asked=2)
        rendered = render(final, templates)
        for span in {span.source: span for span in getattr(rendered, part).spans}.values():
            if isinstance(span.source, TemplateSource | CustomerSource) or span.source == SettingsSource(
                part="company"
            ):
                continue

            def drop(spans: tuple[Span, ...], source: Source = span.source) -> tuple[Span, ...]:
                return tuple(span for span in spans if span.source != source)

            with pytest.raises(GateRefused):
                check(tampered(rendered, part, drop), final, templates)


def test_an_item_that_is_left_out_of_both_parts_is_refused(templates: Templates) -> None:
    """Promise 4, where the other part does not give it away: each required source is looked for in each part."""
    for item in sample_items(("highest_3", "newest_first")):
        final = around(item, asked=2)
        rendered = render(final, templates)
        for key in expected(final, templates).required:

            def drop(spans: tuple[Span, ...], key: str = key) -> tuple[Span, ...]:
                return tuple(span for span in spans if key_of(span.source) != key)

            without = tampered(tampered(rendered, "text", drop), "html", drop)
            with pytest.raises(GateRefused, match="does not say"):
                check(without, final, templates)


@pytest.mark.parametrize("part", ["text", "html"])
def test_a_mail_without_the_notice_is_refused(templates: Templates, final: FinalAnswer, part: str) -> None:
    """S51: every answer says that it is automatic (EU AI Act, article 50)."""

    def silent(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(
            span for span in spans if not (isinstance(span.source, TemplateSource) and "notice" in span.source.name)
        )

    with pytest.raises(GateRefused, match="notice is missing"):
        check(tampered(render(final, templates), part, silent), final, templates)


@pytest.mark.parametrize("part", ["text", "html"])
def test_a_notice_without_its_words_is_none(templates: Templates, final: FinalAnswer, part: str) -> None:
    """A ruler and an address tell nobody that a machine wrote."""

    def hollow(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(
            span
            for span in spans
            if not (isinstance(span.source, TemplateSource) and "notice" in span.source.name)
            or span.text.strip() in ("---",)
            or span.text.startswith("<hr")
        )

    rendered = render(final, templates)
    changed = rendered.model_copy(update={part: Rendered(spans=hollow(getattr(rendered, part).spans))})
    with pytest.raises(GateRefused, match="notice is missing"):
        check(changed, final, templates)


@pytest.mark.parametrize(
    ("words", "is_enough"), [("Automatic mail: write to", False), ("Automatic: write or call to", True)]
)
@pytest.mark.parametrize("part", ["text", "html"])
def test_a_notice_has_at_least_five_words(
    templates: Templates, final: FinalAnswer, part: str, words: str, is_enough: bool
) -> None:
    """A company may shorten its notice; a few words that could be a heading tell nobody that a machine wrote."""
    files = templates.as_files()
    address = "{{ support_address }}"
    files["en/notice.txt.j2" if part == "text" else "en/notice.html.j2"] = (
        f"{words} {address}\n" if part == "text" else f'<p>{words} <a href="mailto:{address}">{address}</a></p>\n'
    )
    short = Templates.from_files(files)
    rendered = render(final, short)
    if is_enough:
        check(rendered, final, short)
        return
    with pytest.raises(GateRefused, match=f"^{part}: the automation notice is missing"):
        check(rendered, final, short)


@pytest.mark.parametrize("part", ["text", "html"])
def test_a_notice_at_the_top_stands_above_the_first_item(templates: Templates, part: str) -> None:
    """A template that knows the bottom only does not pass for an answer that is to have it at the top."""
    files = templates.as_files()
    name = f"en/answer.{'txt' if part == 'text' else part}.j2"
    files[name] = files[name].replace("notice.is_at_top", "notice.is_question")
    low = Templates.from_files(files)
    final = around(*list(sample_items())[:4])
    check(render(final, low), final, low)
    final = final.model_copy(update={"notice": "top"})
    check(render(final, templates), final, templates)
    with pytest.raises(GateRefused, match=f"^{part}: the automation notice is not above the first answer") as refused:
        check(render(final, low), final, low)
    assert refused.value.code == "notice"


NOTICES = {
    "en": {"policies": "our published policies", "account": "your account data", "questions": "our team has written"},
    "de": {"policies": "unseren veröffentlichten", "account": "Ihren Kontodaten", "questions": "unser Team verfasst"},
}
MACHINE = {
    "en": ("by a machine (AI)", "No person has read your mail"),
    "de": ("eine Maschine (KI)", "Kein Mensch hat Ihre E-Mail"),
}


@pytest.mark.parametrize("locale", ["en", "de"])
@pytest.mark.parametrize("place", ["top", "bottom"])
@pytest.mark.parametrize(
    ("kinds", "named"),
    [
        ({"document"}, {"policies"}),
        ({"document", "clarification"}, {"policies"}),
        ({"clarification"}, {"questions"}),
        ({"clarification", "table"}, {"policies", "account"}),
        ({"document", "account_field"}, {"policies", "account"}),
        ({"account_field"}, {"account"}),
        ({"table"}, {"account"}),
        ({"aggregate"}, {"account"}),
        ({"calculation"}, {"account"}),
    ],
)
def test_the_notice_names_what_the_answer_is_made_from_and_nothing_else(
    templates: Templates, kinds: set[str], named: set[str], place: str, locale: str
) -> None:
    """And always that a machine put it together and that no person has read the mail, on the side that is set."""
    items = [item for item in sample_items() if item.kind in kinds]
    for asked in (len(items), len(items) + 1):
        final = around(*items, locale=locale, asked=asked).model_copy(update={"notice": place})
        rendered = render(final, templates)
        check(rendered, final, templates)
        for body in (rendered.text.text, rendered.html.text):
            assert {name for name, words in NOTICES[locale].items() if words in body} == named
            assert [body.count(words) for words in MACHINE[locale]] == [1, 1]
            greeted, said = body.index("Ana O"), body.index(MACHINE[locale][0])
            assert greeted < said
            first = min(body.index(words) for words in ("Refund policy", "Your p", "Which invoice") if words in body)
            assert (said < first) == (place == "top")


def test_sentences_cannot_change_places(templates: Templates) -> None:
    """A document's sentences in another order could mean another thing."""
    item = next(item for item in sample_items() if isinstance(item, DocumentItem))
    final = around(item)
    rendered = render(final, templates)

    def swap(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        places = [
            place
            for place, span in enumerate(spans)
            if isinstance(span.source, DocumentSource) and span.source.part == "sentence"
        ]
        swapped = list(spans)
        swapped[places[0]], swapped[places[1]] = spans[places[1]], spans[places[0]]
        return tuple(swapped)

    with pytest.raises(GateRefused, match="not in their order"):
        check(tampered(rendered, "text", swap), final, templates)


def test_a_value_in_one_part_only_is_refused(templates: Templates, final: FinalAnswer) -> None:
    """Text and HTML are one answer."""

    def nameless(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(span for span in spans if not isinstance(span.source, CustomerSource))

    with pytest.raises(GateRefused, match="html: it does not say customer part=name"):
        check(tampered(render(final, templates), "html", nameless), final, templates)


@pytest.mark.parametrize("subject", ["a\nBcc: x@example.com\n", " "])
def test_a_subject_is_one_line_of_text(templates: Templates, final: FinalAnswer, subject: str) -> None:
    """S43: no CR or LF can reach the header."""
    span = Span(text=subject, source=SubjectSource())
    with pytest.raises(GateRefused, match="is not one line of text"):
        check(tampered(render(final, templates), "subject", lambda _: (span,)), final, templates)


def test_another_answer_cannot_use_the_rendering(templates: Templates) -> None:
    """A mail that was rendered for one answer does not pass for another."""
    one = around(FieldItem(field="plan", label="Plan", value=Text(text="Team")))
    other = around(FieldItem(field="plan", label="Plan", value=Text(text="Pro")))
    with pytest.raises(GateRefused, match="its source says 'Pro'"):
        check(render(one, templates), other, templates)


def test_other_templates_cannot_use_the_rendering(templates: Templates, final: FinalAnswer) -> None:
    """The gate reads the files again: a literal that has changed meanwhile is refused."""
    files = templates.as_files()
    files["en/notice.txt.j2"] = files["en/notice.txt.j2"].replace("a machine (AI)", "hand")
    with pytest.raises(GateRefused, match="does not stand in en/notice"):
        check(render(final, templates), final, Templates.from_files(files))


def test_a_character_that_cannot_be_seen_is_refused_wherever_it_comes_from(templates: Templates) -> None:
    """Loading refuses such templates; the gate does not rely on it."""
    final = around(FieldItem(field="plan", label="Plan", value=Text(text="Team")))
    files = tuple(
        file.model_copy(update={"text": file.text.replace("Kind regards", "Kind \u202eregards")})
        for file in templates.files
    )
    forged = Templates(files=files)
    with pytest.raises(GateRefused, match=r"it holds the character U\+202E"):
        check(render(final, forged), final, forged)


def test_the_gate_refuses_markup_that_loads_something_from_elsewhere(templates: Templates, final: FinalAnswer) -> None:
    """Loading refuses such templates; the gate does not rely on it."""
    pixel = '<img src="https://evil.example/pixel.png">'
    files = tuple(
        file.model_copy(update={"text": file.text.replace("</body>", f"{pixel}</body>")}) for file in templates.files
    )
    forged = Templates(files=files)
    rendered = render(final, forged)
    assert pixel in rendered.html.text
    with pytest.raises(GateRefused, match="this element is not allowed"):
        check(rendered, final, forged)


def test_spans_come_back_from_json_as_they_were(templates: Templates, final: FinalAnswer) -> None:
    """The store keeps them for `why`, and what it gives back passes the gate."""
    rendered = render(final, templates)
    again = RenderedAnswer.model_validate_json(rendered.model_dump_json())
    assert again == rendered
    check(again, final, templates)


def test_a_packet_cannot_be_sent_as_an_answer(templates: Templates, final: FinalAnswer) -> None:
    """A packet holds free text, so it goes to staff only."""
    packet = next(sample_packets("en"))
    with pytest.raises(GateRefused, match="goes to staff"):
        check(render(packet, templates), final, templates)
    with pytest.raises(GateRefused, match="goes to staff"):
        check(render(final, templates), packet, templates)


def test_an_acknowledgement_says_nothing_of_an_account(templates: Templates) -> None:
    """Below level 3 nothing but the company's own words and the subject may be said."""
    acknowledgement: Acknowledgement = next(sample_acknowledgements("en"))
    rendered = render(acknowledgement, templates)
    span = Span(text="Ana", source=CustomerSource())
    with pytest.raises(GateRefused, match="there is nothing at the source"):
        check(with_span(rendered, "text", span), acknowledgement, templates)
