"""A fuzz run over everything that reads a stranger's bytes: `python -m tests.fuzz`."""
