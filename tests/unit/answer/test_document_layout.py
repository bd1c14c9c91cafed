"""The form of a document in a mail: its tables as tables, its numbered steps with their numbers, from file to HTML."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import DocumentItem, FinalAnswer, is_covered_by
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.templates import Templates
from support_agent.company.documents import Document
from support_agent.ops.template_tests import around
from support_agent.tools.answers import SendDocument
from tests.unit.tools.fakes import context, document

BODY = """
Ask like this:

3. Sign in.
3. Open Billing.
   1. As the owner.
   2. Or as an administrator.
4. Press Refund.

- Gift cards
- Domain names

| Who | Fee |
|---|---|
| Clubs | none |

| Code | Reason | What to do |
|---|---|---|
| HF-W20 | an older version is still running | end it in the Task Manager and start again |
"""


def item_of(source: Document) -> DocumentItem:
    item = SendDocument(number=source.number).run(context(documents={source.number: source})).item
    assert isinstance(item, DocumentItem)
    return item


def bodies(item: DocumentItem, templates: Templates) -> tuple[str, str]:
    final = around(item)
    rendered = render(final, templates)
    check(rendered, final, templates)
    return rendered.text.text, rendered.html.text


def test_a_text_has_numbers_columns_and_records(templates: Templates) -> None:
    """From the file to the mail: what is indented, numbered and in a row there is so here."""
    text, _ = bodies(item_of(document(1, BODY, delivery="full")), templates)
    assert (
        """
Ask like this:
3. Sign in.
4. Open Billing.
   1. As the owner.
   2. Or as an administrator.
5. Press Refund.

- Gift cards
- Domain names

Who    Fee
-----  ----
Clubs  none

Code: HF-W20
Reason: an older version is still running
What to do: end it in the Task Manager and start again
"""
        in text
    )


def test_html_has_tables_with_header_cells_and_lists_with_bullets(templates: Templates) -> None:
    """Two tables are two, and a numbered item shows the number that it has in the document."""
    _, html = bodies(item_of(document(1, BODY, delivery="full")), templates)
    assert [html.count(tag) for tag in ("<table", "<th ", "<td ", "<tr>", "<ul", "<li>")] == [2, 5, 5, 4, 1, 2]
    for number, step in ((3, "Sign in."), (1, "As the owner."), (5, "Press Refund.")):
        assert f">{number}. {step}</p>" in html


def test_a_later_section_under_the_title_keeps_its_heading(templates: Templates) -> None:
    """Rule: only what stands right below the title goes without it; else a sentence would stand under another."""
    body = "Within 14 days.\n\n# Contracts\n\nIn writing.\n\n# Refunds\n\nNone after a year.\n"
    text, html = bodies(item_of(document(1, body, title="Refunds", delivery="full")), templates)
    assert "\nContracts\nIn writing.\n\nRefunds\nNone after a year.\n" in text
    assert text.count("Refunds\n") == 2
    assert html.index("In writing.") < html.rindex("Refunds") < html.index("None after a year.")


def test_a_step_that_is_left_out_moves_no_number(templates: Templates) -> None:
    """An excerpt without step 4 still says 3 and 5."""
    item = item_of(document(1, BODY, delivery="full"))
    kept = tuple(excerpt for excerpt in item.excerpts if excerpt.number in (3, 5))
    text, html = bodies(item.model_copy(update={"excerpts": kept}), templates)
    assert "\n3. Sign in.\n5. Press Refund.\n" in text
    assert ">5. Press Refund.<" in html


@pytest.mark.parametrize(("keeps_form", "lists", "apart"), [(True, 2, "\n\n"), (False, 1, "\n")])
def test_lists_side_by_side_are_one_only_in_answers_stored_before(
    templates: Templates, keeps_form: bool, lists: int, apart: str
) -> None:
    """What went out as one list renders again as one: replay compares bytes."""
    item = item_of(document(1, "- a\n- b\n\n<!-- two lists -->\n\n- c\n", delivery="full"))
    text, html = bodies(item.model_copy(update={"keeps_form": keeps_form}), templates)
    assert html.count("<ul") == lists
    assert f"- b{apart}- c" in text


OLD = """{% for section in item.sections %}
{% for block in section.blocks %}
{% if block.kind == "paragraph" %}
{% for sentence in block.sentences %}{{ sentence.text }} {% endfor %}

{% else %}
[{{ item.title }}]
{% for sentence in block.sentences %}
- {{ sentence.text }}
{% endfor %}
{% endif %}
{% endfor %}
{% endfor %}
{{ item.number }} {{ item.title }} {{ item.url }} {{ item.valid_from }}
"""
"""A partial as it was written before tables and numbers were kept."""


def test_an_answer_stored_before_renders_to_the_same_text_with_its_own_templates(templates: Templates) -> None:
    """It has no cells, no numbers and no place of the notice; lists and tables side by side were one each."""
    item = item_of(document(1, BODY, delivery="full"))
    stored = around(item).model_dump(mode="json")
    del stored["notice"]
    del stored["answers"][0]["items"][0]["keeps_form"]
    for excerpt in stored["answers"][0]["items"][0]["excerpts"]:
        for name in ("number", "depth", "cells", "is_header"):
            del excerpt[name]
    files = templates.as_files()
    files["en/document.txt.j2"] = OLD
    files["en/document.html.j2"] = OLD.replace("- {{ sentence.text }}", "<p>{{ sentence.text }}</p>")
    final, old = FinalAnswer.model_validate(stored), Templates.from_files(files)
    rendered = render(final, old)
    check(rendered, final, old)
    assert (
        """
Ask like this: 
[Document 1]
- Sign in.
- Open Billing.
- As the owner.
- Or as an administrator.
- Press Refund.
- Gift cards
- Domain names
[Document 1]
- Who | Fee
- Clubs | none
- Code | Reason | What to do
- HF-W20 | an older version is still running | end it in the Task Manager and start again
1 Document 1"""  # noqa: W291
        in rendered.text.text
    )
    assert final.notice == "bottom"


def test_the_same_sentences_are_the_same_answer_however_they_are_set() -> None:
    """What was answered before tables were kept is not answered again because it looks better now."""
    item = item_of(document(1, BODY, delivery="full"))
    plain = tuple(one.model_copy(update={"number": None, "cells": (), "is_header": False}) for one in item.excerpts)
    before = item.model_copy(update={"excerpts": plain, "keeps_form": False})
    assert is_covered_by(item, before)
    assert not is_covered_by(item, before.model_copy(update={"excerpts": plain[1:]}))
    assert is_covered_by(item.model_copy(update={"excerpts": item.excerpts[1:]}), before), "a part says nothing new"
    assert not is_covered_by(item, before.model_copy(update={"version": "0" * 64}))
    assert not is_covered_by(item, item_of(document(2, BODY, delivery="full")))


def test_a_document_is_covered_by_in_another_language() -> None:
    """Whichever sentences; where one has none yet, as in older answers, versions are compared as ever."""
    english, german = (
        item_of(document(1, BODY, delivery="full")).model_copy(update={"language": language, "version": version * 64})
        for language, version in (("en", "0"), ("de", "1"))
    )
    assert is_covered_by(english, german.model_copy(update={"excerpts": german.excerpts[1:]}))
    assert not is_covered_by(english, german.model_copy(update={"number": 2}))
    assert not is_covered_by(english, german.model_copy(update={"language": None}))
