"""Entities of documents, how they are related, and the sentences that bear a draft out."""
