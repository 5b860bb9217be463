# SPDX-License-Identifier: Apache-2.0
"""Functions that split, join and match strings, and convert between strings and numbers."""

from __future__ import annotations

import numbers
import os
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import as_dtype, float32, string
from ..errors import DataLossError, invalid
from ..methods import RaggedMethods
from ..naming import renamed
from ..ops import Op, same_spec
from ..ops import strings as rows
from ..ops.unicode import HASH_BUCKET_FAST
from ..tensor import as_array
from . import Faces


class _OnStrings(Faces):
    def _run(
        self,
        op: Op,
        input: Any,
        *others: Any,
        name: str | None,
        type: str | None = None,
        **how: Any,
    ) -> Any:
        """Run an operation on strings; the result of a ragged tensor has the same rows."""
        if isinstance(input, RaggedMethods):
            inner = self._run(op, input.flat_values, *others, name=name, type=type, **how)
            return input.with_flat_values(inner)
        tensor = self._version.of_type(op, input, string)
        return self._apply(op, (tensor, *others), name, type, **how)


class Strings(_OnStrings):
    """The functions of ``tf.strings``."""

    def _checked(self, unit: str, op: str) -> str:
        if unit not in rows.UNITS:
            raise self._version.refused_value(op, "unit", unit, rows.UNITS)
        return unit

    def length(self, input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
        """Return the length of strings in bytes, or in characters if `unit` is ``UTF8_CHAR``."""
        return self._run(rows.LENGTH, input, name=name, unit=self._checked(unit, "StringLength"))

    def lower(self, input: Any, encoding: str = "", name: str | None = None) -> Any:
        """Convert strings to lowercase: ASCII letters only, unless `encoding` is ``utf-8``."""
        return self._run(rows.LOWER, input, name=name, encoding=encoding)

    def upper(self, input: Any, encoding: str = "", name: str | None = None) -> Any:
        """Convert strings to uppercase: ASCII letters only, unless `encoding` is ``utf-8``."""
        return self._run(rows.UPPER, input, name=name, encoding=encoding)

    def strip(self, input: Any, name: str | None = None) -> Any:
        """Strip white space from both ends of strings."""
        return self._run(rows.STRIP, input, name=name)

    def join(self, inputs: Sequence[Any], separator: Any = "", name: str | None = None) -> Any:
        """Join strings elementwise, with `separator` between them."""
        first: Any = inputs[0] if len(inputs) else None
        if isinstance(first, RaggedMethods):
            inner = self.join([first.flat_values, *inputs[1:]], separator, name)
            return first.with_flat_values(inner)
        of_type, op = self._version.of_type, rows.JOIN
        tensors = [of_type(op, each, string, number) for number, each in enumerate(inputs)]
        between = separator.encode() if isinstance(separator, str) else separator
        return self._apply(op, tensors, name, separator=between)

    def reduce_join(
        self,
        inputs: Any,
        axis: Any = None,
        keepdims: bool = False,
        separator: str = "",
        name: str | None = None,
    ) -> Any:
        """Join all strings of a tensor, or the strings along some dimensions."""
        tensors = [self._tensor(inputs, string)]
        if axis is not None:
            tensors.append(self._version.integers(axis, "axis", "Tshape"))
        how: dict[str, Any] = {"keep_dims": bool(keepdims), "separator": separator.encode()}
        return self._apply(rows.REDUCE_JOIN, tensors, name, **how)

    def substr(
        self, input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None
    ) -> Any:
        """Return `len` bytes or characters from `pos`; a negative `pos` counts from the end."""
        chosen = self._checked(unit, "Substr")
        places = self._version.pair("Substr", pos, len)
        self._version.integers(places[0], "pos", "T")
        return self._run(rows.SUBSTR, input, *places, name=name, unit=chosen)

    def to_number(self, input: Any, out_type: Any = float32, name: str | None = None) -> Any:
        """Parse strings as numbers."""
        dtype = as_dtype(out_type)
        if dtype.name not in rows.SPELT:
            raise self._version.refused_type("out_type", "out_type", dtype, rows.SPELT)
        return self._run(rows.TO_NUMBER, input, name=name, out_type=dtype)

    def as_string(
        self,
        input: Any,
        precision: int = -1,
        scientific: bool = False,
        shortest: bool = False,
        width: int = -1,
        fill: str = "",
        name: str | None = None,
    ) -> Any:
        """Format numbers as strings, as C's ``printf`` does."""
        how: dict[str, Any] = {"precision": precision, "scientific": scientific}
        how |= {"shortest": shortest, "width": width, "fill": fill}
        if isinstance(input, RaggedMethods):
            return input.with_flat_values(self.as_string(input.flat_values, **how, name=name))
        return self._apply(rows.AS_STRING, (self._tensor(input),), name, **how)

    def regex_replace(
        self,
        input: Any,
        pattern: Any,
        rewrite: Any,
        replace_global: bool = True,
        name: str | None = None,
    ) -> Any:
        """Replace matches by `rewrite`, where ``\\1`` is the first group."""
        texts = {"pattern": pattern, "rewrite": rewrite}
        how = {"replace_global": replace_global}
        return self._matched(rows.REGEX_REPLACE, input, texts, name, **how)

    def regex_full_match(self, input: Any, pattern: Any, name: str | None = None) -> Any:
        """Return whether the whole string matches a pattern."""
        return self._matched(rows.REGEX_FULL_MATCH, input, {"pattern": pattern}, name)

    def _matched(
        self, op: Op, input: Any, texts: dict[str, Any], name: str | None, **how: Any
    ) -> Any:
        known = {part: rows.pattern_of(text) for part, text in texts.items()}
        if None not in known.values():
            return self._run(op, input, name=name, type=f"Static{op.name}", **known, **how)
        of_type = self._version.of_type
        given = [of_type(op, text, string, number) for number, text in enumerate(texts.values(), 1)]
        return self._run(op, input, *given, name=name, **how)

    def to_hash_bucket_fast(self, input: Any, num_buckets: int, name: str | None = None) -> Any:
        """Hash strings into buckets with FarmHash fingerprints."""
        if num_buckets < 1:
            raise ValueError(f"num_buckets must be >= 1, got {num_buckets}")
        return self._run(HASH_BUCKET_FAST, input, name=name, count=int(num_buckets))


def _inflated(data: bytes, bits: int) -> bytes:
    machine = zlib.decompressobj(bits)
    try:
        found = machine.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        text = f"Could not decompress a string of {len(data)} bytes: {error}"
        raise DataLossError(None, None, text) from error
    if not machine.eof:
        why = "holds too much" if machine.unconsumed_tail else "is truncated"
        raise DataLossError(None, None, f"A compressed string of {len(data)} bytes {why}")
    return found


def _inflate(x: Any, *, kind: str) -> Any:
    texts = as_array(x)
    if not kind:
        return texts
    bits = zlib.MAX_WBITS + (16 if kind == "GZIP" else 0)
    found = np.empty(texts.size, object)
    found[:] = [_inflated(each, bits) for each in texts.reshape(-1).tolist()]
    return found.reshape(texts.shape)


_MOST_BYTES = 2**31 - 1
_INFLATE = Op("DecodeCompressed", _inflate, same_spec)


class Encodings(_OnStrings):
    """The functions of ``tf.io`` that convert strings to strings."""

    def encode_base64(self, input: Any, pad: bool = False, name: str | None = None) -> Any:
        """Encode strings in the URL-safe Base64 alphabet: letters, digits, ``-`` and ``_``."""
        return self._run(rows.ENCODE_BASE64, input, name=name, pad=pad)

    def decode_base64(self, input: Any, name: str | None = None) -> Any:
        """Decode strings that :func:`encode_base64` encoded."""
        return self._run(rows.DECODE_BASE64, input, name=name)

    def decode_compressed(
        self, bytes: Any, compression_type: str = "", name: str | None = None
    ) -> Any:
        """Decompress strings from ``"ZLIB"`` or ``"GZIP"``; with ``""`` return them unchanged."""
        if compression_type not in ("", "ZLIB", "GZIP"):
            raise invalid(
                f"compression_type must be '', 'ZLIB' or 'GZIP', got {compression_type!r}"
            )
        return self._run(_INFLATE, bytes, name=name, kind=compression_type)


integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text; return bytes unchanged.

    Raises
    ------
    TypeError
        If the value is neither text nor bytes.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; return text unchanged.

    Raises
    ------
    TypeError
        If the value is neither text nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = renamed(as_text, "as_str")


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; convert anything else with ``str``."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path as text; return anything else unchanged."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> int | None:
    """Return the size of a dimension as a number."""
    found: int | None = getattr(dimension, "value", dimension)
    return found


def dimension_at_index(shape: Any, index: int) -> Any:
    """Return a dimension of a shape."""
    return None if shape.rank is None else shape[index]


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return False: serialized data never requires a later version."""
    return False
