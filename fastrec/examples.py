# SPDX-License-Identifier: Apache-2.0
"""Examples: columns out of records, records out of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from .arrays import Bytes
from .features import Feature, lower_all

__all__ = ["encode_example", "encode_examples", "parse_example", "parse_single_example"]


def parse_example(
    records: Sequence[bytes] | Bytes, features: Mapping[str, Feature]
) -> dict[str, Any]:
    """Parse serialized ``tf.train.Example`` messages into a batch of columns.

    The last of several values of one feature counts, a Feature with no kind set is a missing one,
    and the verdict on what is a message is protobuf's; values of features that are not asked for
    are not looked at.

    Parameters
    ----------
    records : sequence of bytes-like, or Bytes
    features : mapping of str to feature
        What to read, and as what.

    Returns
    -------
    dict
        By feature, in the order of `features`: an ndarray of shape ``(len(records), *shape)``;
        a :class:`Bytes` of that shape where the dtype is bytes; a :class:`Ragged`. The arrays are
        the caller's, writable, and 64-byte aligned.

    Raises
    ------
    ExampleParseError
        Naming record and feature, what was expected and what came.

    Examples
    --------
    >>> import numpy as np, fastrec
    >>> record = encode_example({"image": np.arange(6, dtype=np.uint8), "label": 3})
    >>> columns = parse_example([record, record], {
    ...     "image": fastrec.RawFeature((2, 3), np.uint8),
    ...     "label": fastrec.FixedLenFeature((), np.int64),
    ... })
    >>> columns["image"].shape, columns["label"]
    ((2, 2, 3), array([3, 3]))
    """
    if isinstance(records, (bytes, bytearray, memoryview, str)):
        raise TypeError("records is a sequence of records; parse_single_example takes one record")
    return _core.Schema(lower_all(features)).parse(records)


def parse_single_example(record: bytes, features: Mapping[str, Feature]) -> dict[str, Any]:
    """As :func:`parse_example` of one record, without the batch dimension.

    Returns
    -------
    dict
        By feature: an ndarray of the feature's shape (a NumPy scalar for ``()``), bytes or a
        :class:`Bytes`; for a ragged feature the one row.
    """
    columns = _core.Schema(lower_all(features)).parse([record])
    return {key: column[0] for key, column in columns.items()}


def encode_example(mapping: Mapping[str, Any]) -> bytes:
    """Serialize a mapping as a ``tf.train.Example``.

    The bytes are those of protobuf's deterministic serialization: features by ascending key bytes,
    lists packed.

    Parameters
    ----------
    mapping : mapping of str to value
        ================================================= ===========================
        value                                             becomes
        ================================================= ===========================
        uint8 array of at least one dimension             one bytes value, in C order
        bool, int, integer or bool array, list of these   int64_list
        float, float array, list of these                 float_list, nearest float32
        str (as UTF-8), bytes-like, list of these         bytes_list
        None, empty list                                  a Feature with no kind set
        ================================================= ===========================

        Arrays of more than one dimension are flattened in C order.

    Raises
    ------
    TypeError
        On any other value; the message names the feature.
    OverflowError
        On an integer beyond int64, or a finite float beyond float32.

    Examples
    --------
    >>> encode_example({"label": 3})
    b'\\n\\x10\\n\\x0e\\n\\x05label\\x12\\x05\\x1a\\x03\\n\\x01\\x03'
    """
    if not isinstance(mapping, Mapping):
        raise TypeError(f"an Example is made of a mapping, not of {type(mapping).__name__}")
    return _core.encode_example(mapping)


def encode_examples(columns: Mapping[str, Any]) -> Bytes:
    """Serialize columns, one ``tf.train.Example`` a row.

    Row ``i`` is what :func:`encode_example` makes of ``{name: column[i] for each column}``.

    Parameters
    ----------
    columns : mapping of str to column
        Arrays with one entry a row along their first dimension (a uint8 array of two or more
        dimensions is one bytes value a row), :class:`Bytes`, :class:`Ragged`, or lists.

    Returns
    -------
    Bytes
        One serialized Example a row.
    """
    return _core.column_values(columns).encode_all()
