"""Measurements: what the parts of the fact room are worth on questions whose answers are known.

The questions are given by path, and nothing of them is kept; the demo company's own are in `demo/process.toml`.
"""
