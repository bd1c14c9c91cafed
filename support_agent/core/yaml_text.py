"""YAML as data with its nodes, which know their lines.

Parsed by the library's Python code: libyaml is faster, and ends the process at text that is nested too deeply.
Checked by tests/unit/core/test_yaml_text.py.
"""

from __future__ import annotations

import yaml


def load_with_nodes(text: str) -> tuple[object, yaml.Node | None]:
    """Read a document.

    Returns:
        The data, and the root node; None: the text is empty.
    Raises:
        yaml.YAMLError, ValueError, RecursionError: it is no YAML, holds a value that cannot be read, or is nested too
            deeply.
    """
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    finally:
        loader.dispose()
