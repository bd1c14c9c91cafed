"""A store with its schema, once on each database."""

from __future__ import annotations

from tests.contract.store.conftest import store

__all__ = ["store"]
