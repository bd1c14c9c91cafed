"""The tree of continuations: where options part, the model decides; elsewhere it is forced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.models.llama_context import ROW_GROUP, shared_start
from support_agent.models.option_tree import TokenNode, build_tree


def leaf_path(root: TokenNode, leaf: int) -> list[int]:
    """The tokens on the way down to one continuation."""
    path, node = [], root
    while following := [child for child in node.children.values() if leaf in child.leaves]:
        (node,) = following
        path.append(node.token)
    return path


def test_options_of_one_token_part_at_the_root() -> None:
    """Each is a child of the root and has the one leaf."""
    root = build_tree([[5], [6], [7]])
    assert list(root.children) == [5, 6, 7]
    assert [child.leaves for child in root.children.values()] == [[0], [1], [2]]
    assert all(child.depth == 1 and not child.children for child in root.children.values())


def test_a_shared_start_is_one_chain() -> None:
    """Tokens that options share stand in the tree once, and belong to all of them."""
    root = build_tree([[1, 2, 3, 9], [1, 2, 4, 9], [1, 5, 9]])
    shared = root.children[1]
    assert shared.leaves == [0, 1, 2]
    assert shared.children[2].leaves == [0, 1]
    assert sorted(shared.children[2].children) == [3, 4]
    assert len(root.below) == 8


def test_depth_counts_tokens_from_the_root() -> None:
    """The depth is the token's place after the prompt."""
    root = build_tree([[1, 2, 3], [1, 4, 5]])
    assert {node.token: node.depth for node in root.below} == {1: 1, 2: 2, 4: 2, 3: 3, 5: 3}


@pytest.mark.parametrize(
    "continuations",
    [
        pytest.param([[1, 2], [3], [1, 2]], id="the same twice"),
        pytest.param([[1, 2, 3], [1, 2]], id="the start of an earlier one"),
        pytest.param([[1, 2], [1, 2, 3]], id="the start of a later one"),
        pytest.param([[1], []], id="an empty one"),
        pytest.param([[]], id="only an empty one"),
    ],
)
def test_continuations_that_cannot_be_told_apart_are_refused(continuations: list[list[int]]) -> None:
    """A continuation that ends where another goes on would get the other one's probability too."""
    with pytest.raises(ValueError, match="must differ from, and not begin, another one"):
        build_tree(continuations)


@given(
    st.lists(
        st.lists(st.integers(0, 3), max_size=5).map(lambda tokens: [*tokens, 9]),
        min_size=1,
        max_size=12,
        unique_by=tuple,
    )
)
def test_each_continuation_is_found_again_in_the_tree(continuations: list[list[int]]) -> None:
    """With an end token any different continuations make a tree, and each path down it is one of them."""
    root = build_tree(continuations)
    assert [leaf_path(root, leaf) for leaf in range(len(continuations))] == continuations
    assert root.leaves == list(range(len(continuations)))


@given(
    start=st.lists(st.integers(0, 2), max_size=20), ends=st.lists(st.lists(st.integers(0, 2), min_size=1), max_size=4)
)
def test_prompts_share_whole_groups_of_rows_and_each_keeps_an_end(start: list[int], ends: list[list[int]]) -> None:
    """What is shared is evaluated once; a prompt without an end of its own would have no row of its own."""
    prompts = [start + end for end in ends]
    shared = shared_start(prompts)
    assert shared % ROW_GROUP == 0
    assert all(prompt[:shared] == prompts[0][:shared] and len(prompt) > shared for prompt in prompts)
    assert not prompts or shared >= len(start) - len(start) % ROW_GROUP


def test_a_branch_may_be_longer_than_python_recurses() -> None:
    """Failure: options that begin with thousands of the same tokens ended a choice with a RecursionError."""
    tree = build_tree([[*range(5000), 1], [*range(5000), 2]])
    assert [node.depth for node in tree.below] == [*range(1, 5002), 5001]
