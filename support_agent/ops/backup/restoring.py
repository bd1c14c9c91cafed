"""Restores a backup: verifies it, stages it, puts in doubt what may have happened since, and exchanges the stores.

A store that was lost may have sent mails after the backup was made, and nothing in the backup knows of them. Rule: what
it may have done is not done again by itself. Mails to customers that waited to be sent, or for approval, become
`uncertain`; mails that were not handled yet, and those that the mailbox has until it is first opened again, are decided
by a person. Only the Sent folder may say more. With `is_exact` the operator says that nothing has happened since.

Invariant: a kill leaves the store before as it was, or one that nobody opens until `restore` has finished it. Checked
by tests/integration/backup: a kill at every point, a backup at every step of a journey, and nobody answered twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from support_agent.config.database_url import is_postgresql, shown_url
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.settings import Settings
from support_agent.core.cursor import Cursor
from support_agent.errors import ConfigError
from support_agent.ops.backup.archive import Manifest, verify
from support_agent.ops.backup.targets import Target, target_of
from support_agent.store.audit import AuditEvent
from support_agent.store.keys import key_settings
from support_agent.store.lock import only_process
from support_agent.store.records import JsonObject
from support_agent.store.store import Store

SERVER_CLOCK_LAG = timedelta(hours=1)
"""How far the mail server's clock may be behind ours."""


class Restored(NamedTuple):
    """What was done.

    `finished_only`: an earlier restore that was interrupted was finished, and nothing else was done. `kept`: where each
    store before lies. `uncertain`: mails to customers that a person must look after. `forgotten`: mails whose key was
    destroyed since the backup, which were deleted again. `unreadable`: mails whose key is missing, which stay.
    """

    manifest: Manifest
    finished_only: bool
    kept: tuple[str, ...]
    uncertain: int = 0
    forgotten: int = 0
    unreadable: int = 0


def restore(
    archive: Path,
    brands: Mapping[str, Settings],
    now: datetime,
    holder: str,
    *,
    may_replace: bool = False,
    is_exact: bool = False,
) -> Restored:
    """Restore the stores of a backup.

    Args:
        brands: The settings by brand; "" is the first mailbox.
        holder: Describes this process to others, as for `only_process`.
        may_replace: A store that has mails is replaced and kept aside.
        is_exact: Nothing has happened since the backup: the workers go on with it.
    Raises:
        ConfigError: a worker runs, a store has mails, a newer version of the program made the backup, or the keys of
            its encrypted mails are not there.
        PermanentError: the backup is damaged. In each case nothing was changed.
    """
    manifest = verify(archive)
    _refuse_unfit(manifest, brands, is_exact)
    timeout_s = brands[""].store.timeout_s
    with ExitStack() as held:
        for settings in brands.values():
            held.enter_context(only_process(settings.store.url, holder, timeout_s=timeout_s))
        targets = {brand: target_of(one.store.url, timeout_s, has_engine=brand == "") for brand, one in brands.items()}
        if (kept := _finish_earlier(targets, now)) is not None:
            return Restored(manifest, True, kept)
        _refuse_full(manifest, targets, brands, is_exact=is_exact, may_replace=may_replace)
        uncertain = forgotten = unreadable = 0
        for brand, target in targets.items():
            target.stage(archive, manifest.stores[brand])
            with target.staged(key_settings(brands[brand].store)) as store:
                store.upgrade()
                store.sealing.require_any_keys()
                # Only what was certainly forgotten: a key that is missing may be in another copy of the keys.
                forgotten += store.sealing.delete_unreadable(now, is_certain=True).mails
                unreadable += store.sealing.delete_unreadable(now, dry_run=True).mails
                doubted = 0 if is_exact else put_in_doubt(store, manifest.made_at, now, brands[brand].imap)
                about: JsonObject = {
                    "made_at": manifest.made_at.isoformat(),
                    "is_exact": is_exact,
                    "uncertain": doubted,
                }
                store.audit.add(AuditEvent.RESTORED, "the operator", now, about)
                uncertain += doubted
        return Restored(manifest, False, _exchange(targets, now), uncertain, forgotten, unreadable)


def put_in_doubt(store: Store, made_at: datetime, now: datetime, imap: ImapSettings) -> int:
    """Leave to people what may have happened after the backup was made; return how many mails became uncertain."""
    detail = f"restored from the backup of {made_at:%Y-%m-%d %H:%M} UTC: it may have gone out since"
    uncertain = store.deliveries.doubt_waiting(detail, now)
    store.mails.doubt_open()
    left_before = made_at - SERVER_CLOCK_LAG if imap.skip_existing else None
    # No folder has the UIDVALIDITY 0: where there is no cursor yet, the folder is read from its start.
    never_read = Cursor(folder=imap.folder, uid_validity=0, last_uid=0, left_before=left_before)
    store.cursors.doubt(never_read)
    return uncertain


def _refuse_unfit(manifest: Manifest, brands: Mapping[str, Settings], is_exact: bool) -> None:
    """Refuse a backup that this program, or this configuration, cannot take."""
    if set(manifest.stores) != set(brands):
        has, wants = (", ".join(sorted(filter(None, names))) or "none" for names in (manifest.stores, brands))
        raise ConfigError(f"the backup has the brands {has}, the configuration {wants}: use the same", code="backup")
    for brand, settings in brands.items():
        copy = manifest.stores[brand]
        if copy.kind == "postgresql" and not is_postgresql(settings.store.url):
            what = "the backup is of a store on PostgreSQL, and store.url names a SQLite file"
            raise ConfigError(f"{what}: name a database of PostgreSQL", code="backup")
        with Store.of(settings.store) as store:
            if not store.database.knows(copy.schema_version):
                raise _newer(manifest, f"schema {copy.schema_version}", f"schemas up to {store.database.head()}")
    if is_exact and not manifest.is_quiet:
        what = "a worker was running when this backup was made, so something has happened since"
        raise ConfigError(f"{what}: restore it without --exact", code="backup")


def _newer(manifest: Manifest, has: str, knows: str) -> ConfigError:
    what = f"the backup was made by support-agent {manifest.program}, a newer version ({has}); this one knows {knows}"
    return ConfigError(f"{what}; nothing was changed: install that version to restore it", code="schema")


def _refuse_full(
    manifest: Manifest,
    targets: Mapping[str, Target],
    brands: Mapping[str, Settings],
    *,
    is_exact: bool,
    may_replace: bool,
) -> None:
    """Refuse stores that cannot be written to, and those with mails that may not be replaced.

    A store of another kind is not the one that was backed up: if it has mails, something has happened since.
    """
    for brand, target in targets.items():
        target.check()
        is_other = manifest.stores[brand].kind == "sqlite" and is_postgresql(brands[brand].store.url)
        if (may_replace and not (is_exact and is_other)) or target.is_empty():
            continue
        todo = "without --exact, with --replace" if is_exact and is_other else "with --replace"
        raise ConfigError(
            f"the store {shown_url(brands[brand].store.url)} has mails: restore {todo}, which keeps it aside; nothing"
            " was changed",
            code="backup",
        )


# All stores or none: that of the first mailbox is pledged and exchanged last, so its pledge says that all are staged.


def _exchange(targets: Mapping[str, Target], now: datetime) -> tuple[str, ...]:
    for target in _first_last(targets):
        target.pledge()
    return tuple(filter(None, [target.finish(now) for target in _first_last(targets)]))


def _finish_earlier(targets: Mapping[str, Target], now: datetime) -> tuple[str, ...] | None:
    """Finish a restore that was interrupted; one that was not pledged for all stores has changed none, and is dropped.

    Returns:
        Where the stores before are kept; None: there was nothing to finish.
    """
    pending = [target for target in _first_last(targets) if target.is_pending()]
    if targets[""].is_pending():
        return tuple(filter(None, [target.finish(now) for target in pending]))
    for target in pending:
        target.withdraw()
    return None


def _first_last(targets: Mapping[str, Target]) -> list[Target]:
    return [target for brand, target in targets.items() if brand] + [targets[""]]
