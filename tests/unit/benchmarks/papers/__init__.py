"""Tests of the benchmarks of papers, on made-up data."""
