"""Forgets a person: rows, engine records and files, with an entry in the audit log that does not name the person.

The entry has a pseudonym: an HMAC of the address under a random key that is printed once, the receipt, and not kept.
Whoever has the receipt can prove that the entry is about an address; nobody else can tell whom it is about.

Invariant: what is unfinished is refused before anything is deleted. The rows and the keys, by which everything else is
found, go last, so a second run finishes what a first one that died has left; it prints a receipt of its own. Checked by
tests/unit/ops/test_forgetting.py and, with a kill before each change, by tests/integration/store/test_forget_kills.py.
"""

from __future__ import annotations

import hashlib
import hmac
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from support_agent.core.file_lock import takes_lock
from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError
from support_agent.ops.evals.mail_labels import LABELS
from support_agent.ops.person import PersonAddresses, PersonData
from support_agent.store.store import Store


class Forgotten(Frozen):
    """What was deleted, and the receipt for the person, in hex."""

    traces: PersonData
    engine_records: int
    receipt: str


def forget(
    store: Store,
    person: PersonAddresses,
    traces: PersonData,
    results: Path,
    delete_records: Callable[[Sequence[str]], int],
    receipt: bytes,
    now: datetime,
) -> Forgotten:
    """Delete everything that was found of a person.

    Args:
        results: Where `backtest` keeps its results.
        delete_records: Deletes the engine's records of mails by their ids; returns how many there were.
        receipt: 32 random bytes.
    Raises:
        PermanentError: something is unfinished, or a backtest is under way; nothing is deleted then. Or a mail of the
            person has come in meanwhile: a second run finishes.
    """
    _refuse_running(results)
    traces.kept.require_finished()
    records = delete_records(traces.kept.mails)
    _delete_files(traces, results)
    who = [pseudonym(address, receipt) for address in person.addresses]
    kept = store.persons.forget(traces.kept, now, {"persons": list(who)})
    store.database.purge()
    return Forgotten(traces=traces.model_copy(update={"kept": kept}), engine_records=records, receipt=receipt.hex())


def pseudonym(address: str, receipt: bytes) -> str:
    """How the audit log names a person: HMAC-SHA-256 of the address under the receipt, in hex."""
    return hmac.new(receipt, address.encode(), hashlib.sha256).hexdigest()


def _refuse_running(results: Path) -> None:
    for path in results.glob("*/lock"):  # that of a run which the desk's page started
        with path.open("rb") as lock:
            if not takes_lock(lock, without_locks=False):
                raise PermanentError("a backtest is under way: wait for its end, or stop it", code="running")


def _delete_files(traces: PersonData, results: Path) -> None:
    try:
        if results.exists():
            shutil.rmtree(results)
        _delete_labelled(traces.labelled)
    except OSError as error:
        what = f"{error.filename} cannot be deleted ({error.strerror})"
        raise PermanentError(f"{what}: check its permissions, and run it again", code="files") from error


def _delete_labelled(paths: Sequence[Path]) -> None:
    for path in paths:
        labels, changed = path.parent / LABELS, path.parent / f"{LABELS}.new"
        if labels.is_file():
            lines = labels.read_text("utf-8").splitlines(keepends=True)
            changed.write_text("".join(line for line in lines if path.stem not in line), "utf-8")
            changed.rename(labels)  # before the mail, by which its label is found
        path.unlink(missing_ok=True)
