# SPDX-License-Identifier: Apache-2.0
"""Compare every operation of the drop-in module for TensorFlow 2 with TensorFlow's.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/operations.py [WORD...]

``operations.txt`` has the calls, at the sizes of input pipelines. Each is run eagerly and in a
`map`. Both sides take turns on one processor, which the process is bound to. A row has the quotient
of TensorFlow's processor time and ours, by the least of `ROUNDS` turns, then our time. ``eager``
and ``map`` select a way, ``below`` the rows whose quotient is below `GOAL`, and other words the
calls that contain one of them. ``coverage`` times nothing: it names the operations that no call
reaches.
"""

from __future__ import annotations

import base64
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import sys
import tempfile
import time
import wave
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from PIL import Image

import fastrec
from fastrec.compat._tf import ops

ROUNDS, LEAST, GOAL = 4, 0.004, 0.9  # turns, seconds of one turn, and the speed to reach
WAYS = ("eager", "map")
CALLS = Path(__file__).with_name("operations.txt")
#: Operations left out of the coverage, with the reason.
NOT_CALLED = {
    "Flat": "prepares dense operands of unicode_encode; a reshape",
    "Parts": "takes values of version 1's graphs apart; runs nothing",
    "TensorArray": "makes an array without elements",
    **dict.fromkeys(("Rank", "Shape", "Size"), "is a constant where the shape is known"),
}
Values = dict[str, Any]
Turn = Callable[[int], Any]


def photograph(side: int) -> Any:
    """Return a smooth image with some noise, as uint8."""
    draw = np.random.default_rng(side)
    coarse = Image.fromarray(draw.integers(0, 256, (9, 12, 3), np.uint8))
    smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(np.int64)
    return np.clip(smooth + draw.integers(-6, 7, smooth.shape), 0, 255).astype(np.uint8)


def file_of(pixels: Any, kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def values_of(folder: str) -> Values:
    """Return the arrays and strings that the calls use, by name."""
    draw = np.random.default_rng(0)
    pixels = photograph(224)
    corners = draw.random((2000, 2), np.float32) * 0.8
    boxes = np.concatenate([corners, corners + draw.random((2000, 2), np.float32) * 0.2], 1)
    squares = draw.random((256, 8, 8), np.float32)
    squares = squares @ squares.transpose(0, 2, 1) + 4 * np.eye(8, dtype=np.float32)
    samples = np.sin(np.arange(16_000, dtype=np.float32) / 9)
    lengths = draw.integers(1, 128, 256).astype(np.int32)
    text = "the quick brown fox jumps over the lazy dog, 12 times a day"
    raw = pixels.tobytes()
    values: Values = {
        "pixels": pixels,
        "image": pixels.astype(np.float32),
        "unit": pixels.astype(np.float32) / 300 + 0.01,
        "images": draw.random((8, 112, 112, 3), np.float32),
        "mask": pixels[..., 0] > 100,
        "rows": draw.random((256, 128), np.float32) + 0.01,
        "tokens": draw.integers(0, 30_000, 1_000_000).astype(np.int32),
        "values": draw.random(1_000_000, np.float32),
        "ids": draw.integers(0, 1000, 10_000).astype(np.int32),
        "permutation": draw.permutation(10_000).astype(np.int32),
        "borders": np.linspace(0, 1, 100, dtype=np.float32),
        "places": np.argwhere(pixels[..., 0] > 100).astype(np.int32),
        "segments": np.sort(draw.integers(0, 32, 256)).astype(np.int32),
        "long_segments": np.sort(draw.integers(0, 1000, 1_000_000)).astype(np.int32),
        "unsorted": draw.integers(0, 1000, 1_000_000).astype(np.int32),
        "lengths": lengths,
        "row_lengths": np.full(250, 4, np.int64),
        "squares": squares,
        "small": draw.random((3, 3), np.float32),
        "wide": draw.random((3, 65_536), np.float32),
        "kernel": draw.random((3, 3, 3, 1), np.float32),
        "transforms": np.array([[1.9, 0.1, 3, -0.1, 1.9, 5, 0, 0]] * 8, np.float32),
        "spectrum": (draw.random((256, 128)) + 1j * draw.random((256, 128))).astype(np.complex64),
        "samples": samples,
        "boxes": boxes,
        "some_boxes": boxes[:64].reshape(8, 8, 4),
        "scores": draw.random(2000, np.float32),
        "overlaps": draw.random((500, 500), np.float32),
        "words": np.array([f" name{n % 977} " for n in range(10_000)], object),
        "numbers": np.array([f"{n * 0.37:.3f}" for n in range(10_000)], object),
        "whole": np.array([f"{n * 37}" for n in range(10_000)], object),
        "sentences": np.array([text] * 1000, object),
        "tokens_of_text": np.array(text.split() * 100, object),
        "lines": np.array([f"{n * 0.37:.3f},{n},name{n}" for n in range(1000)], object),
        "raw": raw,
        "compressed": zlib.compress(raw),
        "encoded": base64.urlsafe_b64encode(raw).rstrip(b"="),
        "wav": wav_of(samples),
        **{kind: file_of(pixels, kind) for kind in ("bmp", "gif", "jpeg", "png")},
        "json": json.dumps({"features": {"feature": {"x": {"floatList": {"value": [1.5] * 64}}}}}),
        "path": os.path.join(folder, "bytes"),
    }
    values["places_values"] = draw.random(len(values["places"]), np.float32)
    values["examples"] = np.array(
        [
            fastrec.encode_example({"a": draw.random(16, np.float32), "b": [n], "c": [b"x" * 20]})
            for n in range(256)
        ],
        object,
    )
    Path(values["path"]).write_bytes(raw)
    return values


def wav_of(samples: Any) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes((samples * 30_000).astype("<i2").tobytes())
    return file.getvalue()


def tensors_of(tf: Any, values: Values) -> Values:
    """Return the values as tensors of one side, with those that only a side can make.

    Strings come from records, as they do in input pipelines.
    """
    tensors = {}
    for name, value in values.items():
        tensors[name] = tf.constant(value)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            rows = value.tolist()
            record = fastrec.encode_example(
                {"x": [row.encode() if isinstance(row, str) else row for row in rows]}
            )
            feature = {"x": tf.io.FixedLenFeature([len(rows)], tf.string)}
            tensors[name] = tf.io.parse_single_example(record, feature)["x"]
    rows = tensors["rows"]
    tensors["ragged"] = tf.RaggedTensor.from_row_lengths(
        tensors["tokens"][: int(values["lengths"].sum())], tensors["lengths"]
    )
    tensors["sparse"] = tf.sparse.from_dense(tf.where(rows < 0.1, rows, 0.0))
    indices = np.stack([np.arange(2000) // 8, np.arange(2000) % 8], 1)
    ids = np.sort(values["tokens"][:2000].reshape(-1, 8)).reshape(-1)
    tensors["sparse_ids"] = tf.SparseTensor(indices, tf.constant(ids), [250, 8])
    tensors["strings"] = tf.SparseTensor(indices, tensors["words"][:2000], [250, 8])
    tensors["serialized"] = tf.io.serialize_tensor(tensors["image"])
    return tensors


def call_of(tf: Any, call: str, tensors: Values) -> tuple[Callable[..., Any], list[str]]:
    """Return the function of a call, and the names of the tensors that it takes."""
    code = compile(call, call, "eval")
    names = [name for name in tensors if name in code.co_names]
    features = {
        "a": tf.io.FixedLenFeature([16], tf.float32),
        "b": tf.io.FixedLenFeature([], tf.int64),
        "c": tf.io.VarLenFeature(tf.string),
    }
    space = {"tf": tf, "features": features}
    return eval(f"lambda {', '.join(names)}: {call}", space), names


def eager(tf: Any, call: str, tensors: Values) -> Turn:
    function, names = call_of(tf, call, tensors)
    operands = [tensors[name] for name in names]

    def turn(count: int) -> Any:
        for _ in range(count):
            result = function(*operands)
        return result

    return turn


def mapped(tf: Any, call: str, tensors: Values) -> Turn:
    function, names = call_of(tf, call, tensors)
    operands = tuple(tensors[name] for name in names)
    source = tf.data.Dataset.from_tensors(operands or (0,)).repeat()
    if not tf.__name__.startswith("fastrec"):  # which works ahead in the turns of the other side
        options = tf.data.Options()
        options.autotune.enabled = False
        source = source.with_options(options)

    def element(*values: Any) -> Any:
        result = function(*values[: len(operands)])
        return (0,) if result is None else result

    elements = iter(source.map(element))

    def turn(count: int) -> Any:
        for _ in range(count):
            result = next(elements)
        return result

    return turn


WAY: dict[str, Callable[..., Turn]] = {"eager": eager, "map": mapped}


def least(turns: list[Turn]) -> list[float]:
    """Return the seconds of processor time that one step of each takes."""
    counts = []
    for turn in turns:
        turn(1)
        count, taken = 1, 0.0
        while True:
            begin = time.process_time()
            turn(count)
            taken = time.process_time() - begin
            if taken >= LEAST:
                break
            count = max(count + 1, int(count * min(8.0, 1.2 * LEAST / max(taken, 1e-6))))
        counts.append(count)
    best = [float("inf")] * len(turns)
    for _ in range(ROUNDS):
        for place, (turn, count) in enumerate(zip(turns, counts, strict=True)):
            begin = time.process_time()
            turn(count)
            best[place] = min(best[place], (time.process_time() - begin) / count)
    return best


def calls(words: list[str]) -> list[str]:
    lines = [line for line in CALLS.read_text().splitlines() if line and line[0] != "#"]
    return [line for line in lines if not words or any(word in line for word in words)]


def coverage(values: Values) -> None:
    """Print the operations that no call runs, and the calls that fail."""
    made: set[str] = set()
    reached: set[str] = set()
    construct = ops.Op.__init__

    def noted(self: Any, name: str, kernel: Callable[..., Any], *rest: Any, **named: Any) -> None:
        @functools.wraps(kernel)
        def counted(*operands: Any, **attributes: Any) -> Any:
            reached.add(name)
            return kernel(*operands, **attributes)

        made.add(name)
        construct(self, name, counted, *rest, **named)

    ops.Op.__init__ = noted  # type: ignore[method-assign]
    import fastrec.compat.v2 as tf

    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        importlib.import_module(module.name)
    tensors = tensors_of(tf, values)
    for call in calls([]):
        try:
            function, names = call_of(tf, call, tensors)
            function(*(tensors[name] for name in names))
        except Exception as error:
            print(f"{call}: {type(error).__name__}: {error}")
    missing = sorted(made - reached - NOT_CALLED.keys())
    print(f"{len(made)} operations, {len(missing)} without a call: {' '.join(missing)}")


def main(words: list[str]) -> None:
    options = {word for word in words if word in {*WAY, "below", "coverage"}}
    words = [word for word in words if word not in options]
    with tempfile.TemporaryDirectory() as folder:
        values = values_of(folder)
        if "coverage" in options:
            coverage(values)
        else:
            compare(words, options, values)


def compare(words: list[str], options: set[str], values: Values) -> None:
    """Print a row for each call and way, and the geometric mean of the quotients."""
    import tensorflow

    import fastrec.compat.v2 as ours

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    sides = [(tf, tensors_of(tf, values)) for tf in (ours, tensorflow)]
    quotients: list[float] = []
    gc.disable()
    for call in calls(words):
        for way in [way for way in WAY if way in options] or WAY:
            try:
                mine, other = least([WAY[way](tf, call, tensors) for tf, tensors in sides])
            except Exception as error:
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                print(f"       -               {way:6}{call}  {text[:120]}", flush=True)
                continue
            quotients.append(other / mine)
            if "below" not in options or quotients[-1] < GOAL:
                print(f"{quotients[-1]:8.2f} {1e6 * mine:10.1f} us  {way:6}{call}", flush=True)
        gc.collect()
    slower = sum(quotient < GOAL for quotient in quotients)
    mean = float(np.exp(np.mean(np.log(quotients)))) if quotients else 0.0
    print(f"{len(quotients)} rows, geometric mean {mean:.2f}, {slower} below {GOAL}")


if __name__ == "__main__":
    main(sys.argv[1:])
