"""The Jinja templates of the web pages that are written to a file: with autoescape, strict about what is missing.

Invariant: no text becomes markup, and texts from outside lose control and bidirectional characters. Checked by
tests/unit/ops/test_facts_page.py and tests/unit/ops/backtest/test_page.py.
"""

from __future__ import annotations

from functools import cache

import jinja2

from support_agent.answer.formatting import clean_line, clean_lines


@cache
def page_template(file: str) -> jinja2.Template:
    """A template of this folder; its filters `lines` and `percent` write a text and a share."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("support_agent.ops", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters |= {"lines": clean_lines, "percent": _percent}
    return environment.get_template(file)


def _clean(value: object) -> object:
    """Texts without control and bidirectional characters."""
    return clean_line(value) if type(value) is str else value


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
