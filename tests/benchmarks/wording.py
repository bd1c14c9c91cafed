"""`python -m tests.benchmarks.wording [development|reported] [--fit] [--vote]`: what screening makes of made mails.

A line a kind of mail: how many were tried and how many read so by the rules' words, in all and by language. `--vote`
adds what the fitted vote says beside the lists, by the weights that come with the program; `--fit` fits them anew to
the development mails, writes them, and prints what they are worth on mails whose language they have not seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from support_agent.config.embedding import MULTILINGUAL
from tests.benchmarks import wording_fit
from tests.machine_mails import made_mails
from tests.wording import tallies


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.wording", description=__doc__)
    parser.add_argument("name", nargs="?", default="development", choices=("development", "reported"))
    parser.add_argument("--fit", action="store_true", help="fit the vote to the development mails and write it")
    parser.add_argument("--vote", action="store_true", help="add the fitted vote")
    args = parser.parse_args(arguments)
    if args.fit:
        votes = {name: fit.is_doubted for name, fit in wording_fit.fit_all().items()}
        _print(wording_fit.table(made_mails("development"), votes))
        return
    for tally in tallies(args.name):
        languages = " ".join(f"{language}:{found}/{tried}" for language, (found, tried) in tally.languages.items())
        _print([f"{tally.kind}: {tally.found} of {tally.tried} {tally.what}  {languages}"])
    if args.vote:
        mails = made_mails(args.name)
        votes = {name: wording_fit.doubted(name, mails) for name in MULTILINGUAL}
        _print(wording_fit.table(mails, votes))


def _print(lines: list[str]) -> None:
    for line in lines:
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
