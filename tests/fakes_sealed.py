"""An office whose store encrypts, and the loss of keys."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from support_agent.config.settings import CompanySettings
from support_agent.store.keys import DESTROYED, KeySettings
from support_agent.store.records import MailId
from support_agent.store.store import Store
from tests.fakes_journey import Office, company_store, open_office

SEALS = KeySettings(seals=True)


@contextmanager
def sealed_office(folder: Path, company: CompanySettings, empty_store: Path) -> Iterator[Office]:
    """An office whose store, in this folder, encrypts; closed at the end."""
    file = shutil.copy(company_store(company, empty_store), folder / "store.sqlite3")
    with Store.open(f"sqlite:///{file}", keys=SEALS) as store:
        opened = open_office(company, store)
        yield opened
        opened.decider.company.accounts.close()


def lose_keys(store: Store, mail_ids: Collection[MailId], *, is_destroyed: bool) -> None:
    """Destroy keys as `forget` does, or lose them as with an older copy of the keys; none stays in memory."""
    vault = store.database.vault
    vault.destroy(mail_ids)
    if not is_destroyed:
        with vault.keys._open() as database, database.begin() as connection:
            connection.execute(vault.keys._table.delete().where(vault.keys._table.c.key == DESTROYED))
    vault.close()
