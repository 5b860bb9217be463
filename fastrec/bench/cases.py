# SPDX-License-Identifier: Apache-2.0
"""Data of the benchmarks: records of eight kinds and small records, determined by the seed.

A case describes its features in terms that every peer can translate, and generates its columns with
NumPy alone, so that any process can generate the same rows.
"""

from __future__ import annotations

import io
import itertools
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CASES",
    "RAW_CASES",
    "SMALL_BATCHES",
    "Case",
    "Column",
    "Columns",
    "Field",
    "Ragged",
    "Strings",
    "columns_of",
    "head",
    "load",
    "packed",
    "raw_records",
    "rows",
]


@dataclass(frozen=True)
class Field:
    """One feature: `kind` is "int64", "float", "bytes", or "raw" (uint8 arrays as bytes)."""

    name: str
    kind: str
    shape: tuple[int, ...] | None = ()  # shape of a row; None for any number of values


@dataclass(frozen=True)
class Case:
    """One dataset: `records` for a whole run, and `write_records` for the writing benchmarks."""

    name: str
    what: str
    fields: tuple[Field, ...]
    records: int
    batch: int = 128
    write_records: int = 0

    def scaled(self, scale: float) -> Case:
        """Return the case with this fraction of its records, but at least two batches."""

        def few(count: int) -> int:
            return max(int(count * scale), 2 * self.batch)

        records = few(self.records)
        return replace(self, records=records, write_records=min(few(self.write_records), records))

    def to_json(self) -> str:
        """Return the case as JSON, which :meth:`from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Case:
        """Return the case that :meth:`to_json` wrote."""
        values = json.loads(text)
        values["fields"] = tuple(
            Field(f["name"], f["kind"], None if f["shape"] is None else tuple(f["shape"]))
            for f in values["fields"]
        )
        return Case(**values)


@dataclass(frozen=True)
class Strings:
    """Byte strings: string ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @staticmethod
    def of(strings: list[bytes]) -> Strings:
        """Return the strings of a list in one array."""
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        return Strings(np.frombuffer(b"".join(strings), np.uint8), offsets)

    def to_list(self) -> list[bytes]:
        """Return the strings as a list."""
        whole, ends = self.data.tobytes(), self.offsets.tolist()
        return [whole[a:b] for a, b in itertools.pairwise(ends)]


@dataclass(frozen=True)
class Ragged:
    """Rows of varying length: row ``i`` is ``values[splits[i]:splits[i + 1]]``."""

    values: NDArray[Any] | Strings
    splits: NDArray[np.int64]


Column = Union["NDArray[Any]", Strings, Ragged]
Columns = dict[str, Column]

_TABULAR = (
    Field("label", "int64"),
    *(Field(f"I{i}", "float") for i in range(1, 14)),
    *(Field(f"C{i}", "int64") for i in range(1, 27)),
)


def _image(height: int, width: int) -> tuple[Field, ...]:
    image = Field("image", "raw", (height, width, 3))
    return (image, Field("shape", "bytes"), Field("label", "int64"))


def _scalars(count: int) -> tuple[Field, ...]:
    return tuple(Field(f"c{number}", "int64") for number in range(count))


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("cifar", "images of 3,072 raw bytes, shape, label", _image(32, 32), 20_000,
             write_records=5_000),
        Case("photo", "images of 921,600 raw bytes, shape, label", _image(480, 640), 200, 16,
             write_records=40),
        Case("tabular", "13 float and 27 int64 scalars", _TABULAR, 100_000, write_records=20_000),
        Case("tokens", "2,048 int64 token ids", (Field("tokens", "int64", (2048,)),), 10_000,
             write_records=2_000),
        Case("embed", "768 floats and an id",
             (Field("embedding", "float", (768,)), Field("id", "int64")), 20_000,
             write_records=5_000),
        Case("ragged", "0 to 29 strings, int64s and floats",
             (Field("words", "bytes", None), Field("ids", "int64", None),
              Field("weights", "float", None)), 100_000, write_records=20_000),
        Case("pairs", "images of 500 by up to 500 pixels and their masks, raw, and their sizes",
             (Field("height", "int64"), Field("width", "int64"), Field("image", "bytes"),
              Field("mask", "bytes")), 300, 2, write_records=20),
        Case("imagenet", "JPEGs of about 375 by 500 pixels as ImageNet's, and a label",
             (Field("image/encoded", "bytes"), Field("image/class/label", "int64")), 1_872, 64,
             write_records=100),
        *(Case(f"scalars {count}", f"{count} int64 scalar{'s' * (count > 1)}", _scalars(count),
               4_000) for count in (1, 10, 40)),
    )
}  # fmt: skip

SMALL_BATCHES = (1, 8, 32)  # rows

# Records that are not Examples measure framing, indexing and random access alone.
RAW_CASES: dict[str, Case] = {
    "small": Case("small", "64 to 128 plain bytes", (), 500_000),
    "kib": Case("kib", "1,024 plain bytes", (), 100_000),
    "events": Case(
        "events", "scalars of 20 tags, as TensorFlow 1 and tensorboardX log", (), 100_000
    ),
}


def _image_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    shape = case.fields[0].shape
    assert shape is not None
    text = np.array(shape, np.int32).tobytes()
    return {
        "image": random.integers(0, 256, (n, *shape), np.uint8),
        "shape": Strings.of([text] * n),
        "label": random.integers(0, 10, n),
    }


def _tabular_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    columns: Columns = {"label": (random.random(n) < 0.25).astype(np.int64)}
    for i in range(1, 14):
        columns[f"I{i}"] = random.lognormal(i / 4, 1.0, n).astype(np.float32)
    # Vocabularies have from a few categories to 2**32; common categories dominate.
    for i in range(1, 27):
        size = 2.0 ** (2 + 30 * i / 26)
        columns[f"C{i}"] = (size ** random.random(n)).astype(np.int64)
    return columns


def _scalar_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    return {field.name: random.integers(0, 1 << 20, n) for field in case.fields}


def _token_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    weights = np.cumsum(1.0 / (np.arange(50257) + 2.7))
    draws = random.random((n, 2048), np.float32) * weights[-1]
    return {"tokens": np.searchsorted(weights, draws).clip(0, 50256).astype(np.int64)}


def _embed_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    return {
        "embedding": random.standard_normal((n, 768), np.float32),
        "id": np.arange(n, dtype=np.int64) * 7919,
    }


def _splits(random: np.random.Generator, n: int) -> NDArray[np.int64]:
    splits = np.zeros(n + 1, np.int64)
    np.cumsum(random.integers(0, 30, n), out=splits[1:])
    return splits


def _strings(random: np.random.Generator, n: int, low: int, high: int) -> Strings:
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(random.integers(low, high, n), out=offsets[1:])
    return Strings(random.integers(97, 123, int(offsets[-1]), np.uint8), offsets)


def _ragged_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    words, ids, weights = (_splits(random, n) for _ in range(3))
    many = (2.0 ** (28 * random.random(int(ids[-1])))).astype(np.int64)
    return {
        "words": Ragged(_strings(random, int(words[-1]), 3, 13), words),
        "ids": Ragged(many, ids),
        "weights": Ragged(random.standard_normal(int(weights[-1]), np.float32), weights),
    }


def _pair_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    """Generate images like those of PASCAL VOC, whose longer side has 500 pixels."""
    sizes = np.stack([random.integers(300, 401, n), np.full(n, 500)], axis=1)
    sizes[::4] = sizes[::4, ::-1]
    ends = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))])
    image = random.integers(0, 256, 3 * int(ends[-1]), np.uint8)
    mask = random.integers(0, 21, int(ends[-1]), np.uint8)
    return {
        "height": sizes[:, 0].copy(),
        "width": sizes[:, 1].copy(),
        "image": Strings(image, 3 * ends),
        "mask": Strings(mask, ends),
    }


def _photo_columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    from .photos import columns

    return columns(random, case, n)


_MAKERS: dict[str, Callable[[np.random.Generator, Case, int], Columns]] = {
    "cifar": _image_columns,
    "photo": _image_columns,
    "tabular": _tabular_columns,
    "tokens": _token_columns,
    "embed": _embed_columns,
    "ragged": _ragged_columns,
    "pairs": _pair_columns,
    "imagenet": _photo_columns,
    "scalars 1": _scalar_columns,
    "scalars 10": _scalar_columns,
    "scalars 40": _scalar_columns,
}


def _generator(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def columns_of(case: Case, seed: int, saved: str = "") -> Columns:
    """Return the case's columns: generated from the seed, or saved from the user's own file."""
    if saved:
        return load(saved)
    return _MAKERS[case.name](_generator(case.name, seed), case, case.records)


def _event_records(case: Case, seed: int) -> Strings:
    """Generate events of one scalar each; the first event states the version of the file."""
    values = _generator(case.name, seed).standard_normal(case.records).astype("<f4")
    records = [b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"]
    for number in range(case.records - 1):
        tag = b"train/metric_%02d" % (number % 20)
        value = b"\x0a%c%s\x15%s" % (len(tag), tag, values[number].tobytes())
        summary = b"\x0a%c%s" % (len(value), value)
        time = struct.pack("<d", 1.7e9 + number / 8)
        step = number // 20 | 1 << 14  # three bytes
        steps = bytes([step & 127 | 128, step >> 7 & 127 | 128, step >> 14])
        records.append(b"\x09%s\x10%s\x2a%c%s" % (time, steps, len(summary), summary))
    return Strings.of(records)


def raw_records(case: Case, seed: int) -> Strings:
    """Generate the records of a case without features."""
    if case.name == "events":
        return _event_records(case, seed)
    low, high = (64, 129) if case.name == "small" else (1024, 1025)
    random = _generator(case.name, seed)
    offsets = np.zeros(case.records + 1, np.int64)
    np.cumsum(random.integers(low, high, case.records), out=offsets[1:])
    return Strings(random.integers(0, 256, int(offsets[-1]), np.uint8), offsets)


def head(column: Column, n: int) -> Column:
    """Return the first `n` rows."""
    if isinstance(column, Strings):
        return Strings(column.data[: column.offsets[n]], column.offsets[: n + 1])
    if isinstance(column, Ragged):
        values = column.values
        size = int(column.splits[n])
        return Ragged(head(values, size), column.splits[: n + 1])  # type: ignore[arg-type]
    return column[:n]


def rows(columns: Mapping[str, Column], n: int) -> Iterator[dict[str, Any]]:
    """Yield the first `n` rows as a program holds them: Python scalars, bytes, and arrays."""
    lists: dict[str, Any] = {}
    for name, column in columns.items():
        short = head(column, n)
        if isinstance(short, Strings):
            lists[name] = short.to_list()
        elif isinstance(short, Ragged):
            values: Any = short.values
            if isinstance(values, Strings):
                values = values.to_list()
            ends = short.splits.tolist()
            lists[name] = [values[a:b] for a, b in itertools.pairwise(ends)]
        else:
            lists[name] = short.tolist() if short.ndim == 1 else list(short)
    for values in zip(*lists.values(), strict=True):
        yield dict(zip(lists, values, strict=True))


def packed(columns: Mapping[str, Column]) -> bytes:
    """Return the contents of a file of columns for :func:`load`, which executes nothing in it."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        inner = column
        if isinstance(inner, Ragged):
            arrays[f"{name}\0splits"] = inner.splits
            inner = inner.values
        if isinstance(inner, Strings):
            arrays[f"{name}\0data"], arrays[f"{name}\0offsets"] = inner.data, inner.offsets
        else:
            arrays[f"{name}\0values"] = inner
    names = json.dumps([key.split("\0") for key in arrays]).encode()
    numbered = {f"a{i}": array for i, array in enumerate(arrays.values())}
    file = io.BytesIO()
    np.savez(file, names=np.frombuffer(names, np.uint8), **numbered)  # type: ignore[arg-type]
    return file.getvalue()


def load(path: str) -> Columns:
    """Load the columns that a file contains, made by :func:`packed`."""
    with np.load(path, allow_pickle=False) as file:
        names = json.loads(file["names"].tobytes())
        parts: dict[str, dict[str, Any]] = {}
        for i, (name, part) in enumerate(names):
            parts.setdefault(name, {})[part] = file[f"a{i}"]
    columns: Columns = {}
    for name, has in parts.items():
        inner = Strings(has["data"], has["offsets"]) if "data" in has else has["values"]
        columns[name] = Ragged(inner, has["splits"]) if "splits" in has else inner
    return columns
