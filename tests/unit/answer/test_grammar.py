"""The part of Jinja that templates may use: each construct that could make text is refused, with line and
advice.
"""

from __future__ import annotations

import pytest

from support_agent.answer.render import parse_template


def problem(source: str) -> str:
    found = parse_template("en/x.txt.j2", source)
    return "" if not found else f"{found[0].line}: {found[0].what}: {found[0].todo}"


@pytest.mark.parametrize(
    "source",
    [
        "Hello {{ greeting_name }}",
        "{% if counts.is_partial and not company %}x{% elif subject is none %}y{% else %}z{% endif %}",
        "{% for item in answers %}{% include item.text_partial %}{% endfor %}",
        "{% for row in item.rows %}{% if loop.index == 2 or loop.last %}{{ row.day }}{% endif %}{% endfor %}",
        "{% for row in item.rows if row.label %}{{ row.label }}{% else %}none{% endfor %}",
        '{% if item.rows | length > 3 %}{% include "notice.txt.j2" %}{% endif %}{# {{ lipsum() }} #}',
    ],
)
def test_text_values_if_for_and_include_are_allowed(source: str) -> None:
    """What a support lead needs."""
    assert problem(source) == ""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ 'x' }}", "2: the constant 'x' is printed by an expression: write literals as template text"),
        ("{{ 7 }}", "1: the constant 7"),
        ("{{ item.label | upper }}", "the filter 'upper' would lose the source"),
        ("{{ item.label | replace('a', 'b') }}", "the filter 'replace' would lose the source"),
        ("{{ item.label ~ 'x' }}", "Concat is not allowed"),
        ("{{ item.label + item.label }}", "Add is not allowed"),
        ("{{ item.label[0] }}", "Getitem is not allowed"),
        ("{{ item.label if item.label else company }}", "write {% if %}"),
        ("{{ lipsum() }}", "Call is not allowed"),
        ("{{ lipsum }}", "'lipsum' is not defined"),
        ("{{ cycler }}", "'cycler' is not defined"),
        ("{{ self }}", "'self' is not defined"),
        ("{{ loop.index0 }}", "'loop' is not defined"),
        ("{{ item.__class__ }}", "no value has a part '__class__'"),
        ("{{ item.labl }}", "no value has a part 'labl', did you mean label?"),
        ("{{ compny }}", "'compny' is not defined, did you mean company?"),
        ("{% set x = 'y' %}", "Assign is not allowed"),
        ("{% set x %}y{% endset %}", "AssignBlock is not allowed"),
        ("{% macro m() %}x{% endmacro %}", "Macro is not allowed"),
        ("{% call m() %}x{% endcall %}", "CallBlock is not allowed"),
        ("{% filter upper %}x{% endfilter %}", "FilterBlock is not allowed"),
        ("{% with x = company %}{% endwith %}", "With is not allowed"),
        ("{% autoescape false %}{{ company }}{% endautoescape %}", "Scope is not allowed"),
        ("{% import 'x' as y %}", "Import is not allowed"),
        ("{% extends 'x' %}", "Extends is not allowed"),
        ("{% block b %}x{% endblock %}", "Block is not allowed"),
        ("{% raw %}{{ x }}{% endraw %}", "raw blocks are not supported"),
        ("{% include 'a' ~ 'b' %}", "Include is not allowed"),
        ("{% include company %}", "Include is not allowed"),
        ("{% include 'a' ignore missing %}", "Include is not allowed"),
        ("{% include ['a', 'b'] %}", "Include is not allowed"),
        ("{% for x in range(9) %}{% endfor %}", "Call is not allowed"),
        ("{% for x in 'abc' %}{% endfor %}", "Const is not allowed"),
        ("{% for company in answers %}{% endfor %}", "the loop hides 'company'"),
        ("{% for a, b in answers %}{% endfor %}", "For is not allowed"),
        ("{% for a in answers recursive %}{% endfor %}", "For is not allowed"),
        ("{% if company | upper == 'X' %}{% endif %}", "Filter is not allowed"),
        ("{% if company.text.strip() %}{% endif %}", "Call is not allowed"),
        ("a\n{% if %}", "2: this is not a template"),
        ("{% do x %}", "this is not a template"),
    ],
)
def test_whatever_could_make_text_is_refused(source: str, message: str) -> None:
    """Each of these could bring a word into a mail that has no source."""
    assert message in problem(source)
