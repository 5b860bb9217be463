# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.slim``: data sets that are described once and provided as tensors."""

from __future__ import annotations

from typing import Any

from ...._tf.uncovered import uncovered
from . import data_decoder as data_decoder
from . import data_provider as data_provider
from . import dataset as dataset
from . import dataset_data_provider as dataset_data_provider
from . import parallel_reader as parallel_reader
from . import prefetch_queue as prefetch_queue
from . import queues as queues
from . import tfexample_decoder as tfexample_decoder


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "contrib.slim", name)
