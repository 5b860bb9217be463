# SPDX-License-Identifier: Apache-2.0
"""Convert NumPy columns to tensors without a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from .. import Arrays, Bytes, FastrecError, Ragged, Sparse, pad

__all__ = ["Batch", "to_tensors"]

RaggedAs = Literal["nested", "padded", "list"]
RAGGED = get_args(RaggedAs)
BytesAs = Literal["list", "tensor"]
BYTES = get_args(BytesAs)


class Batch(dict[str, Any]):
    """A batch as a dict of tensors, which a ``DataLoader`` returns unchanged.

    Examples
    --------
    >>> dataset = fastrec.torch.IterableDataset("train-*", features, 128)  # doctest: +SKIP
    >>> for batch in torch.utils.data.DataLoader(dataset, batch_size=None):  # doctest: +SKIP
    ...     loss = model(batch["image"], batch["label"])
    """


def collate_batches(batches: Sequence[Batch], *, collate_fn_map: Any = None) -> Batch:
    """Return the only batch; raise for several batches."""
    if len(batches) != 1:
        raise FastrecError(
            "the dataset yields whole batches: pass batch_size=None to the DataLoader"
        )
    return batches[0]


default_collate_fn_map[Batch] = collate_batches


def to_tensors(
    batch: Any, *, ragged: RaggedAs = "nested", padding: Any = 0, bytes: BytesAs = "list"
) -> Any:
    """Convert a batch of NumPy columns to tensors that share its memory.

    Parameters
    ----------
    batch : mapping, sequence or column
        A batch of :class:`~fastrec.Batcher` or :func:`~fastrec.parse_example`, or the result of
        transforming one. Mappings, lists and tuples are converted item by item, and values that are
        not columns are returned unchanged.
    ragged : {"nested", "padded", "list"}
        Representation of a :class:`~fastrec.Ragged` of numbers: a nested tensor with jagged layout;
        a tensor padded to the longest row, with the lengths of the rows under
        ``"<name>_length"``; or a list of tensors.
    padding : scalar
        Padding value for ``ragged="padded"``.
    bytes : {"list", "tensor"}
        Representation of :class:`~fastrec.Bytes`: a list of bytes, or a list of uint8 tensors that
        are views of one block of memory, such as encoded images for a decoder on an accelerator.
        :func:`prefetch_to` copies the block with one transfer.

    Returns
    -------
    Batch or same structure
        Byte strings become (nested) lists, a :class:`~fastrec.Sparse` of numbers becomes a
        sparse COO tensor, and arrays of different shapes become a list of tensors.

    Examples
    --------
    >>> import numpy as np, fastrec
    >>> rows = fastrec.Ragged(np.array([1, 2, 3]), np.array([0, 2, 3]))
    >>> to_tensors({"rows": rows}, ragged="padded")
    {'rows': tensor([[1, 2],
            [3, 0]]), 'rows_length': tensor([2, 1])}
    """
    if ragged not in RAGGED:
        raise ValueError(f"ragged must be one of {RAGGED}, got {ragged!r}")
    if bytes not in BYTES:
        raise ValueError(f"bytes must be one of {BYTES}, got {bytes!r}")
    convert = partial(to_tensors, ragged=ragged, padding=padding, bytes=bytes)
    if isinstance(batch, Mapping):
        out = Batch()
        for name, column in batch.items():
            # Fast path for nearly all columns, which matters for small batches.
            if type(column) is np.ndarray:
                out[name] = _of_array(column)
            elif ragged == "padded" and is_jagged(column):
                add_padded(out, name, column, padding, batch)
            else:
                out[name] = convert(column)
        return out
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(convert, batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(map(convert, batch))
    return _column(batch, ragged, padding, bytes)


def is_jagged(column: Any) -> bool:
    """Return whether a column can be one tensor with rows of different lengths."""
    return isinstance(column, Ragged) and isinstance(column.values, np.ndarray)


def add_padded(
    out: Batch, name: str, column: Ragged, padding: Any, names: Mapping[str, Any]
) -> None:
    """Add a padded column, and a column with the lengths of its rows."""
    out[name] = torch.from_numpy(pad(column, value=padding))
    add_length(out, name, column.row_lengths, names)


def add_length(
    out: dict[str, Any], name: str, lengths: np.ndarray[Any, Any], names: Mapping[str, Any]
) -> None:
    """Add the lengths of a column to a batch, as the column's name with ``_length``."""
    key = f"{name}_length"
    if key in names:
        raise ValueError(f"{key!r} is a feature and the lengths of {name!r}: rename the feature")
    out[key] = torch.from_numpy(np.ascontiguousarray(lengths))


def _of_array(array: np.ndarray[Any, Any]) -> Any:
    return array.tolist() if array.dtype.hasobject else torch.from_numpy(array)


def _column(value: Any, ragged: RaggedAs, padding: Any, strings: BytesAs) -> Any:
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, np.generic):
        return torch.as_tensor(value)
    if isinstance(value, Bytes):
        return value.to_list() if strings == "list" else _views(value)
    if isinstance(value, Ragged):
        if ragged == "nested" and is_jagged(value):
            return _nested(value)
        if ragged == "padded" and is_jagged(value):  # lengths are only added in a mapping
            return torch.from_numpy(pad(value, value=padding))
        return [_column(row, "list", padding, strings) for row in value]
    if isinstance(value, Sparse):
        return _sparse(value)
    if isinstance(value, Arrays):
        return [torch.from_numpy(array) for array in value]
    return value


def _views(column: Bytes) -> list[Any]:
    """Return nested lists of tensors, one for each string, which are views of one block."""
    begin, end = int(column.offsets[0]), int(column.offsets[-1])
    data = column.data[begin:end]
    if not data.flags.writeable:  # torch warns of memory that it cannot mark as read-only
        data = data.copy()
    views = torch.split(torch.from_numpy(data), np.diff(column.offsets).tolist())
    if len(column.shape) == 1:
        return list(views)
    return np.fromiter(views, object, len(views)).reshape(column.shape).tolist()  # type: ignore[no-any-return]


def _nested(column: Ragged) -> torch.Tensor:
    begin, end = int(column.row_splits[0]), int(column.row_splits[-1])
    values = torch.from_numpy(column.values[begin:end])
    offsets = torch.from_numpy((column.row_splits - begin).astype(np.int64, copy=False))
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def _sparse(column: Sparse) -> Any:
    if isinstance(column.values, Bytes):
        return column.to_dense().tolist()
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.ascontiguousarray(column.indices.T)),
        torch.from_numpy(column.values),
        column.dense_shape,
        check_invariants=True,
    )
