# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.data.experimental``, and the part of it in ``tf.contrib.data``."""

from __future__ import annotations

from typing import Any

from .._tf.data import experimental as _shared
from .._tf.data.experimental import *
from .._tf.faces import functions_of
from .._tf.naming import renamed
from .._tf.uncovered import uncovered
from ._dataset_methods import Dataset
from ._datasets import adapted
from ._file_datasets import CsvDataset as CsvDataset
from ._file_datasets import TFRecordDataset
from .optional import Optional as Optional
from .optional import get_next_as_optional as get_next_as_optional
from .parsing_ops import parse_example

globals().update(
    functions_of(
        _shared.Experimental(
            Dataset, TFRecordDataset, CsvDataset, parse_example, Dataset._made, adapted
        )
    )
)
map_and_batch_with_legacy_function = renamed(
    _shared.map_and_batch, "map_and_batch_with_legacy_function"
)


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "data.experimental", name)
