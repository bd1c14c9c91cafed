"""The valid continuations of a prompt as a finite tree of tokens; a model decides at its branch points only.

Checked by tests/unit/models/test_option_tree.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]


@dataclass
class TokenNode:
    """One token of the tree of continuations; the root's token is -1 and is the prompt's last token."""

    token: int
    depth: int
    leaves: list[int] = field(default_factory=list)
    children: dict[int, TokenNode] = field(default_factory=dict)

    @property
    def below(self) -> list[TokenNode]:
        """All nodes of its branches, each before its own; without recursion, as a branch may be long."""
        found, waiting = [], [*reversed(self.children.values())]
        while waiting:
            found.append(node := waiting.pop())
            waiting += reversed(node.children.values())
        return found

    def add_branch(self, logits: Logits, scores: list[float]) -> None:
        """Add to each leaf's log-probability that of its child, among the children; a forced token adds nothing.

        Args:
            logits: Those that follow this node's token.
            scores: One a leaf.
        """
        if len(self.children) < 2:
            return
        children = list(self.children.values())
        values = logits[[child.token for child in children]].astype(np.float64)
        peak = float(values.max())
        norm = peak + math.log(float(np.exp(values - peak).sum()))
        for child, value in zip(children, values, strict=True):
            for leaf in child.leaves:
                scores[leaf] += float(value) - norm


def build_tree(continuations: Sequence[Sequence[int]]) -> TokenNode:
    """The tree of the continuations, cut after the last token that distinguishes each from the others.

    Raises:
        ValueError: a continuation is empty, or the start of another one (give each an end token).
    """
    root = TokenNode(token=-1, depth=0)
    ends = []
    for leaf, tokens in enumerate(continuations):
        node = root
        node.leaves.append(leaf)
        for token in tokens:
            node = node.children.setdefault(token, TokenNode(token=token, depth=node.depth + 1))
            node.leaves.append(leaf)
        ends.append(node)
    if any(end is root or end.children or len(end.leaves) > 1 for end in ends):
        raise ValueError("each continuation must differ from, and not begin, another one")
    return root
