"""Entities of documents, their relations, and the sentences that support a draft."""
