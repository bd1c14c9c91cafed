"""`python -m tests.benchmarks.fetch NAME|all --into DIR`: downloads the public data that the benchmarks read.

Each file comes from its original address at a pinned commit, into a folder of its set's name. Invariant: a file is in
its place only whole and with the pinned sha256; one that is there already is not asked for again. A set stands in
`SETS` once somebody has compared its checksums with the original files; those of `BY_HAND` have none yet, and are told,
not downloaded. Checked by tests/unit/benchmarks/test_fetch.py, against a server on loopback.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from support_agent.errors import PermanentError, SupportAgentError, TransientError

TIMEOUT_S = 30.0
ALL = "all"
DONE, FAILED = 0, 1


class File(NamedTuple):
    """One file of a set: its name in the folder, where it comes from, its exact bytes."""

    name: str
    url: str
    sha256: str
    size_bytes: int


class DataSet(NamedTuple):
    """Files that belong together, and the terms under which they may be used."""

    licence: str
    files: tuple[File, ...]


class ByHand(NamedTuple):
    """A set without verified checksums: its terms, where it is, and which files to put into the folder."""

    licence: str
    url: str
    files: str


BIPIA = "https://raw.githubusercontent.com/microsoft/BIPIA"
SETS: Mapping[str, DataSet] = {
    "bipia": DataSet(
        licence="MIT",
        files=(
            File(
                "email_train.jsonl",
                f"{BIPIA}/dca710a05f378eafb36107868aaec572d79ee2dc/benchmark/email/train.jsonl",
                "82207193cb8ce06713eeb7c33ca0716446613512e2ad9303b302ba14d425ddd4",
                31_586,
            ),
            File(
                "text_attack_train.json",
                f"{BIPIA}/5a48626aece9739ce587ffdbcb2b7badcfd9d8ba/benchmark/text_attack_train.json",
                "63f95d3e67eac4178cdabdbdaf192cd05f2b6ed0702b578f1d30d556e5155670",
                5_999,
            ),
        ),
    )
}
BY_HAND: Mapping[str, ByHand] = {
    "banking77": ByHand("CC BY 4.0", "https://github.com/PolyAI-LDN/task-specific-datasets", "banking_data/train.csv"),
    "clinc150": ByHand("CC BY 3.0", "https://github.com/clinc/oos-eval", "data/data_full.json"),
    "dstc11": ByHand(
        "CDLA-Sharing-1.0",
        "https://github.com/alexa/dstc11-track5/tree/1516e7b0190bf51049084e6d147ef78b41c0f1e5",
        "data/val/logs.json, data/val/labels.json, data/knowledge.json",
    ),
    "hint3": ByHand(
        "ODbL-1.0 and DbCL-1.0",
        "https://github.com/hellohaptik/HINT3/tree/9d6b72d8cfd2665c495dc2c300c307f2a69e2f3e",
        "dataset/v1",
    ),
    "wikiqa": ByHand(
        "Microsoft Research Data License",
        "https://www.microsoft.com/en-us/download/details.aspx?id=52419",
        "WikiQA-test.tsv",
    ),
}


def main(
    arguments: Sequence[str] | None = None,
    sets: Mapping[str, DataSet] = SETS,
    by_hand: Mapping[str, ByHand] = BY_HAND,
) -> int:
    """Download what is named, and say where it is; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fetch")
    parser.add_argument("name", choices=(*sorted({*sets, *by_hand}), ALL), help="which set")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="where the sets' folders go")
    asked = parser.parse_args(arguments)
    code = DONE
    for name in sorted({*sets, *by_hand}) if asked.name == ALL else (asked.name,):
        if name in by_hand:
            print(_told(name, by_hand[name], asked.into), file=sys.stderr)  # noqa: T201
            code = code if asked.name == ALL else FAILED
            continue
        try:
            for path in fetch_set(name, sets[name], asked.into):
                print(f"{path}  ({sets[name].licence})")  # noqa: T201
        except SupportAgentError as error:
            print(f"fetch: {name}: {error}", file=sys.stderr)  # noqa: T201
            code = FAILED
    return code


def _told(name: str, one: ByHand, into: Path) -> str:
    return (
        f"fetch: {name}: no checksum of it is verified, so it is not downloaded: put {one.files} of {one.url} "
        f"({one.licence}) into {into / name}"
    )


def fetch_set(name: str, wanted: DataSet, into: Path) -> tuple[Path, ...]:
    """The files of a set in its folder, those that are missing or damaged downloaded.

    Raises:
        TransientError: a server is not reached or does not deliver.
        PermanentError: what it delivers is not the pinned file, or the folder cannot be written.
    """
    return tuple(_fetch(file, into / name) for file in wanted.files)


def _fetch(file: File, folder: Path) -> Path:
    place, partial = folder / file.name, folder / f"{file.name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if place.is_file() and hashlib.sha256(place.read_bytes()).hexdigest() == file.sha256:
            return place
        content = _download(file)
        partial.write_bytes(content)
        partial.replace(place)
    except OSError as error:
        raise PermanentError(f"{folder}: {error.strerror}: name another folder with --into") from error
    return place


def _download(file: File) -> bytes:
    """The pinned bytes; no more than these are read."""
    content = bytearray()
    try:
        with httpx.stream("GET", file.url, follow_redirects=True, timeout=TIMEOUT_S) as response:
            response.raise_for_status()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > file.size_bytes:
                    break
    except httpx.HTTPStatusError as error:
        raise TransientError(f"{file.url}: HTTP {error.response.status_code}: try again later") from error
    except httpx.HTTPError as error:
        what = str(error) or type(error).__name__
        raise TransientError(f"{file.url}: {what}: check the network, or set HTTPS_PROXY") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise PermanentError(
            f"{file.url}: {len(content)} bytes with sha256 {found} are not the pinned {file.size_bytes} with "
            f"{file.sha256}: nothing was kept"
        )
    return bytes(content)


if __name__ == "__main__":
    sys.exit(main())
