"""Backups of the store and the company's files, and how they are restored."""
