"""Durable steps: DBOS, behind a port."""
