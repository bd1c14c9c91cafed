"""Encrypts what customers wrote, with a random key for each received mail, so that a destroyed key deletes every copy.

All that is made from a mail is encrypted with the mail's key (AES-256-GCM). A sealed value says whose key opens it, so
plain rows of earlier versions stand beside sealed ones. A backup of the store does not have the keys (`store.keys`),
and what was forgotten cannot be read in any backup.

Invariant: a key is stored before anything is sealed with it, and nothing is ever sealed without one; a key that is not
there, or a changed value, is an error and never other words. Checked by tests/unit/store/test_vault.py and
tests/integration/store/test_sealed_store.py.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import URL

from support_agent.errors import PermanentError
from support_agent.store.keys import NONCE_BYTES, Keys, KeySettings

MAGIC = b"\x00SA1"
TEXT_MAGIC = "\x01sealed1:"
JSON_KEY = "\x01sealed1"
ID_BYTES = 16
PLAIN = bytes(ID_BYTES)
"""In the place of a mail's id: the value is not encrypted, but begins as if it were."""
CACHED = 10_000
"""Keys in memory, 32 bytes each."""


class Vault:
    """Seals and opens the values of one store. No key is read before the first value is sealed or opened."""

    def __init__(self, store_url: URL, settings: KeySettings, timeout_s: float) -> None:
        self.seals = settings.seals
        self.keys = Keys(store_url, settings, timeout_s)
        self._known: OrderedDict[str, AESGCM] = OrderedDict()
        self._lock = Lock()

    def seal(self, mail_id: str, plain: bytes) -> bytes:
        """Encrypt bytes with a mail's key, which is created if there is none.

        Raises:
            PermanentError: the key was destroyed (code `forgotten`).
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        head = MAGIC + bytes.fromhex(mail_id)
        return head + nonce + self._key(mail_id, may_create=True).encrypt(nonce, plain, head)

    def open(self, sealed: bytes) -> bytes:
        """Decrypt what `seal` made.

        Raises:
            PermanentError: the key was destroyed (code `forgotten`) or is not there (`no_key`), or the value was
                changed (`sealed`).
        """
        start = len(MAGIC) + ID_BYTES
        owner, body = sealed[len(MAGIC) : start], sealed[start:]
        if owner == PLAIN:
            return body
        key = self._key(owner.hex(), may_create=False)
        try:
            return key.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], sealed[:start])
        except InvalidTag:
            raise PermanentError(f"what is stored of mail {owner.hex()} was changed", code="sealed") from None

    def record(self, mail_id: str, value: Any) -> Any:
        """JSON for a record outside of the store, sealed if the store seals."""
        with using(self), about(mail_id):
            return sealed_json(value)

    def recorded(self, value: Any) -> Any:
        """JSON as it was before `record`."""
        with using(self):
            return opened_json(value)

    def destroy(self, mail_ids: Collection[str]) -> None:
        """Destroy the keys of mails for good; what was sealed with them cannot be read any more."""
        self.keys.destroy(mail_ids)
        with self._lock:
            for mail_id in mail_ids:
                self._known.pop(mail_id, None)

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        with self._lock:
            self._known.clear()
        self.keys.close()

    def _key(self, mail_id: str, *, may_create: bool) -> AESGCM:
        with self._lock:
            if (known := self._known.get(mail_id)) is not None:
                self._known.move_to_end(mail_id)
                return known
        key = AESGCM(self.keys.stored(mail_id, may_create=may_create))
        with self._lock:
            self._known[mail_id] = key
            if len(self._known) > CACHED:
                self._known.popitem(last=False)
        return key


# What a session seals and opens with


_VAULT: ContextVar[Vault | None] = ContextVar("vault", default=None)
_MAIL: ContextVar[str | None] = ContextVar("mail", default=None)


@contextmanager
def using(vault: Vault | None) -> Iterator[None]:
    """Seal and open with the keys of a store until the block ends."""
    token = _VAULT.set(vault)
    try:
        yield
    finally:
        _VAULT.reset(token)


@contextmanager
def about(mail_id: str) -> Iterator[None]:
    """Seal what is written in the block, or flushed, with the key of this mail."""
    token = _MAIL.set(mail_id)
    try:
        yield
    finally:
        _MAIL.reset(token)


def sealed(plain: bytes) -> bytes:
    """Bytes as they are stored: encrypted for the mail of `about`, if the store encrypts."""
    vault = _VAULT.get()
    if not plain:
        return plain
    if vault is None or not vault.seals:
        return MAGIC + PLAIN + plain if plain.startswith(MAGIC) else plain
    mail_id = _MAIL.get()
    if mail_id is None:
        raise PermanentError("personal data was written without saying which mail it is about", code="unsealed")
    return vault.seal(mail_id, plain)


def opened(stored: bytes) -> bytes:
    """Bytes as they were before `sealed`."""
    if not stored.startswith(MAGIC):
        return stored
    if stored[len(MAGIC) : len(MAGIC) + ID_BYTES] == PLAIN:
        return stored[len(MAGIC) + ID_BYTES :]
    vault = _VAULT.get()
    if vault is None:
        raise PermanentError("a sealed value was read without the keys of its store", code="sealed")
    return vault.open(stored)


def sealed_text(plain: str) -> str:
    """Text as it is stored; see `sealed`."""
    stored = sealed(plain.encode())
    if stored == plain.encode() and not plain.startswith(TEXT_MAGIC):
        return plain
    stored = stored if stored.startswith(MAGIC) else MAGIC + PLAIN + stored
    return TEXT_MAGIC + base64.b64encode(stored).decode()


def opened_text(stored: str) -> str:
    """Text as it was before `sealed_text`."""
    if not stored.startswith(TEXT_MAGIC):
        return stored
    return opened(base64.b64decode(stored.removeprefix(TEXT_MAGIC))).decode()


def sealed_json(value: Any) -> Any:
    """JSON as it is stored: an object with one key that holds all of it; see `sealed`."""
    plain = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    stored = sealed(plain)
    return value if stored == plain else {JSON_KEY: base64.b64encode(stored).decode()}


def opened_json(stored: Any) -> Any:
    """JSON as it was before `sealed_json`."""
    if not isinstance(stored, dict) or JSON_KEY not in stored:
        return stored
    return json.loads(opened(base64.b64decode(stored[JSON_KEY])))
