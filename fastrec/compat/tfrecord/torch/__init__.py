# SPDX-License-Identifier: Apache-2.0
"""PyTorch datasets of record files. Requires PyTorch."""

from __future__ import annotations

from . import dataset
from .dataset import MultiTFRecordDataset, TFRecordDataset

__all__ = ["MultiTFRecordDataset", "TFRecordDataset", "dataset"]
