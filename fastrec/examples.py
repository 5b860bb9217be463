# SPDX-License-Identifier: Apache-2.0
"""Examples: columns out of records, records out of values."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from .arrays import Bytes
from .encoding import Encoding
from .features import Feature, plan_example
from .lowering import Plan

_PLAIN = Encoding()

__all__ = [
    "encode_example",
    "encode_examples",
    "encode_sequence_example",
    "parse_example",
    "parse_single_example",
]

# A batch of fewer bytes is parsed before another thread has started.
_WORTH_THREADS = 1 << 20
_MOST_THREADS = 8


@functools.lru_cache(maxsize=32)
def _compile(plan: Callable[[Any], Plan], items: tuple[Any, ...], _: str) -> _core.Schema:
    return _core.Schema(plan(dict(items)))


def compile_schema(plan: Callable[[Any], Plan], features: Any) -> _core.Schema:
    """A schema of the features, kept for the next time.

    Defaults are told apart by how they print as well: 0.0 and -0.0 are equal.
    """
    try:
        items = tuple(features.items())
        return _compile(plan, items, str([getattr(f, "default_value", 0) for _, f in items]))
    except (AttributeError, TypeError):  # not a mapping, or a default that has no hash
        return _core.Schema(plan(features))


def _threads_for(records: Sequence[Any] | Bytes, threads: int | None) -> int:
    if threads is not None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        return threads
    try:
        size = records.nbytes if isinstance(records, Bytes) else sum(map(len, records))
    except TypeError:
        return 1  # what is no record is refused where it is taken
    return 1 if size < _WORTH_THREADS else min(usable_cpus(), _MOST_THREADS)


def usable_cpus() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def check_records(records: Any) -> None:
    """That it is no single record, which is a sequence too, nor a sequence of text."""
    if isinstance(records, (bytes, bytearray, memoryview, str)):
        raise TypeError("records is a sequence of records; parse_single_example takes one record")
    if isinstance(records, (list, tuple)) and records and isinstance(records[0], str):
        raise TypeError("a record is bytes, not str")


def parse_example(
    records: Sequence[bytes] | Bytes,
    features: Mapping[str, Feature],
    *,
    threads: int | None = None,
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
    threads : int, optional
        How many may parse large batches together; the usable processors, up to 8, by default. The
        result does not depend on it.

    Returns
    -------
    dict
        By feature, in the order of `features`. A :class:`FixedLenFeature`,
        :class:`FixedLenSequenceFeature` or :class:`RawFeature` of known shape is an ndarray of
        shape ``(len(records), ...)``, or a :class:`Bytes` of that shape where the dtype is bytes; a
        :class:`RaggedFeature` is a :class:`Ragged`, a :class:`VarLenFeature` or
        :class:`SparseFeature` a :class:`Sparse`. The arrays are the caller's, writable, and 64-byte
        aligned.

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
    check_records(records)
    schema = compile_schema(plan_example, features)
    return schema.parse(records, _threads_for(records, threads))


def parse_single_example(record: bytes, features: Mapping[str, Feature]) -> dict[str, Any]:
    """As :func:`parse_example` of one record, without the batch dimension.

    Returns
    -------
    dict
        By feature: an ndarray of the feature's shape (a NumPy scalar for ``()``), bytes or a
        :class:`Bytes`; for a ragged or sparse feature the one row.
    """
    if isinstance(record, (str, list, tuple)):
        raise TypeError(f"a record is bytes, not {type(record).__name__}")
    columns = compile_schema(plan_example, features).parse([record])
    return {key: column[0] for key, column in columns.items()}


def encode_example(
    mapping: Mapping[str, Any],
    features: Mapping[str, Feature] | None = None,
    *,
    shapes: Mapping[str, str] | None = None,
) -> bytes:
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

        Arrays of more than one dimension are flattened in C order. docs/encoding.md has the rule
        in full.
    features : mapping of str to feature, optional
        Pins kinds, shapes and dtypes, and is checked: every feature has to be in it, and every one
        of it has to be there unless it has a default or is ragged. A :class:`RawFeature` makes an
        array of any dtype one bytes value, an int64 :class:`FixedLenFeature` makes uint8 a list.
    shapes : mapping of str to str, optional
        Adds the shape of a feature's value as a feature of its own: ``{"image": "shape"}``. A
        :class:`RawFeature` whose shape is a name adds it by itself.

    Raises
    ------
    TypeError
        On any other value; the message names the feature.
    OverflowError
        On an integer beyond int64, or a finite float beyond float32.
    ValueError
        On a value that `features` does not allow.

    Examples
    --------
    >>> encode_example({"label": 3})
    b'\\n\\x10\\n\\x0e\\n\\x05label\\x12\\x05\\x1a\\x03\\n\\x01\\x03'
    """
    if not isinstance(mapping, Mapping):
        raise TypeError(f"an Example is made of a mapping, not of {type(mapping).__name__}")
    if features is None and shapes is None:
        return _PLAIN.row(mapping)
    return Encoding(features, shapes).row(mapping)


def encode_examples(
    columns: Mapping[str, Any],
    features: Mapping[str, Feature] | None = None,
    *,
    shapes: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> Bytes:
    """Serialize columns, one ``tf.train.Example`` a row.

    Row ``i`` is what :func:`encode_example` makes of ``{name: column[i] for each column}``, but
    that an empty row of a column is an empty list of the column's kind.

    Parameters
    ----------
    columns : mapping of str to column
        Arrays with one entry a row along their first dimension (a uint8 array of two or more
        dimensions is one bytes value a row), :class:`Bytes`, :class:`Ragged`, lists with one entry
        a row; Arrow arrays, tensors and whatever else speaks Arrow's C data interface, the array
        protocol, the buffer protocol or DLPack.
    features, shapes
        As for :func:`encode_example`.
    threads : int, optional
        To encode with. By default as many as there are processors, when there is enough to do.
        The bytes are the same for any number.

    Returns
    -------
    Bytes
        One serialized Example a row.

    Raises
    ------
    TypeError, ValueError, OverflowError
        Naming the row and the feature.

    Examples
    --------
    >>> len(encode_examples({"label": [3, 1, 2], "word": ["a", "few", "words"]}))
    3
    """
    return Encoding(features, shapes).columns(columns).encode_all(threads)


def encode_sequence_example(
    context: Mapping[str, Any] | None, feature_lists: Mapping[str, Any] | None
) -> bytes:
    """Serialize a ``tf.train.SequenceExample``.

    Parameters
    ----------
    context : mapping of str to value, or None
        As for :func:`encode_example`.
    feature_lists : mapping of str to column, or None
        Each has one entry a step, as columns of :func:`encode_examples` have one a row; the lists
        may have different numbers of steps.

    Returns
    -------
    bytes
        Protobuf's deterministic serialization. An empty context, or no lists at all, is a message
        without that field.

    Examples
    --------
    >>> import fastrec
    >>> data = encode_sequence_example({"id": 7}, {"tokens": [[1, 2], [3]]})
    >>> lists = fastrec.train.SequenceExample.FromString(data).feature_lists.feature_list
    >>> [list(step.int64_list.value) for step in lists["tokens"].feature]
    [[1, 2], [3]]
    """
    for mapping in (context, feature_lists):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise TypeError(
                f"a SequenceExample is made of mappings, not of {type(mapping).__name__}"
            )
    return _core.encode_sequence(context or {}, feature_lists or {})
