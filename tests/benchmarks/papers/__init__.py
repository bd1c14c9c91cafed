"""Measurements that published papers have, on the parts of the product; each module is a command of its own.

The data is given by path (`tests.benchmarks.fetch` downloads what is public), and nothing of it is kept here; the
questions about the demo and the made companies are in `process/`.
"""
