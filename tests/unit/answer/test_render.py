"""Rendering: sources for everything, values stay data, hostile templates fail closed."""

from __future__ import annotations

import html
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import ClarificationItem, FieldItem, FinalAnswer
from support_agent.answer.provenance import check
from support_agent.answer.render import MIDDLE, _Environment, render
from support_agent.answer.sources import Rendered, Source, TemplateSource, key_of
from support_agent.answer.templates import Templates
from support_agent.answer.views import Sourced
from support_agent.company.values import Text
from support_agent.errors import GateRefused
from support_agent.ops.template_tests import around

NAUGHTS = ("mails", "partly_answered", "escalated", "filed", "people_answered", "people_open", "waiting")
A_WEEK = {
    "since": datetime(2026, 11, 16, tzinfo=UTC),
    "until": datetime(2026, 11, 23, tzinfo=UTC),
    **dict.fromkeys(NAUGHTS, 0),
}


def plan(text: str) -> FinalAnswer:
    return around(FieldItem(field="plan", label="Your plan", value=Text(text=text)))


def values(rendered: Rendered) -> list[str]:
    return [span.text for span in rendered.spans if not isinstance(span.source, TemplateSource)]


def with_file(templates: Templates, **files: str) -> Templates:
    changed = {f"en/{name}.txt.j2": text for name, text in files.items()}
    return Templates.from_files(templates.as_files() | changed)


def test_rendering_is_deterministic(templates: Templates, final: FinalAnswer) -> None:
    """Replay compares bytes: a fresh set of the same files renders the same, spans and all."""
    again = Templates.from_files(templates.as_files())
    assert render(final, again) == render(final, templates)


def test_text_and_html_carry_the_same_values_in_the_same_order(templates: Templates, final: FinalAnswer) -> None:
    """Two forms of one mail; links and addresses stand twice in HTML, and a table's rows are lines or cells."""
    rendered = render(final, templates)
    plain, marked_up = (
        list(dict.fromkeys(key_of(span.source) for span in body.spans if not isinstance(span.source, TemplateSource)))
        for body in (rendered.text, rendered.html)
    )
    assert plain == marked_up


def test_each_literal_is_cited_with_its_file_and_line(templates: Templates, final: FinalAnswer) -> None:
    """`why` shows template and line beside each line of the mail."""
    greeting = next(span for span in render(final, templates).text.spans if "Hello" in span.text)
    assert greeting.source == TemplateSource(name="en/answer.txt.j2", line=2)


def test_literals_are_counted_once_by_threads_that_first_use_a_template_together(templates: Templates) -> None:
    """A literal with another's number would be cited wrongly, and the gate would refuse each mail with it."""

    class Slow(list[Source]):
        def append(self, one: Source, /) -> None:
            super().append(one)
            time.sleep(0.001)

    engine, lines = _Environment(templates, "en", False), range(1, 41)
    engine.literals = Slow()
    with ThreadPoolExecutor(4) as pool:
        marked = list(pool.map(lambda line: engine._mark_literal("x", "en/answer.txt.j2", line), lines))
    numbers = [int(text[2 : text.index(MIDDLE)]) for text in marked]
    assert [engine.literals[number] for number in numbers] == [
        TemplateSource(name="en/answer.txt.j2", line=line) for line in lines
    ]


HOSTILE = (
    "<b>x</b>",
    "<script>alert(1)</script>",
    'x" onclick="alert(1)',
    "&lt;b&gt;",
    "{{ 7 * 7 }}{% include 'x' %}{# c #}",
    "a\r\nBcc: victim@example.com",
    "a\u2028b\x0bc\x85d",
    "abc\u202etxt.exe\u2066",
    "\ue000v0\ue001forged\ue002",
    "\ue002\ue001\ue000",
    "\x00\x1b[31mred",
    "👩\u200d💻 naïve ½",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_value_stays_data_and_passes_the_gate(templates: Templates, text: str) -> None:
    """Markup, line ends, template syntax, bidi controls and forged marks come out as plain text."""
    final = plan(f"[{text}]")
    rendered = render(final, templates)
    check(rendered, final, templates)
    value = next(text for text in values(rendered.text) if text.startswith("["))
    assert "\n" not in value
    assert value in [html.unescape(text) for text in values(rendered.html)]
    assert "<script>" not in rendered.html.text
    assert "49" not in rendered.text.text


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_any_text_in_a_value_renders_and_passes_the_gate(
    templates: Templates, value: str, label: str, subject: str
) -> None:
    """Whatever the database holds, the mail goes out with it as data or the whole mail is refused; never in
    between.
    """
    item = FieldItem(field="plan", label=f"L{label}", value=Text(text=f"V{value}"))
    final = around(item, ClarificationItem(number=1, text=f"Q{value}")).model_copy(
        update={"subject": subject, "greeting_name": f"N{label}", "company": f"C{value}"}
    )
    rendered = render(final, templates)
    check(rendered, final, templates)
    assert rendered == render(final, templates)


def test_a_value_cannot_be_turned_into_a_bare_string() -> None:
    """What a filter would do first fails, so no filter can lose a source."""
    with pytest.raises(TypeError, match="lost its source"):
        str(Sourced(text="x", ref=0))
    with pytest.raises(TypeError, match="lost its source"):
        format(Sourced(text="x", ref=0))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ lipsum }}", r"en/account_field\.txt\.j2:1: 'lipsum' is not defined"),
        ("{{ item.label | replace('a', 'b') }}", "would lose the source"),
        ("{% set x = 'You owe us' %}{{ x }}", "Assign is not allowed"),
        ("{{ 'Your account is closed' }}", "write literals as template text"),
        (
            "\n{{ item.kind }}",
            r"account_field\.txt\.j2:2: a template prints 'account_field', which has no source",
        ),
        ("{{ item }}", "has no source"),
        ("{{ item.label.text }}", "has no source"),
        ("{% for item in answers %}{{ loop.index }}{% endfor %}", "has no source"),
        ("x\n{{ packet.case_id }}", r"account_field\.txt\.j2:2: 'packet' is undefined"),
        ("{{ item.rows }}", r"account_field\.txt\.j2:1: .* has no attribute 'rows'"),
        (
            "{% for x in item.label %}{% endfor %}",
            r"account_field\.txt\.j2:1: 'Sourced' object is not iterable",
        ),
        ("{% include 'none.txt.j2' %}", r"there is no template 'none\.txt\.j2'"),
        ("{% include 'account_field.txt.j2' %}", "failed|recursion|account_field"),
    ],
)
def test_a_hostile_template_fails_closed_with_its_place(templates: Templates, template: str, message: str) -> None:
    """Words without a source, globals, filters, undefined names: no mail, and an error that says where."""
    hostile = with_file(templates, account_field=template)
    with pytest.raises(GateRefused, match=message):
        render(plan("Team"), hostile)


def test_a_code_without_a_word_fails_closed(templates: Templates, final: FinalAnswer) -> None:
    """A new step or period is never shown as a blank."""
    files = templates.as_files()
    files["en/words.yaml"] = files["en/words.yaml"].replace("  average: average\n", "")
    with pytest.raises(GateRefused, match=r"words\.yaml has no word for aggregation\.average: add it"):
        render(final, Templates.from_files(files))


def test_a_customer_without_templates_in_their_language_is_answered_in_english(templates: Templates) -> None:
    """es-ES has no templates here."""
    final = plan("Team").model_copy(update={"locale": "es-ES"})
    rendered = render(final, templates)
    check(rendered, final, templates)
    assert rendered.text.text.startswith("Hello ")


@pytest.mark.parametrize(
    ("locale", "answered", "form"),
    [("fr-FR", 0, "one"), ("fr-FR", 1, "one"), ("fr-FR", 2, "other"), ("en-GB", 0, "other"), ("ja-JP", 1, "one")],
)
def test_a_count_has_a_plural_form_by_the_rule_of_the_mails_language(
    templates: Templates, locale: str, answered: int, form: str
) -> None:
    """In French 0 is singular. There are no Japanese templates here, so that mail is English."""
    asks = '{% if digest.answered.plural_form == "one" %}one{% else %}other{% endif %}'
    files = {f"{language}/digest_subject.txt.j2": asks for language in ("en", "fr")}
    mail = Digest.model_validate({"locale": locale, "answered": answered, **A_WEEK})
    assert render(mail, Templates.from_files(templates.as_files() | files)).subject.text == form


def test_templates_of_before_say_of_no_case_what_they_said(templates: Templates) -> None:
    """Stored digests must replay to the same bytes: "0 dossiers", though it is wrong."""
    asks = "{% if digest.is_one_case_answered %}dossier{% else %}dossiers{% endif %}"
    mail = Digest.model_validate({"locale": "fr-FR", "answered": 0, **A_WEEK})
    files = templates.as_files() | {"fr/digest_subject.txt.j2": asks}
    assert render(mail, Templates.from_files(files)).subject.text == "dossiers"
