"""Durable steps: DBOS behind the port `steps`."""
