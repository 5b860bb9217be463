# SPDX-License-Identifier: Apache-2.0
"""Encode mappings and columns as Examples and SequenceExamples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..arguments import check_int
from ..columns import Bytes
from ..features.spec import Feature
from .encoder import Encoding

__all__ = ["encode_example", "encode_examples", "encode_sequence_example"]

_PLAIN = Encoding()


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
        value                                             stored as
        ================================================= ===========================
        uint8 array of at least one dimension             one bytes value, in C order
        bool, int, integer or bool array, list of these   int64_list
        float, float array, list of these                 float_list, nearest float32
        str (as UTF-8), bytes-like, list of these         bytes_list
        None, empty list                                  a Feature with no kind set
        ================================================= ===========================

        Arrays of more than one dimension are flattened in C order. docs/encoding.md has the
        complete rule.
    features : mapping of str to feature, optional
        Determines kinds, shapes and dtypes. Every value must have an entry, and every feature must
        have a value unless it has a default or is ragged. A :class:`RawFeature` makes an
        array of any dtype one bytes value, an int64 :class:`FixedLenFeature` makes uint8 a list.
    shapes : mapping of str to str, optional
        Adds the shape of a feature's value as another feature: ``{"image": "shape"}``. A
        :class:`RawFeature` whose shape is a name adds it automatically.

    Raises
    ------
    TypeError
        For any other value. The message names the feature.
    OverflowError
        If an integer is out of int64's range, or a finite float out of float32's.
    ValueError
        If `features` does not allow a value.

    Examples
    --------
    >>> encode_example({"label": 3})
    b'\\n\\x10\\n\\x0e\\n\\x05label\\x12\\x05\\x1a\\x03\\n\\x01\\x03'
    """
    if not isinstance(mapping, Mapping):
        raise TypeError(
            f"mapping must be a mapping of names to values, got {type(mapping).__name__}"
        )
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
    """Serialize columns, one ``tf.train.Example`` per row.

    Row ``i`` is encoded as :func:`encode_example` encodes ``{name: column[i] for each column}``,
    except that an empty row of a column is an empty list of the column's kind.

    Parameters
    ----------
    columns : mapping of str to column
        Arrays with one entry per row along their first dimension (a uint8 array of two or more
        dimensions is one bytes value per row), :class:`Bytes`, :class:`Ragged`, lists with one
        entry per row; Arrow arrays, tensors and other objects that support Arrow's C data
        interface, the array protocol, the buffer protocol or DLPack.
    features, shapes
        As for :func:`encode_example`.
    threads : int, optional
        Number of threads; by default the number of usable processors, if the amount of work
        justifies it. The result does not depend on it.

    Returns
    -------
    Bytes
        One serialized Example per row.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If a value cannot be encoded. The message names the row and the feature.

    Examples
    --------
    >>> len(encode_examples({"label": [3, 1, 2], "word": ["a", "few", "words"]}))
    3
    """
    if threads is not None:
        check_int("threads", threads, 1, 2**16)
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
        One entry per step, in the types of :func:`encode_examples`; the lists may have different
        numbers of steps.

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
    for name, mapping in (("context", context), ("feature_lists", feature_lists)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise TypeError(f"{name} must be a mapping, got {type(mapping).__name__}")
    return _core.encode_sequence(
        {} if context is None else context, {} if feature_lists is None else feature_lists
    )
