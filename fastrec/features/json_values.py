# SPDX-License-Identifier: Apache-2.0
"""Read values of JSON documents that records store as bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ..arguments import check_fields, is_int, shown
from ..columns import Bytes, Ragged
from ..errors import ExampleParseError, printable
from .column_spec import (
    BYTES,
    KINDS,
    Feature,
    ItemSpec,
    as_shape,
    column_of,
    default_array,
    key_of,
    list_dtype,
    serialize_default,
)

__all__ = ["JsonFeature"]

_MOST_BYTES = 1 << 24  # of a document; Python needs far more memory for its objects
_MOST_DIGITS = 400  # of an integer
_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a bool", type(None): "null"}
_ABSENT = object()


@dataclass(frozen=True)
class JsonFeature(Feature):
    """A value of a JSON document that each record stores as bytes, as ``.json`` files of archives.

    Parameters
    ----------
    path : str, or sequence of str and int
        The way to the value: names in objects and positions in lists. ``"label"`` is
        ``document["label"]``, ``("boxes", 0)`` is ``document["boxes"][0]``, and ``()`` is the
        document itself.
    shape : int, sequence of int, or None
        Shape of one record's values, which are nested lists; ``()`` for one value. None: a list of
        any length, and the column is a :class:`~fastrec.Ragged`.
    dtype : dtype-like
        ``bytes`` for strings, which become UTF-8; a bool for true and false; an integer dtype for
        integers in its range; or a float for all numbers.
    default_value : array-like, optional
        Used where the document, the value or a part of the way to it is absent or null. With shape
        None it must be an empty list.
    value_key : str
        The feature with the document.

    Raises
    ------
    ExampleParseError
        From parsing, with the record and the path: for bytes that are not JSON in UTF-8, NaN and
        infinity, repeated names, more than 16 MiB, nesting that is too deep, and for a value that
        is absent or of another type, shape or range.

    Examples
    --------
    >>> import fastrec
    >>> record = fastrec.encode_example({"json": '{"label": 3, "size": [640, 480]}'})
    >>> features = {
    ...     "label": fastrec.JsonFeature("label", (), np.int64),
    ...     "width": fastrec.JsonFeature(("size", 0), (), np.float32),
    ... }
    >>> fastrec.parse_example([record], features)
    {'label': array([3]), 'width': array([640.], dtype=float32)}
    """

    path: Any
    shape: Any
    dtype: Any
    default_value: Any = None
    value_key: str = field(default="json", kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "path", _steps(self.path))
        if self.shape is not None:
            object.__setattr__(self, "shape", as_shape(self.shape))
        self._columns(b"")

    def _columns(self, key: bytes) -> ItemSpec:
        dtype, default = list_dtype(self.dtype), None
        name = key_of(self.value_key, "value_key")
        column = column_of(name, bytes)
        if self.default_value is not None:
            default = self._default(dtype)
            # Where the document is missing, it reads as null, and so do all values in it.
            column = column._replace(fallback=serialize_default(b"null", "bytes", BYTES, ()))
        return (column,), JsonBuild(self.path, self.shape, dtype, default, name)

    def _default(self, dtype: np.dtype[Any]) -> list[Any]:
        """Return the elements of the default value."""
        if self.shape is None:
            if np.size(self.default_value):
                shape = f"default_value must be [] with shape=None, got {shown(self.default_value)}"
                raise ValueError(shape)
            return []
        kind = KINDS[dtype.kind]
        serialize_default(self.default_value, kind, dtype, self.shape)
        array = default_array(self.default_value, kind, dtype, self.shape).reshape(-1)
        if dtype == BYTES:
            return [each.encode() if isinstance(each, str) else each for each in array]
        elements: list[Any] = array.tolist()
        return elements


def _steps(path: Any) -> tuple[str | int, ...]:
    steps = (path,) if isinstance(path, (str, int)) else path
    if not isinstance(steps, (list, tuple)):
        raise TypeError(f"path must be a name, or a list of names and positions, got {shown(path)}")
    for step in steps:
        if not isinstance(step, str) and not (is_int(step) and step >= 0):
            raise TypeError(f"path must have only names and positions, got {shown(step)} in it")
    return tuple(step if isinstance(step, str) else int(step) for step in steps)


@dataclass(frozen=True)
class JsonBuild:
    """Builds one item from the documents; `default` has the elements of a value that is absent."""

    path: tuple[str | int, ...]
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    default: list[Any] | None
    key: bytes

    def __call__(self, column: Bytes) -> Any:
        elements: list[Any] = []
        splits = np.zeros(len(column) + 1, np.int64)
        for row, text in enumerate(column):
            elements += self._row(row, text)
            splits[row + 1] = len(elements)
        values: Any
        if self.dtype == BYTES:
            values = Bytes.from_list(elements)
            if self.shape:
                values = Bytes(values.data, values.offsets, (len(column), *self.shape))
        else:
            with np.errstate(over="ignore"):
                values = np.array(elements, self.dtype)
            if self.dtype.kind == "f" and not np.isfinite(values).all():
                at = int(np.argmin(np.isfinite(values)))
                row = int(np.searchsorted(splits, at, "right")) - 1
                self._fail(row, f"must fit {self.dtype}, got {shown(elements[at])}")
            if self.shape is not None:
                values = values.reshape(len(column), *self.shape)
        return Ragged(values, splits) if self.shape is None else values

    def _row(self, row: int, text: bytes) -> list[Any]:
        """Return the elements of the value of one record."""
        value = self._document(row, text)
        for step in self.path:
            if isinstance(step, str):
                if isinstance(value, dict):
                    value = value.get(step, _ABSENT)
                elif value is not None and value is not _ABSENT:
                    self._fail(row, f"has {_named(value)} where {step!a} requires an object")
            elif isinstance(value, list):
                value = value[step] if step < len(value) else _ABSENT
            elif value is not None and value is not _ABSENT:
                self._fail(row, f"has {_named(value)} where {step} requires a list")
        if value is None or value is _ABSENT:
            if self.default is not None:
                return self.default
            hint = "default_value= stands for it"
            self._fail(row, f"is {'null' if value is None else 'absent'}; {hint}")
        if self.shape is not None:
            return list(self._elements(row, value, self.shape))
        if not isinstance(value, list):
            self._fail(row, f"must be a list, got {_named(value)}")
        return [self._element(row, each) for each in value]

    def _document(self, row: int, text: bytes) -> Any:
        if len(text) > _MOST_BYTES:
            self._refuse(row, f"a JSON document must have at most 16 MiB, got {len(text)} bytes")
        try:
            return _DECODER.decode(text.decode("utf-8-sig"))
        except RecursionError:
            self._refuse(row, "it is JSON whose objects or lists are nested too deeply")
        except ValueError as error:  # also of UTF-8
            self._refuse(row, f"it is not JSON: {error}")

    def _elements(self, row: int, value: Any, shape: tuple[int, ...]) -> Iterator[Any]:
        if not shape:
            yield self._element(row, value)
            return
        if not isinstance(value, list) or len(value) != shape[0]:
            found = f"{len(value)} elements" if isinstance(value, list) else _named(value)
            self._fail(row, f"must be lists of shape {self.shape}, got {found} for {shape[0]}")
        for each in value:
            yield from self._elements(row, each, shape[1:])

    def _element(self, row: int, value: Any) -> Any:
        """Return a scalar of the type of the column."""
        kind = self.dtype.kind
        if kind == "O" and type(value) is str:
            try:
                return value.encode()
            except UnicodeEncodeError:
                self._fail(row, "has half of a surrogate pair, which UTF-8 cannot encode")
        if kind == "b" and type(value) is bool:
            return value
        if kind == "f" and type(value) in (int, float):
            try:
                return float(value)
            except OverflowError:
                self._fail(row, f"must fit {self.dtype}, got {shown(value)}")
        if kind in "iu" and type(value) is int:
            limits = np.iinfo(self.dtype)
            if not limits.min <= value <= limits.max:
                self._fail(row, f"must fit {self.dtype}, got {shown(value)}")
            return value
        wanted = {"O": "a string", "b": "true or false", "f": "a number"}.get(kind, "an integer")
        self._fail(row, f"must be {wanted}, got {_named(value)}")

    def _fail(self, row: int, cause: str) -> NoReturn:
        steps = "".join(f"[{step!a}]" for step in self.path)
        what = f"the JSON value {steps}" if steps else "the JSON document"
        self._refuse(row, f"{what} {cause}")

    def _refuse(self, row: int, cause: str) -> NoReturn:
        raise ExampleParseError(
            cause, kind="schema", record=row, feature=printable(self.key)
        ) from None


def _named(value: Any) -> str:
    return _NAMES.get(type(value)) or f"the number {shown(value)}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the name {shown(twice)} is there twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON")


def _integer(digits: str) -> int:
    # Python takes quadratic time for long integers, and no dtype has more digits.
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits, more than {_MOST_DIGITS}")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse, parse_int=_integer)
