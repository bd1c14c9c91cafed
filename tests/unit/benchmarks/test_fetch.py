"""Downloading the benchmarks' data: the pinned bytes whole, or nothing and a line that says why."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.fetch import BY_HAND, SETS, ByHand, DataSet, File, main
from tests.servers.web import NOT_FOUND, Reply, Request, WebServer, web_server

TEXT = b"one line\nanother\n" * 100
REPLIES = {
    "/good": Reply(TEXT),
    "/moved": Reply(status=302, headers={"Location": "/good"}),
    "/other": Reply(TEXT[::-1]),
    "/longer": Reply(TEXT + TEXT),
    "/cut": Reply(TEXT, cut=True),
}


@pytest.fixture
def server() -> Iterator[WebServer]:
    def answer(request: Request) -> Reply:
        return REPLIES.get(request.path, NOT_FOUND)

    with web_server(answer) as running:
        yield running


def one(url: str) -> dict[str, DataSet]:
    """A set of one file with the pinned text."""
    return {"set": DataSet("CC0", (File("data.txt", url, hashlib.sha256(TEXT).hexdigest(), len(TEXT)),))}


@pytest.mark.parametrize("path", ["/good", "/moved"])
def test_the_pinned_bytes_arrive_with_their_licence(
    server: WebServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    """Rule: in a folder of the set's name; a redirect is followed."""
    assert main(["set", "--into", str(tmp_path)], one(server.url + path), {}) == 0
    place = tmp_path / "set" / "data.txt"
    assert place.read_bytes() == TEXT
    assert capsys.readouterr().out == f"{place}  (CC0)\n"


def test_what_is_there_is_not_asked_for_again_unless_it_is_damaged(server: WebServer, tmp_path: Path) -> None:
    """Rule: a second run goes on where the first one stopped."""
    sets = one(f"{server.url}/good")
    assert [main(["all", "--into", str(tmp_path)], sets, {}) for _ in range(2)] == [0, 0]
    assert server.paths == ["/good"]
    (tmp_path / "set" / "data.txt").write_bytes(TEXT[:-1])
    assert main(["all", "--into", str(tmp_path)], sets, {}) == 0
    assert (tmp_path / "set" / "data.txt").read_bytes() == TEXT


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/other", "are not the pinned 1700"),
        ("/longer", "are not the pinned 1700"),
        ("/cut", "check the network"),
        ("/gone", "HTTP 404"),
    ],
)
def test_other_bytes_are_refused_and_nothing_is_kept(
    server: WebServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, why: str
) -> None:
    """Rule: one line with the address and the reason, exit 1; no half file, and no old one is lost."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "data.txt").write_bytes(b"of another release")
    assert main(["set", "--into", str(tmp_path)], one(server.url + path), {}) == 1
    told = capsys.readouterr().err
    assert f"fetch: set: {server.url}{path}: " in told
    assert why in told
    assert len(told.splitlines()) == 1
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "set").iterdir()] == [
        ("data.txt", b"of another release")
    ]


def test_offline_says_what_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: where nobody listens, the network is named, with no traceback."""
    with web_server(lambda _request: NOT_FOUND) as gone:
        url = f"{gone.url}/good"
    assert main(["set", "--into", str(tmp_path)], one(url), {}) == 1
    assert "check the network, or set HTTPS_PROXY" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(
    server: WebServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["set", "--into", str(tmp_path / "file")], one(f"{server.url}/good"), {}) == 1
    assert "name another folder with --into" in capsys.readouterr().err


def test_a_set_without_checksums_is_told_and_not_downloaded(
    server: WebServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: by its name it fails; `all` brings the others, and says what it left out."""
    by_hand = {"own": ByHand("CC0", "https://example.org/own", "a.txt")}
    sets = one(f"{server.url}/good")
    assert main(["own", "--into", str(tmp_path)], sets, by_hand) == 1
    assert "put a.txt of https://example.org/own (CC0)" in capsys.readouterr().err
    assert main(["all", "--into", str(tmp_path)], sets, by_hand) == 0
    told = capsys.readouterr()
    assert ("data.txt" in told.out, "own: no checksum" in told.err) == (True, True)


def test_every_file_is_pinned() -> None:
    """Rule: over TLS, at a commit, with a checksum; no name is in both tables."""
    assert not SETS.keys() & BY_HAND.keys()
    for wanted in SETS.values():
        assert wanted.licence
        for file in wanted.files:
            assert file.url.startswith("https://")
            assert re.search(r"/[0-9a-f]{40}/", file.url)
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
