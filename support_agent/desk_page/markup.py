"""Turns a view's values into a page: Jinja with autoescape, strict about what is missing.

Invariant: no text becomes markup, and texts from outside lose control and bidirectional characters, so that a mail can
neither add to the page nor reorder it. Checked by tests/unit/desk_page/test_markup.py and, with attacks,
tests/journey/test_page_attacks.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import jinja2
from jinja2.filters import do_forceescape

from support_agent.answer.formatting import clean_lines, without_unsafe


def rendered(template: str, values: Mapping[str, object]) -> str:
    """The page as HTML.

    Raises:
        jinja2.UndefinedError: the template uses a value that is not there.
    """
    return _environment().get_template(template).render(**values)


def _clean(value: object) -> object:
    """A text without control and bidirectional characters; markup of a template itself stays."""
    return without_unsafe(value) if type(value) is str else value


def _whole(text: str) -> str:
    """A text as markup with its line ends and tabs, for a text area or a block of code."""
    kept = re.split(r"([\n\t])", text)
    return do_forceescape("".join(part if part in ("\n", "\t") else without_unsafe(part) for part in kept))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("support_agent.desk_page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters["lines"] = clean_lines
    environment.filters["whole"] = _whole
    return environment
