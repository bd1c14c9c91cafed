"""Values become text on a page, never markup."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jinja2
import pytest
from markupsafe import Markup

from support_agent.desk_page import markup
from support_agent.desk_page.markup import rendered
from support_agent.desk_page.wording import Wording

Show = Callable[[str, Mapping[str, object]], str]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Show:
    """Shows a template of the test's own, in the page's environment."""

    def show(template: str, values: Mapping[str, object]) -> str:
        environment = markup._environment().overlay(loader=jinja2.DictLoader({"page": template}))
        monkeypatch.setattr(markup, "_environment", lambda: environment)
        shown = rendered("page", values)
        monkeypatch.undo()
        return shown

    return show


def test_a_value_is_text(page: Show) -> None:
    template = '<p title="{{ x }}">{{ x }}</p>'
    shown = page(template, {"x": "<b a='1' b=\"2\">&"})
    assert (
        shown == '<p title="&lt;b a=&#39;1&#39; b=&#34;2&#34;&gt;&amp;">&lt;b a=&#39;1&#39; b=&#34;2&#34;&gt;&amp;</p>'
    )


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f", "\x00", "\x07", "\x1b", "\ufeff"])
def test_what_reorders_or_controls_is_left_out(page: Show, character: str) -> None:
    template = "{{ x }}"
    assert page(template, {"x": f"a{character}b"}) == "ab"


def test_markup_of_a_template_stays(page: Show) -> None:
    template = "{{ x }}{% macro m() %}<b>{{ y }}</b>{% endmacro %}{{ m() }}"
    assert page(template, {"x": Markup("<i></i>"), "y": "<"}) == "<i></i><b>&lt;</b>"


def test_a_missing_value_is_an_error(page: Show) -> None:
    template = "{{ x }}"
    with pytest.raises(jinja2.UndefinedError):
        page(template, {})


@pytest.mark.parametrize("name", ["../words/en.yaml", "/etc/passwd", "none.html", ""])
def test_a_template_is_one_of_the_pages_own(name: str) -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        rendered(name, {})


def test_a_text_is_not_a_template() -> None:
    values = {"w": Wording("en"), "company": "{{ 7*7 }}", "code": "signed_out", "said": "{% raw %}"}
    shown = rendered("plain.html", values)
    assert "{{ 7*7 }}" in shown
    assert "49" not in shown
