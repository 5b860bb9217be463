# SPDX-License-Identifier: Apache-2.0
"""Write Examples from ``{name: (value, "byte" | "float" | "int")}``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import fastrec

from .._tf.records import TFRecordWriter as _Writer

__all__ = ["TFRecordWriter"]

Datum = Mapping[str, tuple[Any, str]]


def _items(value: Any) -> Any:
    return value if isinstance(value, (list, tuple, np.ndarray)) else [value]


def _bytes_values(key: str, value: Any) -> Any:
    values = list(_items(value))
    for item in values:
        if not isinstance(item, (bytes, bytearray, memoryview)):
            raise TypeError(f"feature {key!a}: {type(item).__name__} is not bytes")
    return fastrec.Bytes.from_list([bytes(item) for item in values])


def _numbers(key: str, value: Any, kinds: str, dtype: type[Any], what: str) -> NDArray[Any]:
    array = np.asarray(_items(value))
    if array.size and array.dtype.kind not in kinds:
        if array.dtype.kind in "Of":  # floats among integers, or integers beyond int64
            too_large = dtype is np.int64 and array.dtype.kind == "O"
            error = ValueError if too_large else TypeError
            raise error(f"feature {key!a}: not {what} of 64 bits: {value!r}")
        raise TypeError(f"feature {key!a}: {array.dtype} is not {what}")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"feature {key!a}: {array.max()} is beyond int64")
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, as in protobuf
        return array.astype(dtype)


_VALUES: dict[str, Callable[[str, Any], Any]] = {
    "byte": _bytes_values,
    "float": functools.partial(_numbers, kinds="biuf", dtype=np.float32, what="floats"),
    "int": functools.partial(_numbers, kinds="biu", dtype=np.int64, what="integers"),
}


def _values(datum: Datum) -> dict[str, Any]:
    return {key: _VALUES[dtype](key, value) for key, (value, dtype) in datum.items()}


class TFRecordWriter:
    """Writes Examples and SequenceExamples to a file, which is emptied first.

    Parameters
    ----------
    data_path : path
    """

    def __init__(self, data_path: Any) -> None:
        self.file: Final = _Writer(data_path)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def write(
        self, datum: Datum, sequence_datum: Mapping[str, tuple[list[Any], str]] | None = None
    ) -> None:
        """Write an Example, or a SequenceExample if `sequence_datum` is set.

        Parameters
        ----------
        datum : mapping of str to (value, {"byte", "float", "int"})
            The features, or the context. A value other than a list, tuple or array is one value.
        sequence_datum : mapping of str to (list of value, {"byte", "float", "int"}), optional
            The feature lists, with one value per step.
        """
        if sequence_datum is None:
            self.file.write(self.serialize_tf_example(datum))
        else:
            self.file.write(self.serialize_tf_sequence_example(datum, sequence_datum))

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @staticmethod
    def masked_crc(data: bytes) -> bytes:
        """Return the masked CRC32C as the four bytes of a file."""
        return fastrec.masked_crc32c(data).to_bytes(4, "little")

    @staticmethod
    def serialize_tf_example(datum: Datum) -> bytes:
        """Serialize an Example."""
        return fastrec.encode_example(_values(datum))

    @staticmethod
    def serialize_tf_sequence_example(
        context_datum: Datum, features_datum: Mapping[str, tuple[list[Any], str]]
    ) -> bytes:
        """Serialize a SequenceExample."""
        lists = {
            key: [_VALUES[dtype](key, step) for step in steps]
            for key, (steps, dtype) in features_datum.items()
        }
        return fastrec.encode_sequence_example(_values(context_datum), lists)
