# SPDX-License-Identifier: Apache-2.0
"""Represent the features of records as files of samples, and these as features again.

A feature becomes one file, whose extension ends in the type of its content: ``cls`` for one
integer, ``npy`` for arrays of numbers, ``mp`` (MessagePack) for lists of bytes, and for one value
of bytes what the value is, such as ``jpg`` or ``txt``. A :class:`Layout` lists the extensions with
their features, so that the files become the same features again.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from .. import _core
from ..columns import Bytes
from ..errors import ExampleParseError
from ..features.spec import RaggedFeature, plan_context
from ..records.content.values import media_content

__all__ = ["Encoding", "Layout", "Row", "Stored", "decode", "encode", "rows_of", "type_of"]

Row = dict[str, Any]
"""The values of a record by feature: a Bytes, or an array of int64 or float32."""

Encoding = Literal["bytes", "int", "array", "list", "none"]

_MOST_CELLS = 1 << 18  # features x records, which bounds the time for hostile names
_DTYPES: tuple[Any, ...] = (bytes, np.float32, np.int64)
_INT64 = re.compile(rb"\s*-?[0-9]{1,19}\s*")
_MEDIA = {
    "JPEG": "jpg", "PNG": "png", "GIF": "gif", "WebP": "webp", "BMP": "bmp", "TIFF": "tif",
    "WAV": "wav", "FLAC": "flac", "Ogg": "ogg", "MP3": "mp3", "MP4": "mp4", "AVI": "avi",
    "WebM": "webm",
}  # fmt: skip
MEDIA_TYPES = frozenset(_MEDIA.values())
_MOST_JSON = 1 << 20  # bytes of a value that is parsed to find out whether it is JSON
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0e-\x1f\x7f]")


class Stored(NamedTuple):
    """A file of a sample: its feature, or None if it only marks an empty record."""

    feature: str | None
    encoding: Encoding


class Layout(NamedTuple):
    """How the samples of an archive correspond to records.

    Attributes
    ----------
    key : Stored
        The feature that is the key of a sample; no feature if keys are numbers of records.
    files : dict of str to Stored
        The stored feature of the file with each extension.
    """

    key: Stored
    files: dict[str, Stored]

    def dump(self) -> str:
        """Return the layout as text."""
        return json.dumps({"fastrec": 1, "key": self.key, "files": self.files})

    @classmethod
    def load(cls, text: str | None) -> Layout | None:
        """Return a layout from its text; None for another text.

        Raises
        ------
        ValueError
            If the text is a damaged layout.
        """
        if text is None or not text.startswith('{"fastrec": '):
            return None
        try:
            found = json.loads(text)
            if found["fastrec"] != 1:
                raise ValueError(f"its version is {found['fastrec']!r:.20}, this is 1")
            key = _stored(found["key"])
            files = {str(name): _stored(each) for name, each in found["files"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"the description of its features is damaged: {error}") from None
        if key.encoding not in ("bytes", "int", "none"):
            raise ValueError("the description of its features is damaged: its key")
        return cls(key, files)


def _stored(entry: Any) -> Stored:
    name, encoding = entry
    if encoding not in ("bytes", "int", "array", "list", "none") or not isinstance(
        name, str | None
    ):
        raise ValueError("an entry has the wrong types")
    if (name is None) != (encoding == "none"):
        raise ValueError("an entry has no feature")
    if name is not None:
        name.encode("utf-8", "surrogateescape")
    return Stored(name, encoding)


# -- Records to rows -------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _schema(kinds: tuple[tuple[str, int], ...]) -> _core.Schema:
    return _core.Schema(plan_context({key: RaggedFeature(_DTYPES[kind]) for key, kind in kinds}))


def rows_of(records: Bytes, first: int = 0) -> Iterator[Row]:
    """Yield the values of each record, including empty lists; features without a kind are left out.

    `first` is the number of the first record, for messages.

    Raises
    ------
    ExampleParseError
        For a record that is not an Example.
    """
    survey = _core.Survey()
    survey.add(records, first)
    counts, lists = survey.counts()
    if lists:
        if len(records) == 1:
            cause = "a SequenceExample cannot become a sample; convert it to Parquet or JSON lines"
            raise ExampleParseError(cause, kind="malformed").in_record(first)
        yield from _halves(records, first)
        return
    kinds: list[tuple[str, int]] = []
    present: dict[str, int] = {}
    is_clear = len(counts) * len(records) <= _MOST_CELLS
    for raw, (by_kind, _, _, fewest, *_) in sorted(counts.items()):
        found = [kind for kind in range(3) if by_kind[kind + 1]]
        if found:
            name = raw.decode("utf-8", "surrogateescape")
            kinds.append((name, found[0]))
            present[name] = by_kind[found[0] + 1]
            # Otherwise columns do not tell an empty list from a missing feature.
            is_clear &= len(found) == 1 and (by_kind[found[0] + 1] == len(records) or fewest > 0)
    if not is_clear and len(records) > 1:
        yield from _halves(records, first)
        return
    columns = _schema(tuple(kinds)).parse(records) if kinds else {}
    items = [
        (name, columns[name].values, columns[name].row_splits.tolist(), present[name])
        for name, _ in kinds
    ]
    for index in range(len(records)):
        yield {
            name: values[splits[index] : splits[index + 1]]
            for name, values, splits, count in items
            if count == len(records) or splits[index] < splits[index + 1]
        }


def _halves(records: Bytes, first: int) -> Iterator[Row]:
    half = len(records) // 2
    yield from rows_of(records[:half], first)
    yield from rows_of(records[half:], first + half)


# -- Values to files -------------------------------------------------------------------------------


def type_of(value: bytes) -> str:
    """Return the extension that states what a value of bytes is; ``bin`` if it is unknown."""
    if value[:3] == b"\xff\xd8\xff":
        return "jpg"
    if value[:8] == b"\x89PNG\r\n\x1a\n":
        return "png"
    if value[:6] == b"\x93NUMPY":
        return "npy"
    if not _CONTROL.search(value):
        try:
            value.decode()
        except UnicodeDecodeError:
            pass
        else:
            return "json" if _is_json(value) else "txt"
    media = media_content(value)
    return "bin" if media is None else _MEDIA.get(media.name, "bin")


def _is_json(value: bytes) -> bool:
    """Return whether a text is an object or a list of JSON."""
    if value.lstrip()[:1] not in (b"{", b"[") or len(value) > _MOST_JSON:
        return False
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def encode(encoding: Encoding, values: Any) -> bytes:
    """Return the content of the file with a feature's values."""
    if encoding == "bytes":
        return values[0]  # type: ignore[no-any-return]
    if encoding == "int":
        return b"%d" % int(values[0])
    if encoding == "array":
        return _npy(values)
    return _pack(values)


def _npy(values: Any) -> bytes:
    """Return a .npy file of one dimension."""
    dtype = "<i8" if values.dtype == np.int64 else "<f4"
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    size = -(-(10 + len(text) + 1) // 64) * 64 - 10
    head = b"\x93NUMPY\x01\0" + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"
    return head + np.ascontiguousarray(values, dtype).tobytes()


def _pack(values: Any) -> bytes:
    """Return a list of bytes in MessagePack: an array of texts and binaries."""
    parts = [b"\xdd" + struct.pack(">I", len(values))]
    for value in values:
        is_text = type_of(value) in ("txt", "json")
        parts += [b"\xdb" if is_text else b"\xc6", struct.pack(">I", len(value)), value]
    return b"".join(parts)


def decode(encoding: Encoding, content: bytes) -> Any:
    """Return the values of a feature from the content of its file.

    Raises
    ------
    ValueError
        If the content does not have this encoding.
    """
    if encoding == "bytes":
        return Bytes.from_list([content])
    if encoding == "int":
        number = int(content) if _INT64.fullmatch(content) else 2**64
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"must be one integer of 64 bits, got {content[:20]!a}")
        return np.array([number], np.int64)
    return _array(content) if encoding == "array" else _unpack(content)


def _array(content: bytes) -> Any:
    from ..records.content.arrays import decode_array

    values = decode_array("npy", content)
    if values.ndim != 1 or values.dtype not in (np.dtype("<i8"), np.dtype("<f4")):
        raise ValueError(
            f"must be a .npy file of int64 or float32 in one dimension, got {values.dtype.name} "
            f"{values.shape}"
        )
    return values


def _unpack(content: bytes) -> Any:
    wrong = "must be a list of bytes in MessagePack, as fastrec writes it"
    if len(content) < 5 or content[0] != 0xDD:
        raise ValueError(wrong)
    values, at = [], 5
    for _ in range(struct.unpack_from(">I", content, 1)[0]):
        if len(content) - at < 5 or content[at] not in (0xDB, 0xC6):
            raise ValueError(wrong)
        size = struct.unpack_from(">I", content, at + 1)[0]
        if size > len(content) - at - 5:
            raise ValueError(wrong)
        values.append(content[at + 5 : at + 5 + size])
        at += 5 + size
    if at != len(content):
        raise ValueError(wrong)
    return Bytes.from_list(values)
