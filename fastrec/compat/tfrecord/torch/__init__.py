# SPDX-License-Identifier: Apache-2.0
"""Record files as data sets of PyTorch, which has to be installed."""

from __future__ import annotations

from . import dataset
from .dataset import MultiTFRecordDataset, TFRecordDataset

__all__ = ["MultiTFRecordDataset", "TFRecordDataset", "dataset"]
