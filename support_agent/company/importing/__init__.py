"""Imports files of other formats as documents, for a person to review."""
