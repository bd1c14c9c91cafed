"""The text of a file of weights, so that a change of it can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_LIST = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")


def weights_text(weights: Mapping[str, object]) -> str:
    """JSON with a line for each number and for each list of numbers."""
    return _LIST.sub(lambda found: f"[{' '.join(found[1].split())}]", json.dumps(weights, indent=1)) + "\n"
