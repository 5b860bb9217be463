# SPDX-License-Identifier: Apache-2.0
"""Batches for ``fit``, ``evaluate`` and ``predict`` of Keras 3, on all three backends.

Requires the extra ``keras``: ``pip install 'fastrec-io[keras]'``, and TensorFlow, JAX or PyTorch.
"""

from __future__ import annotations

try:
    import keras
except ModuleNotFoundError as _error:
    if _error.name != "keras":
        raise
    message = "fastrec.keras requires keras: pip install 'fastrec-io[keras]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

if not hasattr(keras.utils, "PyDataset"):
    raise ImportError(
        f"fastrec.keras requires Keras 3.5 or later, got {keras.__version__}: "
        "pip install --upgrade 'fastrec-io[keras]'"
    )

from .backup import Backup
from .datasets import dataset

__all__ = ["Backup", "dataset"]
