"""Backups of the store, the engine's records and the company's files, and how they are restored."""
