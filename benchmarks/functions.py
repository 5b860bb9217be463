# SPDX-License-Identifier: Apache-2.0
"""Plain functions, beside TensorFlow's: every kind of feature, and every format of images.

    pip install tensorflow opencv-python-headless pillow && python benchmarks/functions.py [NAME...]

Each row of the tables below is a function of a batch, or of one record or image, and the fastest
equivalent of the peers: TensorFlow, and OpenCV and Pillow for images. Both sides take turns in one
process, with one thread each. The figures are processor time, the least of `ROUNDS` turns, so
other programs on the machine do not count. A name selects the rows that begin with it. Rows below
`GOAL` times the speed of the peer are listed again at the end.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import numpy as np
import tensorflow as tf
from PIL import Image

import fastrec

ROUNDS, LEAST, GOAL = 5, 0.02, 2.0  # turns, seconds of one turn, and the speed to reach
RECORDS = 1024
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
    draw = np.random.default_rng(2)
    records = [
        fastrec.encode_example({"at": list(range(4)), "x": values_of("float32", 4, draw)})
        for _ in range(RECORDS)
    ]
    mine = fastrec.SparseFeature("at", "x", np.float32, 10)
    other = io_.SparseFeature("at", "x", tf.float32, 10)
    return [*rows, example_row("parse_example indexed sparse", records, mine, other)]


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
    """TensorFlow has no function of a batch here; its messages are made one by one."""
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
    return rows


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
    peers: dict[str, Call] = {"pillow": lambda: np.asarray(Image.open(io.BytesIO(data)))}
    if kind in DECODERS:
        peers["tensorflow"] = lambda: DECODERS[kind](tensor)
    if kind != "gif":
        peers["opencv"] = lambda: cv2.imdecode(block, cv2.IMREAD_UNCHANGED)
    feature = fastrec.ImageFeature(image.shape[:2], channels=1 if image.ndim == 2 else 3)
    several = {key: lambda peer=peer: [peer() for _ in range(16)] for key, peer in peers.items()}
    return [
        (f"ImageFeature.decode {kind} {name}", lambda: feature.decode([data]), peers),
        (f"ImageFeature.decode {kind} {name}, 16", lambda: feature.decode([data] * 16), several),
    ]


def least(calls: list[Call]) -> list[float]:
    """Seconds of processor time that each takes."""
    counts = []
    for call in calls:
        call()
        begin = time.process_time()
        call()
        counts.append(max(1, int(LEAST / max(time.process_time() - begin, 1e-6))))
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, (call, count) in enumerate(zip(calls, counts, strict=True)):
            begin = time.process_time()
            for _ in range(count):
                call()
            best[place] = min(best[place], (time.process_time() - begin) / count)
    return best


TABLES = (example_rows, sequence_rows, raw_rows, encode_rows, image_rows)


def main(wanted: list[str]) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    cv2.setNumThreads(1)
    gc.disable()
    below = []
    print("| function | ours, us | fastest peer, us | | ratio |\n|---|--:|--:|---|--:|")
    for table in TABLES:
        for name, ours, peers in table():
            if wanted and not any(name.startswith(each) for each in wanted):
                continue
            mine, *others = least([ours, *peers.values()])
            peer, other = min(zip(peers, others, strict=True), key=lambda pair: pair[1])
            ratio = other / mine
            line = f"| {name} | {1e6 * mine:.1f} | {1e6 * other:.1f} | {peer} | {ratio:.1f} |"
            print(line, flush=True)
            if ratio < GOAL:
                below.append(line)
    print(f"\nBelow {GOAL} times the fastest peer:\n")
    print("\n".join(below) or "no row")


if __name__ == "__main__":
    main(sys.argv[1:])
