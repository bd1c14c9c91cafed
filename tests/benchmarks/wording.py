"""`python -m tests.benchmarks.wording [development|reported]`: what the rules of screening make of made mails.

A line a kind of mail: how many were tried and how many read so, in all and by language.
"""

from __future__ import annotations

import sys

from tests.wording import tallies


def main() -> None:
    """Measure and print."""
    name = sys.argv[1] if len(sys.argv) > 1 else "development"
    for tally in tallies(name):
        languages = " ".join(f"{language}:{found}/{tried}" for language, (found, tried) in tally.languages.items())
        print(f"{tally.kind}: {tally.found} of {tally.tried} {tally.what}  {languages}")  # noqa: T201


if __name__ == "__main__":
    main()
