# SPDX-License-Identifier: Apache-2.0
"""Record files as datasets, tensors and graph inputs of TensorFlow.

Requires the extra ``tensorflow``: ``pip install 'fastrec-io[tensorflow]'``.
"""

from __future__ import annotations

try:
    import tensorflow as _tensorflow
except ModuleNotFoundError as _error:
    if _error.name != "tensorflow":
        raise
    message = "fastrec.tensorflow requires tensorflow: pip install 'fastrec-io[tensorflow]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

if tuple(map(int, _tensorflow.__version__.split(".")[:2])) < (2, 16):
    raise ImportError(
        f"fastrec.tensorflow requires TensorFlow 2.16 or later, got {_tensorflow.__version__}: "
        "pip install --upgrade 'fastrec-io[tensorflow]'"
    )

from . import refusals as _refusals
from .dataset import batches, dataset
from .failures import original_errors
from .graphs import graph_tensors
from .parsing import make_batched_features_dataset, parse_example_dataset, read_examples

_refusals.install()

__all__ = [
    "batches",
    "dataset",
    "graph_tensors",
    "make_batched_features_dataset",
    "original_errors",
    "parse_example_dataset",
    "read_examples",
]
