"""Opens an ONNX model on onnxruntime, without telemetry.

tests/integration/facts/test_embedding.py checks the silence on the real models.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support_agent.models.embedding.files import unusable

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read on import; without it onnxruntime sends telemetry

import onnxruntime  # type: ignore[import-untyped]

LOG_ERRORS_ONLY = 3


def open_session(path: Path, threads: int, *, operators: str | None = None) -> Any:
    """A session on the CPU.

    Args:
        threads: Cores to use within one operator, at least 1.
        operators: A library with further operators that the model needs.
    Raises:
        ConfigError: the runtime cannot run the file.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait actively slow each other down many times where other work uses the cores, too.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_ERRORS_ONLY
    try:
        if operators is not None:
            options.register_custom_ops_library(operators)
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises bare Exceptions of its own
        raise unusable(path.parent, error) from error
