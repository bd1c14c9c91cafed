"""Copies the keys of a store that moves to where its settings have them now.

Invariant: no key changes where they were, and if there is a doubt about one, none is stored anywhere. Checked by
tests/integration/backup/test_moving.py.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL

from support_agent.config.database_url import normalise_url
from support_agent.config.settings import StoreSettings
from support_agent.errors import ConfigError
from support_agent.store.keys import Keys, KeySettings, key_settings
from support_agent.store.lock import only_process


class Copied(NamedTuple):
    """How many keys were copied, where they are now, and whether a master key wraps them there."""

    keys: int
    place: str
    is_wrapped: bool


def copy_keys(source: str, master_key_file: Path | None, store: StoreSettings, holder: str) -> Copied:
    """Copy all keys, those that were destroyed too. It may be done again.

    Args:
        source: A SQLite file, or the URL of a database.
        master_key_file: That of the source; None: the one beside its file, else that of the settings.
        store: Of the mailbox that the keys are of.
        holder: Describes this process to others, as for `only_process`.
    Raises:
        ConfigError: there are no keys, a mail has another key there already, a master key is missing or another one,
            or a worker has the store.
    """
    url = normalise_url(source) if "://" in source else URL.create("sqlite", database=str(Path(source).absolute()))
    name = url.render_as_string(hide_password=False)
    wrapped = KeySettings(url=name, master_key_file=master_key_file)
    to = key_settings(store)
    if master_key_file is None and not any(file.exists() for file in Keys(url, wrapped, store.timeout_s).files[1:]):
        wrapped = to._replace(url=name)
    with (
        closing(Keys(url, wrapped, store.timeout_s)) as there,
        closing(Keys(normalise_url(store.url), to, store.timeout_s)) as here,
    ):
        if not there.has_any():
            raise ConfigError(f"there are no keys in {there.place}: name the file, or the database, that has them")
        with only_process(store.url, holder, timeout_s=store.timeout_s):
            with closing(there.plain()) as parts:
                count = here.add(parts)
            here.purge()
            return Copied(count, here.place, here.is_wrapped)
