"""Outgoing mails: packing, queueing, composing, sending, notices, and their delivery status."""
