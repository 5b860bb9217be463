# SPDX-License-Identifier: Apache-2.0
"""Record TensorFlow's results of all expressions, which tests replay without TensorFlow.

Usage: ``PYTHONPATH=tests/helpers python tests/oracle/record.py``, in an environment with
TensorFlow. It writes ``tests/data/tensorflow_v1.json.gz``, ``tests/data/tensorflow_v2.json.gz`` and
``tests/data/tensorflow_loops.json.gz``.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow
from compat_expressions import EXACT, LOOSE, NAMES, eager_outcome, edges, encoded, graph_outcome
from loop_cases import VERSION_1, WAYS, loops, outcomes

DATA = Path(__file__).parent.parent / "data"


def write(name: str, content: Any) -> None:
    """Write JSON whose compressed bytes depend only on the content."""
    text = json.dumps(content, indent=0, sort_keys=True)
    (DATA / name).write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    """Write the files."""
    images = {name: value for name, value in NAMES.items() if isinstance(value, bytes)}
    tensorflow.io.parse_example([b""], {"a": tensorflow.io.RaggedFeature(tensorflow.int64)})
    eager = {text: str(eager_outcome(tensorflow, tensorflow.errors, text)) for text in edges()}
    write("tensorflow_v2.json.gz", {"version": tensorflow.__version__, "results": eager})
    # Formatting the stack of an error of a graph fails outside of pytest, and adds nothing here.
    from tensorflow.python.framework import error_interpolation

    error_interpolation.interpolate_graph = lambda message, graph: message
    graph = {text: encoded(graph_outcome(tensorflow.compat.v1, text)) for text in [*EXACT, *LOOSE]}
    write(
        "tensorflow_v1.json.gz",
        {
            "version": tensorflow.__version__,
            "images": {name: data.decode("latin-1") for name, data in images.items()},
            "results": graph,
        },
    )
    write_loops()


def write_loops() -> None:
    """Write the results of loops in each way to run them."""
    results = {}
    tensorflow.compat.v1.disable_control_flow_v2()  # loops of graphs as in version 1
    for way in WAYS:
        tf = tensorflow.compat.v1 if way in VERSION_1 else tensorflow
        results[way] = {name: outcomes(tf, way, loop) for name, loop in loops(tf).items()}
    write("tensorflow_loops.json.gz", {"version": tensorflow.__version__, "results": results})


if __name__ == "__main__":
    main()
