# SPDX-License-Identifier: Apache-2.0
"""Read record files as datasets of PyTorch.

Requires the extra ``torch``: ``pip install 'fastrec-io[torch]'``.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    message = "fastrec.torch requires torch: pip install 'fastrec-io[torch]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from .dataset import Dataset
from .decoding import decode
from .iterable import IterableDataset
from .prefetch import Prefetch, prefetch_to
from .report import report
from .rows import Row, Rows, collate
from .tensors import Batch, to_tensors

__all__ = [
    "Batch",
    "Dataset",
    "IterableDataset",
    "Prefetch",
    "Row",
    "Rows",
    "collate",
    "decode",
    "prefetch_to",
    "report",
    "to_tensors",
]
