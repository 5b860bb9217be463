# SPDX-License-Identifier: Apache-2.0
"""Feature connectors of single values: arrays, strings, class labels."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

__all__ = [
    "BBox",
    "ClassLabel",
    "Connector",
    "Labels",
    "Leaf",
    "Scalar",
    "Shape",
    "Tensor",
    "Text",
    "Value",
    "as_shape",
    "dtype_of",
    "name_of",
    "reshaped",
]

Shape = tuple[int | None, ...]

_MODULES = "tensorflow_datasets.core.features."
_MAX_ARRAY_BYTES = 1 << 31  # bytes of an inflated array of unknown shape


class Connector:
    """A part of a dataset's structure: a value, or a structure of values."""

    module: ClassVar[str] = ""
    description: str = ""

    @property
    def class_name(self) -> str:
        """Return the name of the class in ``features.json``."""
        return f"{_MODULES}{self.module}.{type(self).__name__}"

    def leaves(
        self, path: tuple[str, ...] = (), lengths: tuple[int | None, ...] = ()
    ) -> Iterator[Leaf]:
        """Yield the values within this connector, with their names and enclosing sequences."""
        raise NotImplementedError

    def named(self, name: str = "") -> Iterator[tuple[str, Labels]]:
        """Yield connectors with label names, each with the name of the file that stores these."""
        return iter(())


class Value(Connector):
    """A connector of one value: an array, a string or an image.

    Attributes
    ----------
    shape : tuple of int or None
        The shape of the value; None for a dimension that varies.
    dtype : dtype
        The dtype of its elements; ``object`` for strings.
    wire_shape : tuple of int or None
        The shape stored in a record; ``()`` for values stored as bytes.
    wire_dtype : dtype
        The dtype stored in a record.
    is_encoded : bool
        Whether a record stores bytes that :meth:`decode` converts to the value.
    is_media : bool
        Whether these bytes are a complete media file, which ``decode=False`` returns unchanged.
    is_dynamic : bool
        Whether a record stores the shape next to the bytes.
    default : scalar or None
        The value to use if an optional value is absent.
    """

    shape: Shape = ()
    dtype: np.dtype[Any] = np.dtype(object)
    is_encoded: bool = False
    is_media: bool = False
    is_dynamic: bool = False
    default: Any = None

    @property
    def wire_shape(self) -> Shape:
        return () if self.is_encoded else self.shape

    @property
    def wire_dtype(self) -> np.dtype[Any]:
        return np.dtype(object) if self.is_encoded else self.dtype

    def leaves(
        self, path: tuple[str, ...] = (), lengths: tuple[int | None, ...] = ()
    ) -> Iterator[Leaf]:
        """Yield this value."""
        yield Leaf(path, lengths, self)

    def decode(self, data: bytes, shape: Any = None) -> Any:
        """Convert the bytes of a record to the value.

        Raises
        ------
        ValueError
            If the bytes are invalid.
        """
        return data

    def encode(self, value: Any) -> Any:
        """Convert a value to the bytes or the array that a record stores."""
        array = np.asarray(value, self.dtype)
        fits = array.ndim == len(self.shape) and all(
            wanted in (None, size) for size, wanted in zip(array.shape, self.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"must be of shape {self.shape}, got {array.shape}")
        return array


@dataclass(frozen=True)
class Leaf:
    """A value of a structure, with its nested names and the lengths of its enclosing sequences."""

    path: tuple[str, ...]
    lengths: tuple[int | None, ...]
    value: Value

    @property
    def name(self) -> str:
        """The nested names, joined as in a record."""
        return "/".join(self.path)

    @property
    def shape(self) -> Shape:
        """The shape of the value, preceded by the lengths of its enclosing sequences."""
        return (*self.lengths, *self.value.shape)


def as_shape(shape: Any) -> Shape:
    """Convert a shape to a tuple of sizes; None marks a size that varies."""
    sizes = tuple(None if size is None else int(size) for size in shape)
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError(f"shape must have sizes of at least 0, got {sizes}")
    return sizes


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """Convert to a numeric dtype, or to ``object`` for strings."""
    if dtype in (str, bytes, object, "string", "str", "object"):
        return np.dtype(object)
    found = np.dtype(np.float32 if dtype == "bfloat16" else dtype)
    if found.kind in "SU":
        return np.dtype(object)
    if found.kind not in "biuf" or found.itemsize > 8:
        raise ValueError(f"dtype must be a bool, integer, float or string, got {found}")
    return found


def name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype in ``features.json``."""
    return "string" if dtype.kind == "O" else dtype.name


class Tensor(Value):
    """An array.

    Parameters
    ----------
    shape : sequence of int or None
        The shape; None marks a dimension that varies. More than one such dimension requires
        `encoding`.
    dtype : dtype-like
        A bool, integer or floating-point dtype; ``str`` or ``bytes`` for strings.
    encoding : {"none", "bytes", "zlib"}
        Storage in a record: as a list of numbers, as bytes, or as deflated bytes.
    optional : bool
        Whether a record may omit the value; :attr:`default` is used then.
    """

    module = "tensor_feature"

    def __init__(
        self, shape: Any = (), dtype: Any = np.float32, encoding: str = "none", *,
        optional: bool = False,
    ) -> None:  # fmt: skip
        if encoding not in ("none", "bytes", "zlib"):
            raise ValueError(f"encoding must be 'none', 'bytes' or 'zlib', got {encoding!r}")
        self.shape: Shape = as_shape(shape)
        self.dtype: np.dtype[Any] = dtype_of(dtype)
        self.encoding = encoding
        self.optional = optional
        self.is_encoded: bool = encoding != "none"
        self.is_dynamic: bool = self.shape.count(None) > 1
        if self.is_encoded and self.dtype.kind == "O":
            raise ValueError("encoding of strings must be 'none'")
        self.default: Any = self._default() if optional else None

    def _default(self) -> Any:
        kind = self.dtype.kind
        if kind == "O":
            return b""
        if kind == "b":
            return False
        return np.iinfo(self.dtype).min if kind in "iu" else np.finfo(self.dtype).min

    def decode(self, data: bytes, shape: Any = None) -> Any:
        """Return the array that bytes contain, inflated if they are compressed."""
        sizes = self._sizes(shape)
        if self.encoding == "zlib":
            data = _inflate(data, _MAX_ARRAY_BYTES if None in sizes else self._nbytes(sizes))
        array = np.frombuffer(data, self.dtype.newbyteorder("<")).astype(self.dtype)
        return reshaped(array, sizes)

    def _sizes(self, shape: Any) -> Shape:
        if not self.is_dynamic:
            return self.shape
        sizes = tuple(int(size) for size in shape)
        if len(sizes) != len(self.shape) or not all(
            size >= 0 and wanted in (None, size)
            for size, wanted in zip(sizes, self.shape, strict=True)
        ):
            raise ValueError(f"its shape must be {self.shape}, got {sizes}")
        return sizes

    def _nbytes(self, sizes: Shape) -> int:
        count = self.dtype.itemsize
        for size in sizes:
            count *= size or 0
        return min(count, _MAX_ARRAY_BYTES)

    def encode(self, value: Any) -> Any:
        """Convert a value to an array, or to its bytes if they are stored in a record."""
        if value is None and self.optional:
            return None
        array = super().encode(value)
        if not self.is_encoded:
            if self.is_dynamic:
                raise ValueError(f"a shape of {self.shape} requires encoding='bytes' or 'zlib'")
            return array
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        return zlib.compress(data) if self.encoding == "zlib" else data

    def __repr__(self) -> str:
        encoded = f", {self.encoding!r}" if self.is_encoded else ""
        return f"{type(self).__name__}({self.shape}, {name_of(self.dtype)}{encoded})"


def _inflate(data: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        found = inflater.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(f"its bytes must be a zlib stream: {error}") from None
    if len(found) > limit:
        raise ValueError(f"its bytes must inflate to at most {limit}")
    if not inflater.eof:
        raise ValueError("its zlib stream is truncated")
    return found


def reshaped(array: Any, sizes: Shape) -> Any:
    """Reshape an array. One size may vary, even if another size is 0."""
    if None in sizes:
        known = 1
        for size in sizes:
            known *= 1 if size is None else size
        count = array.size // known if known else 0
        sizes = tuple(count if size is None else size for size in sizes)
    try:
        return array.reshape(sizes)
    except ValueError:
        raise ValueError(f"{array.size} values must be of shape {sizes}") from None


class Scalar(Tensor):
    """A single number or string."""

    module = "scalar"

    def __init__(self, dtype: Any = np.float32, *, optional: bool = False) -> None:
        super().__init__((), dtype, optional=optional)


class Text(Tensor):
    """A string, as UTF-8 bytes."""

    module = "text_feature"

    def __init__(self, *, optional: bool = False) -> None:
        super().__init__((), str, optional=optional)

    def __repr__(self) -> str:
        return "Text()"


class BBox(Tensor):
    """A bounding box: ymin, xmin, ymax and xmax as fractions of the image's size."""

    module = "bounding_boxes"

    def __init__(self, bbox_format: str = "") -> None:
        super().__init__((4,), np.float32)
        self.bbox_format = bbox_format

    @property
    def class_name(self) -> str:
        return f"{_MODULES}{self.module}.BBoxFeature"

    def __repr__(self) -> str:
        return "BBox()"


class Labels:
    """The names of classes."""

    num_classes: int | None
    _names: tuple[str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the classes; their numbers if names are unknown."""
        if self._names is None:
            return [str(number) for number in range(self.num_classes or 0)]
        return list(self._names)

    def set_names(self, names: Any) -> None:
        """Set the names of the classes.

        Raises
        ------
        ValueError
            If the number of names differs from the number of classes, or a name occurs twice.
        """
        found = tuple(str(name) for name in names)
        if len(set(found)) != len(found):
            raise ValueError("names of classes must differ from each other")
        if self.num_classes not in (None, len(found)):
            raise ValueError(f"there must be {self.num_classes} names, got {len(found)}")
        self._names, self.num_classes = found, len(found)

    def int2str(self, label: int) -> str:
        """Return the name of a class.

        Raises
        ------
        ValueError
            If no class has this number.
        """
        if not 0 <= label < (self.num_classes or 0):
            raise ValueError(f"label {label} is out of range (0 to {(self.num_classes or 0) - 1})")
        return str(label) if self._names is None else self._names[label]

    def str2int(self, name: str) -> int:
        """Return the number of a class.

        Raises
        ------
        ValueError
            If no class has this name.
        """
        if self._names is not None and name in self._names:
            return self._names.index(name)
        if self._names is None and name.isdecimal() and int(name) < (self.num_classes or 0):
            return int(name)
        raise ValueError(f"no class is named {name!r}")


class ClassLabel(Labels, Tensor):
    """The number of a class; -1 if it is unknown.

    Parameters
    ----------
    num_classes : int, optional
        Number of classes.
    names : sequence of str, optional
        Names of the classes, in the order of their numbers.
    """

    module = "class_label_feature"

    def __init__(self, num_classes: int | None = None, names: Any = None) -> None:
        super().__init__((), np.int64)
        self.num_classes = num_classes
        if names is not None:
            self.set_names(names)

    def encode(self, value: Any) -> Any:
        """Convert a label, or its name, to an integer that is checked against the classes."""
        if isinstance(value, (str, bytes)):
            value = self.str2int(value.decode() if isinstance(value, bytes) else value)
        if not -1 <= value < (self.num_classes or 0):
            raise ValueError(f"label {value} is out of range (-1 to {(self.num_classes or 0) - 1})")
        return super().encode(value)

    def named(self, name: str = "") -> Iterator[tuple[str, Labels]]:
        """Yield this connector."""
        yield name, self

    def __repr__(self) -> str:
        return f"ClassLabel({self.num_classes})"
