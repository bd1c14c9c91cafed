"""Outgoing mails: composing, sending, and their delivery status."""
