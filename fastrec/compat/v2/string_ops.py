# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``, as far as functions of records use it."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec

from .._tf.composite import RaggedTensor
from .._tf.ops import Op
from .._tf.ops.cutting import SPLIT_ONE, Cut
from .._tf.specs import RaggedTensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.tracing.recording import run


def _rows_of_parts(texts: Any, *, sep: bytes, cut: Cut) -> fastrec.Ragged:
    strings = texts if isinstance(texts, fastrec.Bytes) else as_array(texts)
    rows = fastrec.Ragged(*cut.many(strings, sep))
    for axis in range(len(strings.shape) - 1, 0, -1):
        count = int(np.prod(strings.shape[:axis]))
        rows = fastrec.Ragged(rows, np.arange(count + 1, dtype=np.int64) * strings.shape[axis])
    return rows


def _parts_spec(specs: Any, *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [RaggedTensorSpec([*sizes[:1], *[None] * len(sizes)], "string", len(sizes))]


_SPLIT = Op("StringSplitV2", _rows_of_parts, _parts_spec)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Split strings at separators; several strings become a ragged tensor."""
    if isinstance(input, RaggedTensor):
        return _of_values(split(input.flat_values, sep, maxsplit), input)
    between = b"" if sep is None else as_array(convert_to_tensor(sep, "string").array).item()
    tensor = convert_to_tensor(input, "string")
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("Rank of input must be known.")
    return run(_SPLIT if rank else SPLIT_ONE, [tensor], sep=between, cut=Cut(most=maxsplit))


def _of_values(found: RaggedTensor, outer: RaggedTensor) -> RaggedTensor:
    """Replace the values of a ragged tensor by rows."""
    for splits in reversed(outer.nested_row_splits):
        found = RaggedTensor.from_row_splits(found, splits)
    return found
