# SPDX-License-Identifier: Apache-2.0
"""Convert columns of parsed records to the values that feature connectors describe."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import fastrec

from ..arguments import check_types
from ..columns import Bytes, Ragged
from ..errors import ExampleParseError, printable
from .features import Dataset, FeaturesDict, Image
from .features import Sequence as SequenceOf
from .images import image_feature
from .values import Connector, Leaf, Shape, Value, reshaped

__all__ = ["Column", "Steps", "Structure"]


class Column:
    """The features to parse for one value, and the conversion of their columns to that value.

    Parameters
    ----------
    leaf : Leaf
        The value and its location in the structure.
    decode : bool
        Whether encoded images and audio become arrays.
    """

    def __init__(self, leaf: Leaf, decode: bool) -> None:
        self.leaf = leaf
        self.value: Value = leaf.value
        self.rank: int = len(leaf.lengths)
        self.decodes: bool = self.value.is_encoded and (decode or not self.value.is_media)
        self.parts: tuple[str, ...] = (leaf.name,)
        if self.value.is_dynamic:
            self.parts = (f"{leaf.name}/shape", f"{leaf.name}/value")

    # --- features to parse ------------------------------------------------------------------

    def spec(self) -> dict[str, Any]:
        """Return the features to parse, by name."""
        if self.value.is_dynamic:
            rank = (len(self.value.shape),)
            shapes = self._feature(self.parts[0], rank, np.dtype(np.int64))
            return {
                self.parts[0]: shapes,
                self.parts[1]: self._feature(self.parts[1], (), np.dtype(object)),
            }
        return {
            self.leaf.name: self._feature(
                self.leaf.name, self.value.wire_shape, self.value.wire_dtype
            )
        }

    def _feature(self, key: str, shape: Shape, dtype: np.dtype[Any]) -> Any:
        kind: Any = bytes if dtype.kind == "O" else np.int64 if dtype == np.uint64 else dtype
        whole = (*self.leaf.lengths, *shape)
        if self.rank > 1:
            rows = [
                fastrec.RaggedFeature.RowLengths(f"{key}/ragged_row_lengths_{level}")
                for level in range(self.rank - 1)
            ]
            if None in shape:
                raise ValueError(f"feature {key!r}: a sequence of arrays of {shape} has no form")
            uniform = [fastrec.RaggedFeature.UniformRowLength(int(size or 0)) for size in shape]
            return fastrec.RaggedFeature(kind, f"{key}/ragged_flat_values", [*rows, *uniform])
        if whole.count(None) > 1:
            raise ValueError(f"feature {key!r}: an array of {whole} requires an encoding")
        if None in whole:
            return fastrec.RaggedFeature(kind)
        return fastrec.FixedLenFeature(whole, kind, self._default(whole))

    def _default(self, shape: Shape) -> Any:
        default = self.value.default
        if default is None or self.value.is_encoded:
            return None
        if self.value.dtype.kind == "O":
            return np.full(shape, default, object) if shape else default
        dtype = np.int64 if self.value.dtype == np.uint64 else self.value.dtype
        return np.full(shape, default, dtype)

    # --- values ------------------------------------------------------------------------------

    def raw(self, columns: Mapping[str, Any], row: int) -> Any:
        """Return the parsed content of one record."""
        if self.value.is_dynamic:
            return tuple(columns[part][row] for part in self.parts)
        return columns[self.leaf.name][row]

    def count(self, raw: Any, depth: int = 0) -> int:
        """Return the length of the outermost sequence of `raw`, below `depth` levels of nesting."""
        if self.value.is_dynamic:
            return len(raw[1])
        if self.rank - depth > 1 or isinstance(raw, Bytes):
            return len(raw)
        size = math.prod(int(size or 0) for size in self.value.wire_shape)
        if self.leaf.lengths[depth] is not None or not size:
            return len(raw) if raw.ndim > 1 or self.value.wire_shape == () else 0
        count, left = divmod(raw.size, size)
        if left:
            raise self.error(f"{raw.size} values must be of shape {self.leaf.shape}")
        return int(count)

    def element(self, raw: Any, depth: int, index: int) -> Any:
        """Return the content of element `index`, below `depth` levels of nesting."""
        if self.value.is_dynamic:
            shapes, values = raw
            if self.rank - depth == 1:
                shapes = np.asarray(shapes).reshape(-1, len(self.value.shape))
            return shapes[index], values[index]
        if self.rank - depth > 1 or isinstance(raw, Bytes):
            return raw[index]
        return reshaped(raw, (None, *self.value.wire_shape))[index]

    def finish(self, raw: Any, depth: int = 0) -> Any:
        """Convert the parsed content of a record or an element to its value."""
        if self.decodes and isinstance(raw, np.ndarray) and raw.ndim > 1:
            return self._checked(raw)
        try:
            return self._finish(raw, depth)
        except (ValueError, IndexError) as error:
            raise self.error(str(error)) from error

    def _checked(self, image: Any) -> Any:
        """Return a copy of an image of a decoded batch, after checking its shape."""
        wanted = self.value.shape
        if any(size not in (None, got) for size, got in zip(wanted, image.shape, strict=True)):
            raise self.error(f"the image must be of shape {wanted}, got {image.shape}")
        return image.copy()

    def error(self, text: str) -> ExampleParseError:
        """Return an exception that names the feature."""
        return ExampleParseError(text, kind="schema", feature=printable(self.leaf.name))

    def _finish(self, raw: Any, depth: int) -> Any:
        rank, value = self.rank - depth, self.value
        if rank > 1:
            return self._finish_rows(raw, depth)
        if value.is_dynamic:
            return self._finish_dynamic(raw, rank)
        if rank and self.decodes:
            return _stacked([value.decode(data) for data in raw], value)
        if self.decodes:
            return value.decode(raw)
        shape = (*self.leaf.lengths[depth:], *value.wire_shape)
        if isinstance(raw, Bytes):
            raw = raw.to_numpy()
        if isinstance(raw, (bytes, np.generic)):
            return raw.view(np.uint64) if value.wire_dtype == np.uint64 else raw  # type: ignore[union-attr]
        return reshaped(self._as_unsigned(raw), shape)

    def _as_unsigned(self, array: Any) -> Any:
        return array.view(np.uint64) if self.value.wire_dtype == np.uint64 else array

    def _finish_dynamic(self, raw: Any, rank: int) -> Any:
        shapes, values = raw
        if rank == 0:
            return self.value.decode(values, shapes)
        shapes = np.asarray(shapes).reshape(-1, len(self.value.shape))
        if len(shapes) != len(values):
            raise ValueError(f"{len(values)} values have {len(shapes)} shapes")
        pairs = zip(values, shapes, strict=True)
        return _stacked([self.value.decode(data, shape) for data, shape in pairs], self.value)

    def _finish_rows(self, raw: Any, depth: int) -> Any:
        if not self.value.is_dynamic:
            rebased = _rebased(raw, self._as_unsigned)
            if not self.decodes:
                return rebased
            flat = _stacked([self.value.decode(data) for data in _flat(rebased)], self.value)
            if isinstance(flat, np.ndarray) and None not in self.value.shape:
                return _map_flat(rebased, lambda _: flat)
        count = len(raw[1]) if self.value.is_dynamic else len(raw)
        rows = (self.element(raw, depth, index) for index in range(count))
        return [self._finish(row, depth + 1) for row in rows]

    @functools.cached_property
    def is_direct(self) -> bool:
        """Whether a row of the parsed column is the value, without conversion."""
        strings = self.value.dtype.kind == "O" and self.leaf.shape != ()
        return self.is_plain and None not in self.leaf.shape and not strings and self.rank < 2

    @functools.cached_property
    def rows_at(self) -> int:
        """Depth whose elements are rows of one numeric array; 0 if no depth has such elements."""
        fixed = None not in self.value.wire_shape and not self.value.is_dynamic
        return self.rank if fixed and self.value.wire_dtype.kind != "O" else 0

    # --- batches ----------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether the parsed column is the value, without conversion."""
        shape = (*self.leaf.lengths, *self.value.wire_shape)
        flat = None not in shape or shape == (None,) or self.rank > 1
        return flat and not self.decodes and not self.value.is_dynamic and (
            self.value.wire_dtype != np.uint64
        )  # fmt: skip

    def image_feature(self) -> Any:
        """Return the feature that decodes these images as one batch, or None."""
        value = self.value
        if not (self.decodes and self.rank == 0 and isinstance(value, Image)):
            return None
        if value.dtype != np.uint8 or value.channels not in (1, 3) or not value.is_decodable:
            return None
        height, width = value.shape[:2]
        size = None if height is None or width is None else (height, width)
        return image_feature(size, value.channels)

    def batch(self, columns: Mapping[str, Any]) -> Any:
        """Return a batch: an array, a ragged column, or a list with one value per record."""
        column = columns[self.parts[-1]]
        if self.is_plain or self.image_feature() is not None:
            return column
        if not self.decodes and not self.value.is_dynamic:
            shape = (*self.leaf.lengths, *self.value.wire_shape)
            if None not in shape:
                return self._as_unsigned(column)
            if self.rank > 1:
                return _map_flat(column, self._as_unsigned)
            if None not in shape[1:] and not isinstance(column.values, Bytes):
                return self._rows_of(column, shape[1:])
        rows = [self.finish(self.raw(columns, row)) for row in range(len(column))]
        return np.stack(rows) if rows and None not in self.leaf.shape and self.decodes else rows

    def _rows_of(self, column: Ragged, inner: Shape) -> Ragged:
        size = math.prod(int(each or 0) for each in inner)
        splits = column.row_splits
        if size == 0 or (np.diff(splits) % size).any():
            raise self.error(f"values must be of shape {self.leaf.shape}")
        values = self._as_unsigned(column.values)
        return Ragged(values.reshape(-1, *inner), splits // size)


def _stacked(rows: list[Any], value: Value) -> Any:
    """Stack values of equal shape in one array; return other values as a list."""
    if not rows:
        return np.empty((0, *(size or 0 for size in value.shape)), value.dtype)
    if any(isinstance(row, bytes) or row.shape != rows[0].shape for row in rows):
        return rows
    return np.stack(rows)


def _map_flat(ragged: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(ragged, Ragged):
        return Ragged(_map_flat(ragged.values, function), ragged.row_splits)
    return function(ragged)


def _flat(ragged: Any) -> Any:
    return _flat(ragged.values) if isinstance(ragged, Ragged) else ragged


def _rebased(ragged: Any, function: Callable[[Any], Any]) -> Any:
    """Return one row of a batch as a separate column, without the values of other rows."""
    if not isinstance(ragged, Ragged):
        return ragged if isinstance(ragged, Bytes) else function(ragged)
    splits = ragged.row_splits
    inner = ragged.values[int(splits[0]) : int(splits[-1])]
    return Ragged(_rebased(inner, function), splits - splits[0])


Path = tuple[str, ...]


class Structure:
    """The nested values of a dataset, or a selection of them.

    Parameters
    ----------
    features : FeaturesDict
    names : sequence of str, optional
        Features to read, by their names in records (``"steps/action"``). The name of a nested
        structure selects all features in it.
    decode : bool
        Whether encoded images and audio become arrays.
    """

    def __init__(
        self, features: FeaturesDict, names: Sequence[str] | None = None, *, decode: bool = True
    ) -> None:
        self.features = features
        check_types(Structure.__init__, {"names": names})
        leaves = list(features.leaves())
        chosen = leaves if names is None else [leaf for leaf in leaves if _is_of(leaf, names)]
        for name in names or ():
            if not any(_is_of(leaf, [name]) for leaf in leaves):
                raise ValueError(
                    f"features must be in {[each.name for each in leaves]}, got {name!r}"
                )
        self.columns: Final = {leaf.path: Column(leaf, decode) for leaf in chosen}
        self.spec: dict[str, Any] = {}
        for column in self.columns.values():
            self.spec |= column.spec()
        if not self.spec:
            raise ValueError("features must name at least one feature")
        self._parts: dict[str, Any] = self._part(features, ())

    @functools.cached_property
    def batch_spec(self) -> dict[str, Any]:
        """Features to parse for several records at once; images are decoded."""
        images = {
            column.leaf.name: feature
            for column in self.columns.values()
            if (feature := column.image_feature()) is not None
        }
        return {**self.spec, **images}

    @property
    def has_images(self) -> bool:
        """Whether records contain images that are decoded."""
        return any(column.image_feature() is not None for column in self.columns.values())

    @property
    def is_plain(self) -> bool:
        """Whether a batch consists of parsed columns, without conversion."""
        return all(
            len(path) == 1 and (column.is_plain or column.image_feature() is not None)
            for path, column in self.columns.items()
        )

    def row(self, columns: Mapping[str, Any], row: int) -> dict[str, Any]:
        """Return the nested values of one record."""
        raws = {path: column.raw(columns, row) for path, column in self.columns.items()}
        return {name: self.build(part, raws, 0) for name, part in self._parts.items()}

    def batch(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the nested values of a batch; a nested dataset is a dictionary of columns."""
        return nested({path: column.batch(columns) for path, column in self.columns.items()})

    def _part(self, feature: Connector, path: Path) -> Any:
        """Return the tree that :meth:`build` follows: dictionaries, columns and nested datasets."""
        if isinstance(feature, FeaturesDict):
            return {
                name: self._part(each, (*path, name))
                for name, each in feature.items()
                if any(known[: len(path) + 1] == (*path, name) for known in self.columns)
            }
        if isinstance(feature, Dataset):
            inside = [known for known in self.columns if known[: len(path)] == path]
            return _Elements(self._part(feature.feature, path), inside, path)
        if isinstance(feature, SequenceOf):
            return self._part(feature.feature, path)
        return self.columns[path]

    def build(self, part: Any, raws: Mapping[Path, Any], depth: int) -> Any:
        """Convert the content of a record or an element to the values of one part of the tree."""
        if isinstance(part, Column):
            raw = raws[part.leaf.path]
            is_value = part.rows_at == depth if depth else part.is_direct
            return raw if is_value else part.finish(raw, depth)
        if isinstance(part, dict):
            return {name: self.build(each, raws, depth) for name, each in part.items()}
        return Steps(self, part, {path: raws[path] for path in part.inside}, depth)


class _Elements(NamedTuple):
    """The structure of a dataset that is nested in a record."""

    element: Any
    inside: list[Path]
    path: Path


def _is_of(leaf: Leaf, names: Sequence[str]) -> bool:
    return any(leaf.name == name or leaf.name.startswith(f"{name}/") for name in names)


def nested(values: Mapping[Path, Any]) -> dict[str, Any]:
    """Return nested dictionaries from values by path."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        level = found
        for name in path[:-1]:
            level = level.setdefault(name, {})
        level[path[-1]] = value
    return found


class Steps(Sequence[Any]):
    """The elements of a dataset that is nested in a record, such as the steps of an episode.

    An element is built, and its images are decoded, when it is accessed.
    """

    def __init__(
        self, structure: Structure, part: _Elements, raws: Mapping[Path, Any], depth: int = 0
    ) -> None:
        self._structure = structure
        self._part = part
        self._raws = raws
        self._depth = depth  # Number of datasets and sequences that enclose this one.
        self._arrays: dict[Path, Any] | None = None
        counts = {p: structure.columns[p].count(raw, depth) for p, raw in raws.items()}
        self._rows = range(next(iter(counts.values())))
        for (first, one), (second, other) in itertools.pairwise(counts.items()):
            if one != other:
                raise structure.columns[second].error(
                    f"must have {one} elements, as {'/'.join(first)!a} has, got {other}"
                )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        if isinstance(rows, range):
            found = object.__new__(Steps)
            found.__dict__.update(self.__dict__, _rows=rows)
            return found
        columns, depth = self._structure.columns, self._depth
        if self._arrays is None:
            self._arrays = {
                path: columns[path].finish(raw, depth)
                for path, raw in self._raws.items()
                if columns[path].rows_at == depth + 1
            }
        raws = {
            path: self._arrays[path][rows]
            if path in self._arrays
            else columns[path].element(raw, depth, rows)
            for path, raw in self._raws.items()
        }
        return self._structure.build(self._part.element, raws, depth + 1)

    def columns(self) -> dict[str, Any]:
        """Return the elements as nested columns with a leading dimension and decoded images."""
        rows = slice(self._rows.start, self._rows.stop, self._rows.step)
        if rows.step < 0:
            raise ValueError("columns must be of elements in their order")
        size, columns = len(self._part.path), self._structure.columns
        values = {p: columns[p].finish(raw, self._depth) for p, raw in self._raws.items()}
        return nested({path[size:]: value[rows] for path, value in values.items()})

    def __repr__(self) -> str:
        return f"<fastrec.tfds.Steps of {len(self)}>"
