"""The rules about mail, run on example mails that come with the program: what `support-agent conformance` prints.

Invariant: a row passes only where each of its examples came out as `rows.toml` says, and each row is either run here or
named with the test that proves it. Checked by tests/unit/ops/test_conformance.py.
"""

from support_agent.ops.conformance.rows import ExampleResult, RowResult, run_rows

__all__ = ["ExampleResult", "RowResult", "run_rows"]
