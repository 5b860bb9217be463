# SPDX-License-Identifier: Apache-2.0
"""Arrays that another thread writes to while a function of the core reads them.

Every function of the extensions that takes an array is called while a thread writes to each of its
arrays. A call may return anything or raise an error; it must not read or write out of bounds. Run
it under AddressSanitizer too (``make sanitize-python``). ``FASTREC_RACE_SECONDS`` sets the seconds
that each function is called for.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import tarfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shared_tensor_arrays  # noqa: F401  (it registers its races)
from numpy.typing import NDArray
from shared_arrays import COUNT, RACES, Race, keys, over, pixels, race, strings

import fastrec
from fastrec import _core
from fastrec.features.spec import plan_example

SECONDS = float(os.environ.get("FASTREC_RACE_SECONDS", "0.1"))


def images(kind: str, shape: tuple[int, int] = (16, 16), copies: int = 40) -> fastrec.Bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.fromarray(np.zeros((*shape, 3), np.uint8)).save(out, kind)
    encoded = out.getvalue()
    data = np.frombuffer(encoded * copies, np.uint8).copy()
    return fastrec.Bytes(data, np.arange(copies + 1, dtype=np.int64) * len(encoded))


def examples() -> fastrec.Bytes:
    block = fastrec.encode_examples({"a": np.arange(COUNT), "b": [b"text"] * COUNT})
    return fastrec.Bytes(block.data.copy(), block.offsets.copy())


def file_of(path: Path) -> _core.Dataset:
    with fastrec.Writer(path / "x.tfrecord", fsync=False) as writer:
        writer.write_many(examples())
    return _core.Dataset([path / "x.tfrecord"])


def numbers() -> NDArray[np.uint64]:
    return np.random.default_rng(0).permutation(COUNT).astype(np.uint64)


ORDER = np.random.default_rng(0).permutation(COUNT).astype(np.int64)
over(
    "take_strings",
    _core.take_strings,
    lambda: strings().data,
    lambda: strings().offsets,
    ORDER.copy,
)
over(
    "pad_rows",
    lambda v, b, s: _core.pad_rows(v, b, s, (3,), 0),
    lambda: np.arange(COUNT * 3),
    lambda: np.arange(COUNT) * 3,
    lambda: np.full((COUNT, 1), 3),
)
over(
    "augment",
    lambda i, k: _core.augment(
        i,
        k,
        {
            "size": (8, 8),
            "random_crop": True,
            "flip": True,
            "brightness": 0.1,
            "contrast": (0.5, 1.5),
            "standardize": True,
            "seed": 1,
            "floats": True,
        },
    ),
    lambda: pixels(np.uint8),
    keys,
)
over(
    "distort",
    lambda i, s, m, b, c: _core.distort(i, s, (8, 8, 3), m, b, c, True),
    lambda: pixels(np.uint8),
    lambda: np.zeros((4, 3), np.int64),
    lambda: np.zeros(4, np.uint8),
    lambda: np.zeros(4, np.float32),
    lambda: np.ones(4, np.float32),
)
over(
    "draw_crop",
    lambda k: _core.draw_crop("random", 99, 99, (0.1, 1.0), (0.5, 2.0), k),
    lambda: keys(COUNT),
)
over("philox_blocks", lambda n: _core.philox_blocks(1, 2, n), lambda: keys(COUNT))
over(
    "find_pieces",
    lambda d: _core.find_pieces(d, 0, len(d), 0),
    lambda: np.frombuffer(b"\x0a\x04text" * COUNT, np.uint8).copy(),
)
over(
    "FileIndex",
    lambda o: _core.FileIndex(o, 16 * COUNT, 0),
    lambda: np.arange(COUNT + 1, dtype=np.uint64) * 16,
)


def of_bytes(name: str, call: Callable[[Any], Any]) -> None:
    """Register a race of a call that takes the bytes of one record."""
    over(name, call, lambda: np.ones(COUNT, np.uint8))


of_bytes("crc32c", _core.crc32c)
of_bytes("crc32c_with", lambda data: _core.crc32c_with("sw", data))
of_bytes("masked_crc32c", _core.masked_crc32c)
of_bytes("riegeli_hash", _core.riegeli_hash)
of_bytes("riegeli_chunk", lambda data: _core.riegeli_chunk(114, 1, 1, data, 0))
of_bytes("frame", _core.frame)
over(
    "riegeli_chunks",
    lambda window: _core.riegeli_chunks(window, 0, len(window), 1 << 20),
    lambda: np.frombuffer(_core.riegeli_chunk(114, 1, 1, bytes(99_999), 0), np.uint8).copy(),
)
# Type, number and bytes of records of a simple and of a transposed chunk, and their data.
SIMPLE = 114, 99, 198, b"\0\x63" + b"\2" * 99 + bytes(198)
PROGRAM = b"\1\2\4\3\1\4\1\x08\3\x0e\1\6\1\0\0\0\0\0"
TRANSPOSED = 116, 3, 5, b"\0\x12" + PROGRAM + b"x\x05\x07\1\0\0"


@race("riegeli_records")
def _riegeli(_: Path) -> Race:
    simple, transposed = (
        np.frombuffer(chunk[3], np.uint8).copy() for chunk in (SIMPLE, TRANSPOSED)
    )

    def expand(_: int, packed: memoryview, size: int) -> bytes:
        return bytes(size)

    def decode() -> list[int]:
        counts = []
        for (kind, count, size, _), data in ((SIMPLE, simple), (TRANSPOSED, transposed)):
            with contextlib.suppress(fastrec.CorruptRecordError):
                counts.append(len(_core.riegeli_records(kind, count, size, data.data, expand)))
        return counts

    assert decode() == [99, 3]
    return Race(decode, [simple, transposed])


@race("DeflateWalk.feed")
def _walk(_: Path) -> Race:
    packer = zlib.compressobj(wbits=-15)
    deflated = packer.compress(bytes(range(256)) * 99) + packer.flush()
    data = np.frombuffer(deflated, np.uint8).copy()
    return Race(lambda: _core.DeflateWalk(0, 4096).feed(data.data, True), [data])


@race("RecordWriter.write", "RecordWriter.write_frames")
def _write_one(path: Path) -> Race:
    data = np.ones(COUNT, np.uint8)
    frames = np.frombuffer(_core.frame(bytes(100)) * 9, np.uint8).copy()

    def write() -> None:
        writer = _core.RecordWriter(path / "y.tfrecord", sync=False)
        writer.write(data.data)
        writer.write_frames(frames.data, 9)
        writer.finish()

    return Race(write, [data, frames])


@race("Dataset.records")
def _records(path: Path) -> Race:
    dataset, order = file_of(path), numbers()
    return Race(lambda: dataset.records(order), [order])


@race("Dataset.take")
def _take(path: Path) -> Race:
    dataset, order = file_of(path), numbers()
    return Race(lambda: dataset.take(order), [order])


def in_memory() -> tuple[list[bytes], np.ndarray[Any, np.dtype[np.uint64]]]:
    """Return pieces and a table of `MemoryRecords`."""
    sizes = np.full(COUNT, 20, np.uint64)
    places = np.cumsum(sizes, dtype=np.uint64) - sizes
    files = np.zeros(COUNT, np.uint64)
    table = np.stack([files, np.arange(COUNT, dtype=np.uint64), places, places, sizes], axis=1)
    return [_core.frame(b"data") * COUNT], table


@race("MemoryRecords.__new__")
def _in_memory(path: Path) -> Race:
    pieces, table = in_memory()
    order = numbers()
    return Race(lambda: _core.MemoryRecords(["a"], pieces, table).take(order), [table])


@race("MemoryRecords.take")
def _taken_from_memory(path: Path) -> Race:
    pieces, table = in_memory()
    records, order = _core.MemoryRecords(["a"], pieces, table), numbers()
    return Race(lambda: records.take(order), [order])


@race("Dataset.__new__")
def _listed(path: Path) -> Race:
    file_of(path)
    size = (path / "x.tfrecord").stat().st_size
    listed = np.array([[size, COUNT]], np.uint64)

    def read() -> Any:
        dataset = _core.Dataset([path / "x.tfrecord"], listed=listed, mapped=1)
        return dataset.take(np.arange(10, dtype=np.uint64))

    return Race(read, [listed])


@race("Schema.gather")
def _gather(path: Path) -> Race:
    dataset, order = file_of(path), numbers()
    schema = _core.Schema(plan_example({"a": fastrec.FixedLenFeature((), np.int64)}))
    return Race(lambda: schema.gather(dataset, order), [order])


def row_layout(values: NDArray[Any], splits: NDArray[Any], pieces: NDArray[Any]) -> Any:
    """Return a layout of one row per document of 20 tokens."""
    rows = np.arange(len(pieces) + 1, dtype=np.uint32)
    return _core.RowLayout(pieces, rows, 32, len(pieces), [((values, splits), True)])


def documents() -> list[NDArray[Any]]:
    """Return values, splits, and a piece of each document, of `row_layout`."""
    pieces = np.zeros((100, 3), np.uint32)
    pieces[:, 0], pieces[:, 2] = np.arange(100), 20
    return [np.ones(COUNT, np.int64), np.arange(101, dtype=np.int64) * 20, pieces]


@race("RowLayout.__new__")
def _layout(_: Path) -> Race:
    arrays = documents()

    def call() -> Any:
        layout = row_layout(*arrays)
        return layout.tokens(np.uint16, 0), layout.segments(), layout.loss(), layout.boundaries()

    return Race(call, arrays)


@race("RowLayout.aligned")
def _aligned(_: Path) -> Race:
    layout, splits = row_layout(*documents()), np.arange(101, dtype=np.int64) * 20
    weights = np.ones(COUNT, np.float32)
    return Race(lambda: layout.aligned(weights, splits, 0), [weights, splits])


@race("pad_strings")
def _pad_strings(_: Path) -> Race:
    data, offsets = np.full(COUNT * 8, 49, np.uint8), np.arange(COUNT + 1, dtype=np.int64) * 8
    splits = np.arange(101, dtype=np.int64) * (COUNT // 100)
    arrays: list[NDArray[Any]] = [data, offsets, splits]
    return Race(lambda: _core.pad_strings(data, offsets, splits, 40, b"-"), arrays)


@race("string_objects")
def _string_objects(_: Path) -> Race:
    block = strings()
    return Race(
        lambda: _core.string_objects(block.data, block.offsets), [block.data, block.offsets]
    )


@race("RowPlan.__new__")
def _row_plan(_: Path) -> Race:
    lengths = np.full(COUNT, 20, np.uint32)
    return Race(lambda: _core.RowPlan(lengths, length=64, fit="best", overlong="drop"), [lengths])


@race("Draws.__new__", "Subset.__new__")
def _draws(_: Path) -> Race:
    weights, chosen = np.ones(COUNT), numbers()
    return Race(lambda: (_core.Draws(weights), _core.Subset(chosen, COUNT)), [weights, chosen])


@race("FileIndex.bounds")
def _bounds(path: Path) -> Race:
    index, order = file_of(path).index_of(0), numbers()
    return Race(lambda: index.bounds(order), [order])


@race("FileIndex.load")
def _load(path: Path) -> Race:
    data = np.frombuffer(bytes(memoryview(file_of(path).index_of(0).save())), np.uint8).copy()
    return Race(lambda: _core.FileIndex.load(data.data), [data])


@race("read_pieces")
def _pieces(path: Path) -> Race:
    (path / "raw").write_bytes(bytes(COUNT))
    pieces = np.zeros(10, _core.PIECE)
    pieces["size"] = 8
    pieces["crc"] = fastrec.crc32c(bytes(8))
    fds, out = np.array([-1], np.intc), np.zeros(80, np.uint8)
    words = pieces.view(np.uint8)
    return Race(lambda: _core.read_pieces(pieces, fds, out, ["raw"]), [words, out])


def of_image(name: str, call: Callable[[Any], Any], kind: str) -> None:
    """Register a race of a call that takes the bytes of one encoded image."""

    def build(_: Path) -> Race:
        data = images(kind, copies=1).data
        return Race(lambda: call(data), [data])

    RACES[name] = build


@race("is_tar")
def _is_tar(_: Path) -> Race:
    head = np.frombuffer(tarfile.TarInfo("a.jpg").tobuf(), np.uint8).copy()
    return Race(lambda: _core.is_tar(head), [head])


of_image("jpeg_header", _core.jpeg_header, "JPEG")
of_image("decode_jpeg", lambda data: _core.decode_jpeg(data, 3), "JPEG")
of_image("decode_bmp", _core.decode_bmp, "BMP")
of_image("decode_png", lambda data: _core.decode_png(data, 3), "PNG")


@race("decode_images")
def _decode_images(_: Path) -> Race:
    block = images("JPEG")
    return Race(
        lambda: _core.decode_images(block.data, block.offsets, 3), [block.data, block.offsets]
    )


def of_images(kind: str) -> None:
    """Register races of calls that take the bytes of several encoded images."""

    @race(f"decode_images of {kind}")
    def _decode(_: Path) -> Race:
        block = images(kind)
        return Race(
            lambda: _core.decode_images(block.data, block.offsets, 3), [block.data, block.offsets]
        )

    @race(f"Preprocessor.images of {kind}", f"Preprocessor.pixels of {kind}")
    def _preprocess(_: Path) -> Race:
        block = images(kind)
        feature = fastrec.ImageFeature((8, 8), fit="resize")
        return Race(lambda: feature.decode(block), [block.data, block.offsets])


of_images("PNG")
of_images("BMP")
of_images("TIFF")


@race("png_rows_of_16_bits")
def _deep_rows(_: Path) -> Race:
    block = images("PNG")
    return Race(
        lambda: _core.png_rows_of_16_bits(block.data, block.offsets), [block.data, block.offsets]
    )


@race("Schema.parse")
def _parse(_: Path) -> Race:
    block = examples()
    features = {
        "a": fastrec.FixedLenFeature((), np.int64),
        "b": fastrec.RaggedFeature(bytes),
    }
    return Race(lambda: fastrec.parse_example(block, features), [block.data, block.offsets])


@race("Survey.add")
def _survey(_: Path) -> Race:
    block = examples()
    return Race(lambda: _core.Survey().add(block), [block.data, block.offsets])


@race("EventParser.parse")
def _events(_: Path) -> Race:
    block = examples()
    return Race(lambda: _core.EventParser().parse(block), [block.data, block.offsets])


@race("RecordWriter.write_many", "deal")
def _write(path: Path) -> Race:
    block = strings()

    def write() -> None:
        for shards in (None, 3):
            with fastrec.Writer(path / "y.tfrecord", shards=shards, fsync=False) as writer:
                writer.write_many(block)

    return Race(write, [block.data, block.offsets])


@race("Values.encode_all")
def _encode(_: Path) -> Race:
    block = strings()
    values = np.arange(3 * COUNT)
    splits = np.arange(COUNT + 1, dtype=np.int64) * 3
    columns = {"s": block, "r": fastrec.Ragged(values, splits)}
    return Race(
        lambda: fastrec.encode_examples(columns), [block.data, block.offsets, values, splits]
    )


@race("arrow_column")
def _arrow(_: Path) -> Race:
    block = strings()
    return Race(lambda: _core.arrow_column(block), [block.data, block.offsets])


def array_functions() -> Iterator[str]:
    """Return the functions of the extensions that take an array or other memory of the caller."""
    package = Path(_core.__file__).parent
    stubs = [ast.parse((package / name).read_text()) for name in ("_core.pyi", "_tensor.pyi")]
    for node in [node for stub in stubs for node in stub.body]:
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for member in members:
            if not isinstance(member, ast.FunctionDef):
                continue
            own = member.args
            arguments = [*own.args, *own.kwonlyargs, *([own.vararg] if own.vararg else [])]
            kinds = [ast.unparse(a.annotation) for a in arguments if a.annotation]
            if any(re.search(r"\b(NDArray|Bytes|Buffer)\b", kind) for kind in kinds):
                yield prefix + member.name


# These keep the array as it is, because their results are views of it.
KEPT = {
    "Schema.lend",
    "Masked.__init__",
    "exchange",
    "ArrowNode.__new__",
    "View.__new__",
    "RecordSpans.__new__",
    "Spans.__new__",
    "as_records",
}


def test_every_function_that_takes_an_array_is_raced() -> None:
    raced = {name.split(" of ")[0].split(" by ")[0].split(" to ")[0] for name in RACES}
    assert set(array_functions()) - KEPT == raced & set(array_functions())


def spoil(arrays: list[NDArray[Any]], stop: threading.Event) -> None:
    """Write huge, negative and random numbers to the arrays, and the right ones again."""
    right = [array.copy() for array in arrays]
    draw = np.random.default_rng(1)
    while not stop.is_set():
        for array, numbers in zip(arrays, right, strict=True):
            raw = array.reshape(-1)
            words = raw.view(np.uint8)
            raw[::7] = raw.dtype.type(1) if raw.dtype == np.bool_ else draw.permutation(raw)[::7]
            words[draw.integers(0, len(words), 9)] = draw.integers(0, 256, 9)
            if raw.itemsize == 8:
                raw.view(np.int64)[:: max(1, len(raw) // 5)] = 1 << 44
            array[...] = numbers


@pytest.mark.parametrize("name", sorted(RACES))
def test_writing_to_an_array_during_the_call_harms_nothing_else(name: str, tmp_path: Path) -> None:
    race = RACES[name](tmp_path)
    race.call()
    stop = threading.Event()
    thread = threading.Thread(target=spoil, args=(race.arrays, stop))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(Exception):
                race.call()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not thread.is_alive()
