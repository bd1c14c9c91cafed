"""Tests of the benchmarks, on made-up data."""
