"""Routing of mails to cases, and the limits on letters to their senders."""
