"""Chromium without a window, from the system; only pages of this machine are opened."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.servers.postgres import skip_or_fail

NAMES = ("chromium", "google-chrome", "chromium-browser")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser; without one the test is skipped, and fails where `CI` is set."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        skip_or_fail("no Chromium: run deploy/install-servers.sh, or install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, chromium_sandbox=os.geteuid() != 0)
        try:
            yield browser
        finally:
            browser.close()
