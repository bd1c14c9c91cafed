"""`python docs/screenshots.py`: photograph the desk's page with a made-up day: light, dark, and on a phone.

It needs Chromium and the development requirements. The pictures go into docs/pictures; the README shows one of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from playwright.sync_api import Browser  # noqa: E402

from tests.made_desk import Served, made_desk, served  # noqa: E402
from tests.servers.browser import open_browser  # noqa: E402

PICTURES = DOCS / "pictures"


class Look(NamedTuple):
    """A way to look at the page."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    locale: str = "en-GB"


LOOKS = (Look("light", 1280, 860, "light"), Look("dark", 1280, 860, "dark"), Look("phone", 400, 860, "light", "de-DE"))


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        made_desk(Path(folder)) as office,
        served(office, Path(folder)) as desk,
    ):
        case = next(iter(desk.office.store.cases.found("james.okafor@example.org", 1))).id
        pages = dict(_pages(case))
        with open_browser() as browser:
            for look in LOOKS:
                _photograph(browser, desk, look, pages)


def _pages(case: str) -> Iterator[tuple[str, str]]:
    """The name of each picture, and its address."""
    yield "queue", "/"
    yield "case", f"/cases/{case}"
    yield "choice", f"/cases/{case}?choose=document:2"
    yield "replay", f"/cases/{case}/replay"
    yield "documents", "/documents"
    yield "document", "/documents/1"
    yield "edit", "/documents/1/edit"
    yield "templates", "/documents/templates"
    yield "quality", "/quality"
    yield "backtest", "/quality/backtest"
    yield "operations", "/operations"


def _photograph(browser: Browser, desk: Served, look: Look, pages: dict[str, str]) -> None:
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height}, color_scheme=look.scheme, locale=look.locale
    )
    page = context.new_page()
    page.goto(desk.link)
    for name, path in pages.items():
        page.goto(f"{desk.address}{path}")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=PICTURES / f"{name}-{look.name}.png", type="png")
    context.close()


if __name__ == "__main__":
    main()
