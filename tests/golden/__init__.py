"""Approved answers: what the demo company's customers are sent, byte for byte, in every language it speaks.

Each answer of `answers.py` is made by the real tools from the demo company's documents and accounts, and rendered with
its templates. What comes out lies in `approved/`; `test_golden.py` compares every byte. A change that is meant is
approved with

    python -m tests.golden

which writes the files anew (and says which changed), and is then read as a diff before it is committed.
"""
