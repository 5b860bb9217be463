# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.slim``: datasets that are described once and provided as tensors."""

from __future__ import annotations

from typing import Any

from ...._tf.dtypes import int32, int64
from ...._tf.naming import uncovered
from ...array_ops import picking
from ...constants import convert_to_tensor
from ...graph import name_scope
from ...math_ops import math
from . import data_decoder as data_decoder
from . import data_provider as data_provider
from . import dataset as dataset
from . import dataset_data_provider as dataset_data_provider
from . import parallel_reader as parallel_reader
from . import prefetch_queue as prefetch_queue
from . import queues as queues
from . import tfexample_decoder as tfexample_decoder


def one_hot_encoding(labels: Any, num_classes: int, scope: str | None = None) -> Any:
    """Return rows with a one at the index of each label."""
    with name_scope(scope, "OneHotEncoding", [labels]):
        tensor = convert_to_tensor(labels)
        if tensor.dtype is int32:
            tensor = math.cast(tensor, int64)
        return picking.one_hot(tensor, num_classes, on_value=1.0, off_value=0.0)


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "contrib.slim", name)
