# SPDX-License-Identifier: Apache-2.0
"""Functions that version 1 has, too, by topic."""

from __future__ import annotations

import functools
import sys
from typing import Any

from .._tf.composite import RaggedTensor, SparseTensor
from .._tf.dtypes import as_dtype, int32
from .._tf.faces.arrays import Arrays
from .._tf.faces.late import topic
from .._tf.faces.math import Bitwise, Math, Products
from .._tf.faces.picking import Picking
from .._tf.faces.ragged import RaggedFunctions
from .._tf.faces.reductions import Reductions
from .._tf.faces.sparse import SparseFunctions
from .._tf.ops import picking as rows
from .._tf.ops.arithmetic import SELECT
from .._tf.tensor import Tensor
from .._tf.tracing.recording import run
from ._eager import EAGER, checked, pair


class _Arrays(Arrays):
    """Array functions, including tensors of one value."""

    def zeros(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
        """Return a tensor of zeros, or of empty strings."""
        return self._uniform(shape, 0, dtype)

    def ones(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
        """Return a tensor of ones."""
        return self._uniform(shape, 1, dtype)

    def _uniform(self, shape: Any, value: int, dtype: Any) -> Any:
        element = as_dtype(dtype)
        filler = bool(value) if element.is_bool else self._filler(value, element)
        if isinstance(shape, Tensor) and shape.shape.ndims == 0:
            shape = [shape]
        elif isinstance(shape, (list, tuple)):  # sizes may be floats from a division
            floating = (isinstance(each, Tensor) and each.dtype.is_floating for each in shape)
            pairs = zip(shape, floating, strict=True)
            shape = [self._cast(each, int32) if cast else each for each, cast in pairs]
        return self.fill(shape, self._tensor(filler, element))


class _Picking(Picking):
    """Selection functions with version 2's choice."""

    def where(self, condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
        """Return `x` where the condition holds and `y` elsewhere; without both, the indices."""
        chosen = self._tensor(condition)
        if x is None and y is None:
            return run(rows.WHERE, [checked(rows.WHERE, chosen)])
        if x is None or y is None:
            raise ValueError("x and y must both be non-None or both be None.")
        return run(SELECT, [checked(SELECT, chosen), *pair("SelectV2", x, y)])


arrays, picking = _Arrays(EAGER), _Picking(EAGER)
math, products, reductions = Math(EAGER), Products(EAGER), Reductions(EAGER)
bitwise, ragged = Bitwise(EAGER), RaggedFunctions(RaggedTensor)


@functools.cache
def __getattr__(name: str) -> Any:
    if name == "sparse":
        return SparseFunctions(SparseTensor)
    if name == "keras":
        from .._tf.keras import Backend

        return Backend(sys.modules[__package__])
    if name == "experimental":
        from .._tf.data.csv import CsvDataset
        from .._tf.data.dataset import Dataset
        from .._tf.data.experimental import Experimental
        from .._tf.data.file_datasets import TFRecordDataset

        parse = topic("parsers", EAGER, RaggedTensor).parse_example
        return Experimental(Dataset, TFRecordDataset, CsvDataset, parse)
    return topic(name, EAGER, RaggedTensor)
