"""The section `[brands]`: further mailboxes that one process serves, each with a configuration of its own.

Checked by tests/unit/config/test_brands.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen

BrandName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,29}$")]


class BrandSettings(Frozen):
    """Further mailboxes that `run` serves beside this one, with the same models in memory."""

    files: Mapping[BrandName, Path] = {}
    """The configuration of each brand by a short name, as `{ shop = "shop/support-agent.toml" }`. `init` writes one: it
    has its own address, company, templates, documents, desk and store, and says `is_brand = true`. A name stays with
    its brand: mails that are being handled are known by it."""
    is_brand: bool = False
    """This is the configuration of a brand: `SUPPORT_AGENT__` variables, which are those of another, do not count."""
