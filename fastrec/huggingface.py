# SPDX-License-Identifier: Apache-2.0
"""Record files as data sets of Hugging Face's ``datasets``.

Requires the extra ``hf``: ``pip install 'fastrec-io[hf]'``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

try:
    import datasets
except ModuleNotFoundError as error:
    if error.name != "datasets":
        raise
    message = "fastrec.huggingface requires datasets: pip install 'fastrec-io[hf]'"
    raise ModuleNotFoundError(message, name=error.name) from None

from datasets.builder import Key

from . import Reader, infer_features, parse_example
from .arrow import table

__all__ = ["TFRecord", "TFRecordConfig", "load_dataset"]
