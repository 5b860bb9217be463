# SPDX-License-Identifier: Apache-2.0
"""``padded_batch``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import fastrec
from fastrec import _core
from fastrec.columns import Arrays

from .. import errors as _errors
from ..columns import flat_values, joined, padded_strings, rows_of, rows_of_shapes, shapes_of
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from .batching import Grouped
from .pipeline import Stage
from .rooms import SPARE, Padded
from .streams import Rows, Value

_SMALL = 1 << 14  # arrays up to this size in bytes are copied natively in a second step


class PaddedBatch(Grouped):
    """Stage that pads elements to a common shape and stacks them along a new dimension.

    Parameters
    ----------
    stage, size, drop_remainder
    shapes : list of tuple
        Padded shape of each part; None or -1 for the size of the largest element.
    padding : list of value
        Padding value of each part; None for 0 or ``b""``.
    """

    def __init__(
        self,
        stage: Stage,
        size: int,
        drop_remainder: bool,
        shapes: Sequence[Any],
        padding: Sequence[Any],
    ) -> None:
        super().__init__(stage, size, drop_remainder)
        self._shapes, self._padding = list(shapes), list(padding)
        self._spares = [_core.Spares(SPARE) for _ in self._shapes]

    @property
    def specs(self) -> list[TypeSpec]:
        found: list[TypeSpec] = []
        for spec, shape in zip(self.inputs[0].specs, self._shapes, strict=True):
            sizes = spec.shape.sizes
            if shape is not None:
                sizes = tuple(None if d in (None, -1) else int(d) for d in shape)
            rows = None if sizes is None else (self._known_size, *sizes)
            found.append(TensorSpec(rows, spec.dtype))
        return found

    @functools.cached_property
    def _padded(self) -> dict[int, Padded]:
        found: dict[int, Padded] = {}
        options = zip(self.inputs[0].specs, self._shapes, self._padding, strict=True)
        for number, (spec, wanted, filler) in enumerate(options):
            sizes = spec.shape.sizes
            if isinstance(spec, TensorSpec) and sizes is not None and spec.dtype.name != "string":
                pairs = zip(sizes, sizes if wanted is None else wanted, strict=False)
                known = [size if d in (None, -1) else int(d) for size, d in pairs]
                if None not in known and (wanted is None or len(wanted) == len(sizes)):
                    found[number] = cast("tuple[int, ...]", tuple(known)), filler or 0
        return found

    def _group(self, rows: Rows) -> Value:
        options = zip(rows.parts(), self._shapes, self._padding, self._spares, strict=True)
        return tuple(itertools.starmap(_padded, options))


def _padded(column: Any, shape: Any, padding: Any, spares: _core.Spares) -> Any:
    if isinstance(column, (np.ndarray, fastrec.Bytes)) and _is_filled(column.shape[1:], shape):
        return column
    rows = _in_line(column)
    if rows is not None:
        shapes, values = shapes_of(rows), flat_values(rows)
        sizes = _wanted(shapes, shape)
        if isinstance(values, fastrec.Bytes):
            return padded_strings(values, shapes[:, 0], sizes[0], padding or b"")
        begins = rows.row_splits[:-1] - rows.row_splits[0]
        return _core.pad_rows(values, begins, shapes, sizes, padding or 0, spares)
    values = list(rows_of(column))
    if isinstance(values[0], (fastrec.Sparse, fastrec.Ragged)):
        raise TypeError("Padding of components that are not dense tensors is not supported")
    arrays = [as_array(value) for value in values]
    if any(array.ndim != arrays[0].ndim for array in arrays):
        raise _too_small()
    wanted = _wanted(np.array([array.shape for array in arrays]), shape)
    dtype = arrays[0].dtype
    filler = (b"" if dtype.hasobject else 0) if padding is None else padding
    whole = (len(arrays), *wanted)
    out = np.empty(whole, dtype) if dtype.hasobject else _core.empty(whole, dtype, spares)
    for number, array in enumerate(arrays):
        if array.ndim and array.shape[1:] == out.shape[2:]:
            out[number, : len(array)] = array
            out[number, len(array) :] = filler
        else:
            out[number] = filler
            place: tuple[Any, ...] = (number, *map(slice, array.shape))
            out[place] = array[()]
    return out


def _in_line(column: Any) -> Any:
    """Return rows as a flat array and their lengths; None if that would be expensive."""
    if isinstance(column, (fastrec.Ragged, Arrays)):
        return None if isinstance(column.values, fastrec.Ragged) else column
    if isinstance(column, list):
        if not all(map(_is_small, column)) or len({len(row.shape) for row in column}) > 1:
            return None
        shapes = np.array([row.shape for row in column])
        flat = joined([row if len(row.shape) == 1 else row.reshape(-1) for row in column])
    elif isinstance(column, fastrec.Bytes) and len(column.shape) == 2:
        shapes = np.full((len(column), 1), column.shape[1])
        flat = fastrec.Bytes(column.data, column.offsets)
    elif isinstance(column, np.ndarray) and column.dtype != object and column.ndim > 1:
        shapes = np.tile(column.shape[1:], (len(column), 1))
        flat = column.reshape(-1)
    else:
        return None
    return rows_of_shapes(flat, shapes)


def _is_small(row: Any) -> bool:
    """Return whether a value is a numeric array or string vector that is cheap to copy."""
    if isinstance(row, fastrec.Bytes):
        return len(row.shape) == 1
    known = isinstance(row, np.ndarray) and row.dtype != object
    return known and row.ndim > 0 and row.nbytes <= _SMALL


def _wanted(shapes: np.ndarray[Any, Any], shape: Any) -> list[int]:
    """Return the shape to which elements are padded."""
    if shape is not None and len(shape) != shapes.shape[1]:
        raise ValueError(
            f"The padded shape {tuple(shape)} is not compatible with the shape "
            f"{tuple(shapes[0].tolist())} of the corresponding input component."
        )
    most = shapes.max(axis=0).tolist() if shapes.shape[1] else []
    if shape is None:
        return most
    sizes = [m if d in (None, -1) else int(d) for d, m in zip(shape, most, strict=True)]
    if any(m > size for m, size in zip(most, sizes, strict=True)):
        raise _too_small()
    return sizes


def _is_filled(sizes: Sequence[int], shape: Any) -> bool:
    """Return whether elements already have the padded shape."""
    if shape is None:
        return True
    pairs = zip(sizes, shape, strict=False)
    return len(shape) == len(sizes) and all(d in (None, -1) or d == n for n, d in pairs)


def _too_small() -> Exception:
    return _errors.DataLossError(
        None, None, "Attempted to pad to a smaller size than the input element."
    )
