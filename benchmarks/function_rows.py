# SPDX-License-Identifier: Apache-2.0
"""The rows of functions.py: calls of public functions, and the equal calls of peers.

The first word of a row is the public function, without ``fastrec.``. `UNMEASURED` has the reason of
each public function without a row; a test compares both with the package.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tensorflow as tf
from PIL import Image

import fastrec

RECORDS = 1024
FOLDER = tempfile.TemporaryDirectory()  # of the images in files
Call = Callable[[], Any]
Row = tuple[str, Call, dict[str, Call]]  # name, ours, and the peers'

io_ = tf.io
NUMBERS = {"int64": (np.int64, tf.int64), "float32": (np.float32, tf.float32)}
DTYPES = {**NUMBERS, "bytes": (bytes, tf.string)}


def values_of(dtype: str, count: int, draw: Any, size: int = 8) -> list[Any]:
    if dtype == "int64":
        return draw.integers(0, 50_000, count).tolist()  # type: ignore[no-any-return]
    if dtype == "float32":
        return draw.random(count, np.float32).tolist()  # type: ignore[no-any-return]
    return [draw.bytes(size) for _ in range(count)]


def example_rows() -> list[Row]:
    rows: list[Row] = []
    for name, size in {**dict.fromkeys(NUMBERS, 8), "bytes": 8, "long bytes": 3000}.items():
        dtype = name.removeprefix("long ")
        ours, theirs = DTYPES[dtype]
        few = 4 if size == 8 else 1
        draw = np.random.default_rng(1)
        even = [
            fastrec.encode_example({"x": values_of(dtype, few, draw, size)}) for _ in range(RECORDS)
        ]
        uneven = [
            fastrec.encode_example({"x": values_of(dtype, int(draw.integers(2 * few)), draw, size)})
            for _ in range(RECORDS)
        ]
        pairs = {
            "fixed": (even, fastrec.FixedLenFeature(few, ours), io_.FixedLenFeature([few], theirs)),
            "sparse": (uneven, fastrec.VarLenFeature(ours), io_.VarLenFeature(theirs)),
            "ragged": (uneven, fastrec.RaggedFeature(ours), io_.RaggedFeature(theirs)),
            "padded": (
                uneven,
                fastrec.FixedLenSequenceFeature((), ours, allow_missing=True),
                io_.FixedLenSequenceFeature([], theirs, allow_missing=True),
            ),
        }
        for kind, (records, mine, other) in pairs.items():
            rows.append(example_row(f"parse_example {kind} {name}", records, mine, other))
            rows.append(single_row(f"parse_single_example {kind} {name}", records[1], mine, other))
        if size > 8:
            rows.append(ceiling_row("parse_example", strings_of(uneven), rows[-4]))
    return [*rows, *other_example_rows()]


def strings_of(records: list[bytes]) -> list[bytes]:
    return fastrec.parse_example(records, {"x": fastrec.VarLenFeature(bytes)})["x"].values.to_list()  # type: ignore[no-any-return]


def ceiling_row(function: str, strings: list[bytes], row: Row) -> Row:
    """Return a row of the least that a function can take: one copy of the strings."""
    return (
        f"{function} ceiling, join of {row[0].split(' ', 1)[1]}",
        lambda: b"".join(strings),
        row[2],
    )


def other_example_rows() -> list[Row]:
    """Return rows of indexed and raw features, converted dtypes, and records in a Bytes."""
    draw = np.random.default_rng(2)
    records = [
        fastrec.encode_example({"at": list(range(4)), "x": values_of("float32", 4, draw)})
        for _ in range(RECORDS)
    ]
    indexed = fastrec.SparseFeature("at", "x", np.float32, 10)
    theirs = io_.SparseFeature("at", "x", tf.float32, 10)
    rows = [
        example_row("parse_example indexed sparse", records, indexed, theirs),
        single_row("parse_single_example indexed sparse", records[1], indexed, theirs),
    ]
    for dtype in ("int32", "uint8", "bool", "float64", "float16"):
        is_float = dtype.startswith("float")
        stored = "float32" if is_float else "int64"
        limit = 2 if dtype == "bool" else 200
        values = [draw.integers(0, limit, 4) for _ in range(RECORDS)]
        records = [fastrec.encode_example({"x": each.astype(stored)}) for each in values]
        rows += cast_rows(dtype, records, io_.FixedLenFeature([4], DTYPES[stored][1]))
    fixed, records = fastrec.FixedLenFeature(4, np.float32), records
    tensor, block = tf.constant(records), fastrec.Bytes.from_list(records)
    spec = {"x": io_.FixedLenFeature([4], tf.float32)}
    many = {"tensorflow": lambda: io_.parse_example(tensor, spec)}
    call = lambda: fastrec.parse_example(block, {"x": fixed}, threads=1)  # noqa: E731
    rows.append(("parse_example fixed float32 of Bytes", call, many))
    for dtype, size in (("uint8", 3072), ("float32", 16)):
        arrays = [draw.integers(0, 99, size).astype(dtype) for _ in range(RECORDS)]
        records = [fastrec.encode_example({"x": each.tobytes()}) for each in arrays]
        rows += raw_example_rows(f"raw {dtype} of {size}", records, size, dtype)
    return rows


def cast_rows(dtype: str, records: list[bytes], spec: Any) -> list[Row]:
    mine = {"x": fastrec.FixedLenFeature(4, dtype)}
    batch, one = tf.constant(records), tf.constant(records[0])
    cast = lambda parsed: tf.cast(parsed["x"], dtype)  # noqa: E731
    many = {"tensorflow": lambda: cast(io_.parse_example(batch, {"x": spec}))}
    single = {"tensorflow": lambda: cast(io_.parse_single_example(one, {"x": spec}))}
    return [
        (
            f"parse_example fixed {dtype}",
            lambda: fastrec.parse_example(records, mine, threads=1),
            many,
        ),
        (
            f"parse_single_example fixed {dtype}",
            lambda: fastrec.parse_single_example(records[0], mine),
            single,
        ),
    ]


def raw_example_rows(name: str, records: list[bytes], size: int, dtype: str) -> list[Row]:
    mine = {"x": fastrec.RawFeature((size,), dtype)}
    spec = {"x": io_.FixedLenFeature([], tf.string)}
    batch, one = tf.constant(records), tf.constant(records[0])
    decode = lambda parsed: io_.decode_raw(parsed["x"], dtype)  # noqa: E731
    return [
        (
            f"parse_example {name}",
            lambda: fastrec.parse_example(records, mine, threads=1),
            {"tensorflow": lambda: decode(io_.parse_example(batch, spec))},
        ),
        (
            f"parse_single_example {name}",
            lambda: fastrec.parse_single_example(records[0], mine),
            {"tensorflow": lambda: decode(io_.parse_single_example(one, spec))},
        ),
    ]


def example_row(name: str, records: list[bytes], mine: Any, other: Any) -> Row:
    tensor = tf.constant(records)
    return (
        name,
        lambda: fastrec.parse_example(records, {"x": mine}, threads=1),
        {"tensorflow": lambda: io_.parse_example(tensor, {"x": other})},
    )


def single_row(name: str, record: bytes, mine: Any, other: Any) -> Row:
    tensor = tf.constant(record)
    return (
        name,
        lambda: fastrec.parse_single_example(record, {"x": mine}),
        {"tensorflow": lambda: io_.parse_single_example(tensor, {"x": other})},
    )


def sequence_rows() -> list[Row]:
    rows: list[Row] = []
    for name, (dtype, width, size) in {
        "tokens": ("int64", 1, 0),
        "frames of 16 floats": ("float32", 16, 0),
        "short strings": ("bytes", 1, 8),
        "frames of bytes": ("bytes", 1, 3000),
    }.items():
        draw = np.random.default_rng(3)
        records = []
        for _ in range(RECORDS if size < 100 else RECORDS // 16):
            steps = int(draw.integers(5, 61))
            frames = [values_of(dtype, width, draw, size) for _ in range(steps)]
            records.append(fastrec.encode_sequence_example({}, {"x": frames}))
        ours, theirs = DTYPES[dtype]
        shape = () if width == 1 else (width,)
        pairs = {
            "padded": (
                fastrec.FixedLenSequenceFeature(shape, ours),
                io_.FixedLenSequenceFeature(shape, theirs),
            ),
            "ragged": (fastrec.RaggedFeature(ours), io_.RaggedFeature(theirs)),
            "sparse": (fastrec.VarLenFeature(ours), io_.VarLenFeature(theirs)),
        }
        for kind, (mine, other) in pairs.items():
            rows += both_sequence_rows(f"{kind} {name}", records, mine, other)
        if size > 8:
            strings = fastrec.parse_sequence_example(records, None, {"x": pairs["ragged"][0]})
            frames = strings[1]["x"].values.values.to_list()
            rows += [ceiling_row("parse_sequence_example", frames, rows[at]) for at in (-6, -4)]
    return rows


def both_sequence_rows(name: str, records: list[bytes], mine: Any, other: Any) -> list[Row]:
    batch, one = tf.constant(records), tf.constant(records[0])
    many = {"tensorflow": lambda: io_.parse_sequence_example(batch, None, {"x": other})}
    single = {"tensorflow": lambda: io_.parse_single_sequence_example(one, None, {"x": other})}
    return [
        (
            f"parse_sequence_example {name}",
            lambda: fastrec.parse_sequence_example(records, None, {"x": mine}),
            many,
        ),
        (
            f"parse_single_sequence_example {name}",
            lambda: fastrec.parse_single_sequence_example(records[0], None, {"x": mine}),
            single,
        ),
    ]


def raw_rows() -> list[Row]:
    rows: list[Row] = []
    for name, (count, size) in {"large": (1024, 3072), "small": (20_000, 16)}.items():
        draw = np.random.default_rng(4)
        strings = [draw.bytes(size) for _ in range(count)]
        array = np.empty(count, object)
        array[:] = strings
        tensor, column = tf.constant(strings), fastrec.Bytes.from_list(strings)
        for dtype in ("uint8", "float32"):
            listed: dict[str, Call] = {
                "tensorflow": lambda s=strings, d=dtype: io_.decode_raw(s, d),
                "join": lambda s=strings: b"".join(s),
            }
            held: dict[str, Call] = {"tensorflow": lambda t=tensor, d=dtype: io_.decode_raw(t, d)}
            for kind, given in {"list": strings, "objects": array, "Bytes": column}.items():
                row = f"decode_raw {name} {kind} {dtype}"
                call = lambda g=given, d=dtype: fastrec.decode_raw(g, d)  # noqa: E731
                rows.append((row, call, held if kind == "Bytes" else listed))
        peers = {
            "fixed_length": lambda s=strings: io_.decode_raw(s, tf.uint8, fixed_length=24),
            "big-endian": lambda s=strings: io_.decode_raw(s, tf.float32, False),
        }
        mine = {
            "fixed_length": lambda s=strings: fastrec.decode_raw(s, np.uint8, fixed_length=24),
            "big-endian": lambda s=strings: fastrec.decode_raw(s, np.float32, False),
        }
        for kind, call in mine.items():
            rows.append((f"decode_raw {name} {kind}", call, {"tensorflow": peers[kind]}))
    return rows


def encode_rows() -> list[Row]:
    """Return rows of encoding. TensorFlow makes the messages of a batch one by one."""
    draw = np.random.default_rng(5)
    train = tf.train
    lists = {
        "int64": lambda v: train.Feature(int64_list=train.Int64List(value=v)),
        "float32": lambda v: train.Feature(float_list=train.FloatList(value=v)),
        "bytes": lambda v: train.Feature(bytes_list=train.BytesList(value=v)),
    }
    rows: list[Row] = []
    for dtype, feature in lists.items():
        values = values_of(dtype, 64, draw)
        column: Any = (
            fastrec.Bytes.from_list(values) if dtype == "bytes" else np.array(values, dtype)
        )

        def message(values: Any, feature: Any = feature) -> bytes:
            example = train.Example(features=train.Features(feature={"x": feature(values)}))
            return example.SerializeToString()  # type: ignore[no-any-return]

        one = {"tensorflow": lambda m=message, v=values: m(v)}
        many = {"tensorflow": lambda m=message, v=values: [m([each]) for each in v]}
        rows += [
            (f"encode_example {dtype}", lambda v=values: fastrec.encode_example({"x": v}), one),
            (
                f"encode_examples {dtype} of {len(values)}",
                lambda c=column: fastrec.encode_examples({"x": c}, threads=1),
                many,
            ),
        ]
    return [*rows, *encode_sequence_rows()]


def encode_sequence_rows() -> list[Row]:
    draw = np.random.default_rng(7)
    train = tf.train
    rows: list[Row] = []
    for name, (dtype, width) in {"tokens": ("int64", 1), "frames": ("float32", 16)}.items():
        frames = [values_of(dtype, width, draw) for _ in range(30)]

        def message(frames: Any = frames, dtype: Any = dtype) -> bytes:
            if dtype == "int64":
                made = [train.Feature(int64_list=train.Int64List(value=each)) for each in frames]
            else:
                made = [train.Feature(float_list=train.FloatList(value=each)) for each in frames]
            lists = train.FeatureLists(feature_list={"x": train.FeatureList(feature=made)})
            return train.SequenceExample(feature_lists=lists).SerializeToString()  # type: ignore[no-any-return]

        call = lambda f=frames: fastrec.encode_sequence_example({}, {"x": f})  # noqa: E731
        rows.append((f"encode_sequence_example 30 {name}", call, {"tensorflow": message}))
    return rows


def column_rows() -> list[Row]:
    """Return rows of methods of columns, compared with those of tensors."""
    draw = np.random.default_rng(8)
    splits = np.concatenate([[0], np.cumsum(draw.integers(0, 64, RECORDS))])
    order = draw.permutation(RECORDS)
    rows: list[Row] = []
    for dtype in ("int64", "float32"):
        values = draw.integers(0, 50_000, int(splits[-1])).astype(dtype)
        ragged, theirs = (
            fastrec.Ragged(values, splits),
            tf.RaggedTensor.from_row_splits(values, splits),
        )
        lengths = np.diff(splits)
        places = np.arange(len(values)) - np.repeat(splits[:-1], lengths)
        indices = np.stack([np.repeat(np.arange(RECORDS), lengths), places], axis=1)
        shape = (RECORDS, 64)
        sparse, other = (
            fastrec.Sparse(indices, values, shape),
            tf.SparseTensor(indices, values, shape),
        )
        rows += [
            (f"pad {dtype}", lambda r=ragged: fastrec.pad(r), {"tensorflow": theirs.to_tensor}),
            (f"Sparse.to_dense {dtype}", sparse.to_dense,
             {"tensorflow": lambda o=other: tf.sparse.to_dense(o)}),
            (f"Ragged.to_list {dtype}", ragged.to_list, {"tensorflow": theirs.to_list}),
        ]  # fmt: skip
    for name, (count, size) in {"large": (RECORDS, 3072), "small": (RECORDS, 16)}.items():
        strings = [draw.bytes(size) for _ in range(count)]
        column, tensor = fastrec.Bytes.from_list(strings), tf.constant(strings)
        rows += [
            (f"Bytes.from_list {name}", lambda s=strings: fastrec.Bytes.from_list(s),
             {"tensorflow": lambda s=strings: tf.constant(s),
              "join": lambda s=strings: b"".join(s)}),
            (f"Bytes.take {name}", lambda c=column: c.take(order),
             {"tensorflow": lambda t=tensor: tf.gather(t, order)}),
            (f"Bytes.to_numpy {name}", column.to_numpy, {"tensorflow": tensor.numpy}),
            (f"Bytes.to_list {name}", column.to_list,
             {"tensorflow": lambda t=tensor: t.numpy().tolist()}),
        ]  # fmt: skip
    pixels = draw.integers(0, 99, RECORDS * 16).astype(np.uint8)
    arrays = fastrec.Arrays(pixels, np.arange(RECORDS + 1) * 16, np.full((RECORDS, 2), 4))
    theirs = tf.RaggedTensor.from_nested_row_splits(
        pixels, [np.arange(RECORDS + 1) * 4, np.arange(4 * RECORDS + 1) * 4]
    )
    return [
        *rows,
        (
            "Arrays.take",
            lambda: arrays.take(order),
            {"tensorflow": lambda: tf.gather(theirs, order)},
        ),
        ("Arrays.to_list", arrays.to_list, {"tensorflow": theirs.to_list}),
    ]


def images() -> dict[str, Any]:
    """A noisy photograph, one of CIFAR-10's size, and a drawing of few colours."""
    draw = np.random.default_rng(6)

    def photograph(side: int) -> Any:
        coarse = Image.fromarray(draw.integers(0, 256, (9, 12, 3), np.uint8))
        smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(int)
        return np.clip(smooth + draw.integers(-6, 7, smooth.shape), 0, 255).astype(np.uint8)

    drawing = np.full((512, 512, 3), 255, np.uint8)
    for _ in range(40):
        top, left = draw.integers(0, 480, 2)
        drawing[top : top + 30, left : left + 90] = draw.integers(0, 256, 3)
    return {"32 px": photograph(32), "256 px": photograph(256), "drawing": drawing}


DECODERS = {"png": io_.decode_png, "bmp": io_.decode_bmp, "jpeg": io_.decode_jpeg,
            "gif": io_.decode_gif}  # fmt: skip


def image_rows() -> list[Row]:
    rows: list[Row] = []
    for name, image in images().items():
        for kind in ("png", "bmp", "jpeg", "gif", "webp", "tiff"):
            rows += rows_of_format(name, image, kind)
            if kind == "png":
                rows += rows_of_format(f"{name} grey", image[..., 0], kind)
    return rows


def rows_of_format(name: str, image: Any, kind: str) -> list[Row]:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind)
    data = file.getvalue()
    tensor, block = tf.constant(data), np.frombuffer(data, np.uint8)
    mode = "L" if image.ndim == 2 else "RGB"
    peers: dict[str, Call] = {
        "pillow": lambda: np.asarray(Image.open(io.BytesIO(data)).convert(mode))
    }
    if kind in DECODERS:
        peers["tensorflow"] = lambda: DECODERS[kind](tensor)
    if kind != "gif":
        peers["opencv"] = lambda: cv2.imdecode(block, cv2.IMREAD_UNCHANGED)
    feature = fastrec.ImageFeature(image.shape[:2], channels=1 if image.ndim == 2 else 3)
    several = {key: lambda peer=peer: [peer() for _ in range(16)] for key, peer in peers.items()}
    whole = [] if image.ndim == 2 else [file_row(name, data, kind)]
    return [
        *whole,
        (f"ImageFeature.decode {kind} {name}", lambda: feature.decode([data]), peers),
        (f"ImageFeature.decode {kind} {name}, 16", lambda: feature.decode([data] * 16), several),
    ]


def file_row(name: str, data: bytes, kind: str) -> Row:
    path = Path(FOLDER.name) / f"{name}.{kind}"
    path.write_bytes(data)
    file = str(path)
    peers: dict[str, Call] = {"pillow": lambda: np.asarray(Image.open(file).convert("RGB"))}
    if kind in DECODERS:
        peers["tensorflow"] = lambda: DECODERS[kind](io_.read_file(file))
    if kind != "gif":
        peers["opencv"] = lambda: cv2.imread(file, cv2.IMREAD_UNCHANGED)
    return f"image.decode {kind} {name}", lambda: fastrec.image.decode(file), peers


TABLES = (example_rows, sequence_rows, raw_rows, encode_rows, column_rows, image_rows)

MEASURED = "are measured by `fastrec bench`"
FILES = "work on whole files, which `fastrec bench` measures"
NO_PEER = "have no counterpart in the peers"
ONCE = "are called once in a program"
INTERNAL = ("ImageFeature.decode_rows",)  # called by the workers of a Batcher
UNMEASURED = {
    **dict.fromkeys(("count", "parse_many", "repair", "reshard", "verify"), FILES),
    **dict.fromkeys(("convert", "tables.scan", "image.write_directory"), FILES),
    **dict.fromkeys(("crc32c", "masked_crc32c"), MEASURED + ", next to google-crc32c"),
    **dict.fromkeys(("arrow.batch", "arrow.table"), "wrap columns without a copy, and " + NO_PEER),
    **dict.fromkeys(("file_ranges", "infer_features", "headroom", "image.inspect"), NO_PEER),
    **dict.fromkeys(("crc32c_implementation", "find_shard", "show_versions"), ONCE),
    **dict.fromkeys(("image.decoders", "image.find"), ONCE),
    **dict.fromkeys(("Arrays.count", "Arrays.index", "Bytes.count", "Bytes.index"),
                    "loop over the items, as those of every Sequence"),
    **dict.fromkeys(("Ragged.count", "Ragged.index"),
                    "loop over the items, as those of every Sequence"),
    **dict.fromkeys(("Arrays.pin_memory", "Bytes.pin_memory", "Ragged.pin_memory",
                     "Sparse.pin_memory"), "return the column itself"),
    **dict.fromkeys(("events.follow", "events.histograms", "events.images", "events.scalars",
                     "events.tags"), FILES),
    **dict.fromkeys(("tfds.even_splits", "tfds.info", "tfds.is_prepared",
                     "tfds.split_for_jax_process"), ONCE),
    **dict.fromkeys(("tfds.load", "tfds.write"), "are measured by tfds_sets.py"),
    **dict.fromkeys(("tfds.from_lerobot", "tfds.to_lerobot"), FILES),
    "tfds.lerobot_features": ONCE,
}  # fmt: skip
