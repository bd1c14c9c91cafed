"""The program that downloads one file from the Hugging Face hub and continues what is there; see `downloads`.

`python -m support_agent.models.hub REPOSITORY REVISION FILE TARGET SIZE_BYTES TIMEOUT_S`; its last line on
stderr is why it failed. A process of its own, because the library reads its settings when it is imported.

Invariant: bytes that are in TARGET are not asked for again; tests/unit/models/test_downloads.py checks it
against a hub that breaks off.
"""

from __future__ import annotations

import sys
from pathlib import Path

from huggingface_hub import get_hf_file_metadata, get_session, hf_hub_url

PARTIAL_CONTENT = 206


def fetch(url: str, target: Path, size_bytes: int, timeout_s: float) -> None:
    """Complete `target`; a connection that breaks is tried again as long as each try brings something.

    The first request has no second try, so that a hub that cannot be reached costs `timeout_s` at most.
    """
    found = get_hf_file_metadata(url, token=False, timeout=timeout_s)
    if found.size is not None and found.size != size_bytes:
        sys.exit(f"the hub now has another file of {found.size} bytes")
    target.touch()
    while (start := target.stat().st_size) < size_bytes:
        try:
            _append(url, target, start, size_bytes, timeout_s)
        except Exception:
            if target.stat().st_size == start:
                raise


def _append(url: str, target: Path, start: int, size_bytes: int, timeout_s: float) -> None:
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={start}-"}
    stream = get_session().stream("GET", url, headers=headers, follow_redirects=True, timeout=timeout_s)
    with stream as response, target.open("ab") as file:
        response.raise_for_status()
        if response.status_code != PARTIAL_CONTENT:  # ranges are not served: the whole file again
            file.seek(file.truncate(0))
        for chunk in response.iter_bytes():
            file.write(chunk)
            if file.tell() > size_bytes:
                sys.exit(f"the hub sent more than the {size_bytes} bytes of the file")


if __name__ == "__main__":
    repository, revision, name, path, size, timeout = sys.argv[1:]
    fetch(hf_hub_url(repository, name, revision=revision), Path(path), int(size), float(timeout))
