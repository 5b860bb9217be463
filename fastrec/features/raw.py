# SPDX-License-Identifier: Apache-2.0
"""Read arrays that records store as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import check_fields
from ..records.content.arrays import ArrayEncoding, extended_dtype
from . import builders
from .column_spec import (
    ColumnSpec,
    Feature,
    Fit,
    ItemSpec,
    as_dtype,
    as_shape,
    column_of,
    key_of,
)

__all__ = ["RawFeature"]


@dataclass(frozen=True)
class RawFeature(Feature):
    """One bytes value that is an array: ``decode_raw`` and ``reshape``, straight into the batch.

    Parameters
    ----------
    shape : int, sequence of int and str, str, or None
        Shape of one record's array, in C order. A name refers to an int64 feature of the record
        that holds a size: one dimension in a sequence (``("height", "width", 3)``), all
        dimensions if it is the whole shape (``"shape"``). None: any number of
        elements in one dimension, and the column is a :class:`~fastrec.Ragged`; with `encoding`,
        any shape, and the column is an :class:`~fastrec.Arrays`.
    dtype : dtype-like
        Type of the elements: bool, integer, float or complex; or a type of ml_dtypes, such as
        ``"bfloat16"`` or ``"float8_e4m3fn"``, if that is installed.
    little_endian : bool, default True
        The byte order in the record, without `encoding`.
    shape_dtype : dtype-like, optional
        Type of the named features that are raw bytes instead of int64 lists: int32 or int64.
    pad : sequence of int, optional
        Pad arrays whose shape is in the record to this shape, with zeros at the end of every
        dimension. A larger array is an error.
    crop_or_pad : sequence of int, optional
        Crop or pad such arrays to this shape, in each dimension, around the centre.
    encoding : {None, "tensor", "npy"}
        Encoding of the value: None for the bare elements; ``"tensor"`` for the bytes of
        ``tf.io.serialize_tensor``, a TensorProto; ``"npy"`` for those of ``numpy.save``. The last
        two hold the type and the shape, which are compared with `dtype` and `shape`.

    Raises
    ------
    ExampleParseError
        From parsing, for a value of another size, encoding, type or shape, with its record.

    Notes
    -----
    If the shape is named and both `pad` and `crop_or_pad` are None, the column is an
    :class:`~fastrec.Arrays`: one ndarray per record, with varying shapes.

    Examples
    --------
    >>> RawFeature((32, 32, 3), np.uint8).shape
    (32, 32, 3)
    >>> RawFeature(("height", "width", 3), np.uint8, crop_or_pad=(224, 224, 3)).crop_or_pad
    (224, 224, 3)
    >>> import io, fastrec
    >>> file = io.BytesIO()
    >>> np.save(file, np.array([[1, 2], [3, 4]]))
    >>> record = fastrec.encode_example({"x": file.getvalue()})
    >>> feature = RawFeature((2, 2), np.int64, encoding="npy")
    >>> fastrec.parse_example([record], {"x": feature})["x"].tolist()
    [[[1, 2], [3, 4]]]
    """

    shape: Any
    dtype: Any
    little_endian: bool = True
    shape_dtype: Any = field(default=None, kw_only=True)
    pad: Any = field(default=None, kw_only=True)
    crop_or_pad: Any = field(default=None, kw_only=True)
    encoding: ArrayEncoding | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("pad", "crop_or_pad"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_shape(getattr(self, name), name))
        if self.shape is not None and not self._named():
            object.__setattr__(self, "shape", as_shape(self.shape))
        if isinstance(self.shape, list):
            object.__setattr__(self, "shape", tuple(self.shape))
        self._check_fit()
        self._columns(b"")

    def _named(self) -> bool:
        """Whether features of the record hold the shape."""
        shape = self.shape
        if isinstance(shape, (str, bytes)):
            return True
        return isinstance(shape, (list, tuple)) and any(isinstance(d, (str, bytes)) for d in shape)

    def _check_fit(self) -> None:
        if self.encoding is not None and (self._named() or not self.little_endian):
            raise ValueError(
                f"encoding={self.encoding!r} is mutually exclusive with a shape that names "
                "features and with little_endian=False: the value holds its shape and byte order"
            )
        fit = self.pad if self.crop_or_pad is None else self.crop_or_pad
        if self.pad is not None and self.crop_or_pad is not None:
            raise ValueError("pad and crop_or_pad are mutually exclusive")
        if (fit is not None or self.shape_dtype is not None) and not self._named():
            raise ValueError("pad, crop_or_pad and shape_dtype require a shape that names features")
        rank = len(self.shape) if isinstance(self.shape, tuple) else 1
        if fit is not None and isinstance(self.shape, tuple) and len(fit) != rank:
            raise ValueError(f"a shape of {rank} dimensions cannot become {fit}")
        if max(rank, len(fit or ())) > 8 and self._named():
            raise ValueError("a shape that names features must have at most 8 dimensions")

    def _dtype(self) -> np.dtype[Any]:
        dtype = _of_ml_dtypes(self.dtype)
        if dtype is not None:
            return dtype
        dtype = as_dtype(self.dtype)
        if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype == np.dtype(np.longdouble):
            raise TypeError(f"dtype must be a bool, integer, float or complex, got {self.dtype!r}")
        return dtype

    def _swap(self, little_endian: bool) -> bool:
        return little_endian != (np.dtype("<i2") == np.dtype("i2"))

    def _columns(self, key: bytes) -> ItemSpec:
        dtype = self._dtype()
        if self.encoding is not None:
            decode = builders.EncodedArraysBuild(self.encoding, dtype, self.shape, key)
            return (column_of(key, bytes),), decode
        columns, build = self._raw_columns(key, builders.bits_of(dtype))
        if dtype == builders.bits_of(dtype):
            return columns, build
        return columns, builders.BitsBuild(dtype, build)

    def _raw_columns(self, key: bytes, dtype: np.dtype[Any]) -> ItemSpec:
        swap = self._swap(self.little_endian)
        column = ColumnSpec(key, "bytes", dtype, raw=True, swap=swap)
        if self.shape is None:
            return (column._replace(ragged=True),), None
        if not self._named():
            return (column._replace(shape=self.shape),), None
        extents, named = self._extents()
        if self.pad is None and self.crop_or_pad is None:
            build = builders.ArraysBuild(extents, tuple(c.key for c in named), key)
            return (*named, column._replace(ragged=True)), build
        fit = Fit(self.crop_or_pad is not None, extents)
        target = self.pad if self.crop_or_pad is None else self.crop_or_pad
        return (*named, column._replace(shape=target, fit=fit)), builders.last

    def _extents(self) -> tuple[tuple[int | tuple[str, int], ...], list[ColumnSpec]]:
        """Return the source of each dimension, and the columns that hold dimensions."""
        whole = isinstance(self.shape, (str, bytes))
        named: list[ColumnSpec] = []
        extents: list[int | tuple[str, int]] = []
        for dim in (self.shape,) if whole else self.shape:
            if isinstance(dim, (str, bytes)):
                column = self._shape_column(key_of(dim, "a dimension of shape"))
                if column not in named:
                    named.append(column)
                extents.append(("all" if whole else "one", named.index(column)))
            else:
                extents.append(as_shape(dim)[0])
        return tuple(extents), named

    def _shape_column(self, key: bytes) -> ColumnSpec:
        if self.shape_dtype is None:
            return ColumnSpec(key, "int64", np.dtype(np.int64), ragged=True)
        dtype = as_dtype(self.shape_dtype)
        if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise TypeError(f"shape_dtype must be int32 or int64, got {self.shape_dtype!r}")
        return ColumnSpec(key, "bytes", dtype, ragged=True, raw=True, swap=self._swap(True))


def _of_ml_dtypes(dtype: Any) -> np.dtype[Any] | None:
    """Return the dtype of ml_dtypes that `dtype` names, or None for one of NumPy."""
    dtype = getattr(dtype, "as_numpy_dtype", dtype)
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    if isinstance(dtype, str) and dtype.startswith(("bfloat", "float8")):
        extended = extended_dtype(dtype)
        if extended is None:
            raise ImportError(f"dtype={dtype!r} requires ml_dtypes: pip install ml_dtypes")
        return extended
    if isinstance(dtype, (type, np.dtype)):
        scalar = np.dtype(dtype).type if isinstance(dtype, np.dtype) else dtype
        if scalar.__module__ == "ml_dtypes":
            return np.dtype(scalar)
    return None
