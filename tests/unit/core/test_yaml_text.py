"""YAML as data and nodes."""

from __future__ import annotations

import pytest
import yaml

from support_agent.core.yaml_text import load_with_nodes


def test_nodes_know_their_lines() -> None:
    data, node = load_with_nodes("a: 1\nb:\n  - x\n")
    assert data == {"a": 1, "b": ["x"]}
    assert isinstance(node, yaml.MappingNode)
    assert [key.start_mark.line for key, _ in node.value] == [0, 1]
    assert load_with_nodes("") == (None, None)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_text_that_is_nested_too_deeply_is_an_error_and_no_end_of_the_process(opening: str) -> None:
    with pytest.raises((yaml.YAMLError, RecursionError)):
        load_with_nodes(opening * 100_000)
