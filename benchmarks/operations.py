# SPDX-License-Identifier: Apache-2.0
"""Single operations of image programs, under TensorFlow and the drop-in modules.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/operations.py [NAME...]

Each operation is run eagerly, in a `map` and by version 1's `Session.run`, on images of three sizes
and two types. Both sides take turns on one processor, which the process is bound to; what is told
is how many times as long TensorFlow took, by the least of `ROUNDS` turns, and how long that was
here. A name selects the operations that begin with it; ``eager``, ``map`` and ``session`` select
ways, ``32``, ``224`` and ``512`` sizes.
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

import numpy as np
import tensorflow
from PIL import Image

import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours2

ROUNDS, LEAST = 4, 0.002  # turns, and seconds that one takes at least
SIZES = ((32, 32), (224, 224), (512, 682))
BOTH = ("uint8", "float32")
FLOATS = ("float32",)
WAYS = ("eager", "map", "session")
Function = Callable[[Any, Any], Any]  # of the module and the image
Way = Callable[..., Callable[[int], Any]]  # of both modules, the function and its value

METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian")


def _resize(method: str, up: bool, antialias: bool = False) -> Function:
    def function(tf: Any, x: Any) -> Any:
        size = [n * 3 // 2 if up else n * 4 // 7 for n in x.shape[:2]]
        resize = tf.image.resize
        how = {"antialias": True} if antialias else {}
        return resize(x, size, method=method, **how)

    return function


def _cut(x: Any) -> tuple[int, int, int, int]:
    height, width = int(x.shape[0]), int(x.shape[1])
    return height // 8, width // 8, height // 2, width // 2


def _around(x: Any) -> tuple[int, int, int, int]:
    height, width = int(x.shape[0]), int(x.shape[1])
    return 4, 5, height + 10, width + 12


def _reduce(name: str, axis: Any) -> Function:
    return lambda tf, x: getattr(tf, f"reduce_{name}")(x, axis)


def _image(name: str, *arguments: Any) -> Function:
    return lambda tf, x: getattr(tf.image, name)(x, *arguments)


def _raw(kind: str) -> Function:
    return lambda tf, x: tf.io.decode_raw(x, kind)


def _math(name: str) -> Function:
    return lambda tf, x: getattr(tf.math, name)(x)


IMAGES: dict[str, tuple[tuple[str, ...], Function]] = {
    **{f"resize {m} up": (BOTH, _resize(m, True)) for m in METHODS[:4]},
    **{f"resize {m} down": (BOTH, _resize(m, False)) for m in METHODS[:4]},
    **{f"resize {m} antialias": (FLOATS, _resize(m, False, True)) for m in METHODS if m != "area"},
    "crop_to_bounding_box": (BOTH, lambda tf, x: tf.image.crop_to_bounding_box(x, *_cut(x))),
    "pad_to_bounding_box": (BOTH, lambda tf, x: tf.image.pad_to_bounding_box(x, *_around(x))),
    "central_crop": (BOTH, _image("central_crop", 0.875)),
    "resize_with_crop_or_pad": (
        BOTH,
        lambda tf, x: tf.image.resize_with_crop_or_pad(x, x.shape[0] + 8, x.shape[1] - 8),
    ),
    "flip_left_right": (BOTH, _image("flip_left_right")),
    "flip_up_down": (BOTH, _image("flip_up_down")),
    "rot90": (BOTH, _image("rot90")),
    "rot180": (BOTH, _image("rot90", 2)),
    "image.transpose": (BOTH, _image("transpose")),
    "transpose chw": (BOTH, lambda tf, x: tf.transpose(x, [2, 0, 1])),
    "adjust_brightness": (BOTH, _image("adjust_brightness", 0.1)),
    "adjust_contrast": (BOTH, _image("adjust_contrast", 1.3)),
    "adjust_gamma": (BOTH, _image("adjust_gamma", 0.8)),
    "adjust_hue": (BOTH, _image("adjust_hue", 0.1)),
    "adjust_saturation": (BOTH, _image("adjust_saturation", 1.3)),
    "rgb_to_grayscale": (BOTH, _image("rgb_to_grayscale")),
    "rgb_to_hsv": (FLOATS, _image("rgb_to_hsv")),
    "hsv_to_rgb": (FLOATS, _image("hsv_to_rgb")),
    "per_image_standardization": (BOTH, _image("per_image_standardization")),
    "convert uint8": (FLOATS, lambda tf, x: tf.image.convert_image_dtype(x, tf.uint8)),
    "convert uint8 saturate": (
        FLOATS,
        lambda tf, x: tf.image.convert_image_dtype(x, tf.uint8, saturate=True),
    ),
    "convert float32": (("uint8",), lambda tf, x: tf.image.convert_image_dtype(x, tf.float32)),
    "convert float16": (("uint8",), lambda tf, x: tf.image.convert_image_dtype(x, tf.float16)),
    "cast float32": (("uint8", "int32", "int64", "float16"), lambda tf, x: tf.cast(x, tf.float32)),
    "cast uint8": (("float32", "int32", "int64"), lambda tf, x: tf.cast(x, tf.uint8)),
    "cast int32": (BOTH, lambda tf, x: tf.cast(x, tf.int32)),
    "cast int64": (BOTH, lambda tf, x: tf.cast(x, tf.int64)),
    "cast float16": (BOTH, lambda tf, x: tf.cast(x, tf.float16)),
    "cast float64": (BOTH, lambda tf, x: tf.cast(x, tf.float64)),
    "cast bool": (BOTH, lambda tf, x: tf.cast(x, tf.bool)),
    "saturate_cast uint8": (FLOATS, lambda tf, x: tf.saturate_cast(x, tf.uint8)),
    "pad": (BOTH, lambda tf, x: tf.pad(x, [[4, 4], [5, 5], [0, 0]])),
    "pad reflect": (BOTH, lambda tf, x: tf.pad(x, [[4, 4], [5, 5], [0, 0]], "REFLECT")),
    "slice": (BOTH, lambda tf, x: x[4:-4, 5:-5, :]),
    "slice strided": (BOTH, lambda tf, x: x[::2, ::2, :]),
    "slice backward": (BOTH, lambda tf, x: x[..., ::-1]),
    "tile": (BOTH, lambda tf, x: tf.tile(x, [2, 1, 1])),
    "tile channels": (BOTH, lambda tf, x: tf.tile(x[..., :1], [1, 1, 3])),
    "concat rows": (BOTH, lambda tf, x: tf.concat([x, x], 0)),
    "concat channels": (BOTH, lambda tf, x: tf.concat([x, x], -1)),
    "stack": (BOTH, lambda tf, x: tf.stack([x, x])),
    "stack last": (BOTH, lambda tf, x: tf.stack([x, x], -1)),
    "unstack": (BOTH, lambda tf, x: tf.unstack(x, axis=-1)),
    "split": (BOTH, lambda tf, x: tf.split(x, 3, axis=-1)),
    "reverse": (BOTH, lambda tf, x: tf.reverse(x, [1])),
    "reshape": (BOTH, lambda tf, x: tf.reshape(x, [-1])),
    "expand_dims": (BOTH, lambda tf, x: tf.expand_dims(x, 0)),
    "clip_by_value": (BOTH, lambda tf, x: tf.clip_by_value(x, 20, 200)),
    "add number": (BOTH, lambda tf, x: x + 3),
    "subtract means": (FLOATS, lambda tf, x: x - tf.constant([123.7, 116.8, 103.9])),
    "multiply number": (BOTH, lambda tf, x: x * 2),
    "divide number": (FLOATS, lambda tf, x: x / 255.0),
    "add images": (BOTH, lambda tf, x: x + x),
    "multiply images": (BOTH, lambda tf, x: x * x),
    "maximum": (BOTH, lambda tf, x: tf.maximum(x, 100)),
    "floordiv": (BOTH, lambda tf, x: x // 3),
    "floormod": (BOTH, lambda tf, x: x % 7),
    "pow number": (FLOATS, lambda tf, x: tf.pow(x, 0.8)),
    "pow 2": (FLOATS, lambda tf, x: x**2.0),
    "pow images": (FLOATS, lambda tf, x: tf.pow(x, x * 0.01)),
    "less": (BOTH, lambda tf, x: x < 100),
    "equal": (BOTH, lambda tf, x: tf.equal(x, 100)),
    "logical_and": (BOTH, lambda tf, x: tf.logical_and(x > 20, x < 200)),
    "where number": (BOTH, lambda tf, x: tf.where(x < 100, x, tf.zeros_like(x))),
    "where mask": (FLOATS, lambda tf, x: tf.where(x < 100.0, x, x * 2.0)),
    "where scalar": (BOTH, lambda tf, x: tf.where(x[0, 0, 0] < 300, x, x)),
    "where places": (BOTH, lambda tf, x: tf.where(x < 20)),
    **{n: (FLOATS, _math(n)) for n in ("abs", "exp", "floor", "sqrt", "square", "tanh", "sigmoid")},
    **{n: (FLOATS, _math(n)) for n in ("negative", "round", "sin", "cos", "rsqrt", "log1p")},
    **{n: (FLOATS, _math(n)) for n in ("sign", "is_finite", "is_nan", "ceil")},
    **{f"reduce_{n}": (BOTH, _reduce(n, None)) for n in ("mean", "sum", "max", "min")},
    **{f"reduce_{n} rows": (BOTH, _reduce(n, 0)) for n in ("mean", "sum", "max")},
    **{f"reduce_{n} pixels": (BOTH, _reduce(n, [0, 1])) for n in ("mean", "sum", "max")},
    **{f"reduce_{n} channels": (BOTH, _reduce(n, -1)) for n in ("mean", "sum", "max", "prod")},
    "reduce_any": (BOTH, lambda tf, x: tf.reduce_any(x > 250, -1)),
    "reduce_all": (BOTH, lambda tf, x: tf.reduce_all(x > 250)),
    "reduce_std": (FLOATS, lambda tf, x: tf.math.reduce_std(x)),
    "gather rows": (BOTH, lambda tf, x: tf.gather(x, [3, 1, 2, 9, 5, 4, 3])),
    "gather channels": (BOTH, lambda tf, x: tf.gather(x, [2, 1, 0], axis=-1)),
    "gather_nd": (BOTH, lambda tf, x: tf.gather_nd(x, [[1, 2], [3, 4], [5, 6]])),
    "boolean_mask": (BOTH, lambda tf, x: tf.boolean_mask(x, x[..., 0] > 100)),
    "one_hot": (("uint8",), lambda tf, x: tf.one_hot(tf.cast(x[..., 0], tf.int32), 21)),
    "softmax": (FLOATS, lambda tf, x: tf.nn.softmax(x)),
    "argmax": (BOTH, lambda tf, x: tf.argmax(x, -1)),
    "argmax rows": (BOTH, lambda tf, x: tf.argmax(x, 0)),
    "sort": (FLOATS, lambda tf, x: tf.sort(x, 0)),
    "top_k": (FLOATS, lambda tf, x: tf.math.top_k(tf.reshape(x, [-1]), 5)),
    "cumsum": (FLOATS, lambda tf, x: tf.cumsum(x, 0)),
    "zeros_like": (BOTH, lambda tf, x: tf.zeros_like(x)),
    "ones_like": (BOTH, lambda tf, x: tf.ones_like(x)),
    "shape": (BOTH, lambda tf, x: tf.shape(x)),
    "size": (BOTH, lambda tf, x: tf.size(x)),
    "identity": (BOTH, lambda tf, x: tf.identity(x)),
    "broadcast_to": (FLOATS, lambda tf, x: tf.broadcast_to(x[..., :1], x.shape)),
    "matmul": (FLOATS, lambda tf, x: tf.matmul(tf.reshape(x, [-1, 3]), tf.eye(3))),
    "tensordot": (FLOATS, lambda tf, x: tf.tensordot(x, tf.eye(3), [[2], [0]])),
    "encode_png": (("uint8",), lambda tf, x: tf.io.encode_png(x)),
    "encode_jpeg": (("uint8",), lambda tf, x: tf.io.encode_jpeg(x)),
}

TEXT = b"the quick brown fox jumps over the lazy dog, 12 times a day"
# Of strings: photographs, names and numbers.
STRINGS: dict[str, tuple[str, Function]] = {
    "decode_jpeg": ("jpeg", lambda tf, x: tf.io.decode_jpeg(x)),
    "decode_jpeg 3": ("jpeg", lambda tf, x: tf.io.decode_jpeg(x, channels=3)),
    "decode_jpeg 1": ("jpeg", lambda tf, x: tf.io.decode_jpeg(x, channels=1)),
    "decode_jpeg half": ("jpeg", lambda tf, x: tf.io.decode_jpeg(x, channels=3, ratio=2)),
    "decode_jpeg accurate": (
        "jpeg",
        lambda tf, x: tf.io.decode_jpeg(x, 3, dct_method="INTEGER_ACCURATE"),
    ),
    "decode_and_crop_jpeg": (
        "jpeg",
        lambda tf, x: tf.image.decode_and_crop_jpeg(x, [4, 6, 20, 24], channels=3),
    ),
    "extract_jpeg_shape": ("jpeg", lambda tf, x: tf.image.extract_jpeg_shape(x)),
    "decode_image": ("jpeg", lambda tf, x: tf.io.decode_image(x, expand_animations=False)),
    "decode_png": ("png", lambda tf, x: tf.io.decode_png(x)),
    "decode_png 3": ("png", lambda tf, x: tf.io.decode_png(x, channels=3)),
    "decode_png 1": ("png", lambda tf, x: tf.io.decode_png(x, channels=1)),
    **{
        f"decode_raw {kind}": ("raw", _raw(kind))
        for kind in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
    },
    "length": ("text", lambda tf, x: tf.strings.length(x)),
    "substr": ("text", lambda tf, x: tf.strings.substr(x, 4, 5)),
    "lower": ("text", lambda tf, x: tf.strings.lower(x)),
    "join": ("text", lambda tf, x: tf.strings.join([x, x], "/")),
    "regex_replace": ("text", lambda tf, x: tf.strings.regex_replace(x, "[aeiou]", "*")),
    "regex_full_match": ("text", lambda tf, x: tf.strings.regex_full_match(x, ".*fox.*")),
    "reduce_join": ("names", lambda tf, x: tf.strings.reduce_join(x)),
    "string equal": ("names", lambda tf, x: tf.equal(x, "name5")),
    "to_number": ("numbers", lambda tf, x: tf.strings.to_number(x)),
    "to_number int32": ("whole", lambda tf, x: tf.strings.to_number(x, tf.int32)),
    "as_string": ("names", lambda tf, x: tf.strings.as_string(tf.size(x))),
    "to_hash_bucket_fast": ("names", lambda tf, x: tf.strings.to_hash_bucket_fast(x, 100)),
}


def image_of(height: int, width: int, dtype: str) -> Any:
    draw = np.random.default_rng(height)
    coarse = Image.fromarray(draw.integers(0, 256, (9, 12, 3), np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC)).astype(np.int64)
    noisy = np.clip(smooth + draw.integers(-6, 7, smooth.shape), 0, 255)
    return noisy.astype(dtype)


def string_of(kind: str, height: int, width: int) -> Any:
    data = io.BytesIO()
    image = image_of(height, width, "uint8")
    if kind in ("jpeg", "png"):
        Image.fromarray(image).save(data, kind)
        return data.getvalue()
    if kind == "raw":
        return image.tobytes()[: image.size // 8 * 8]
    count = height * width // 1000
    rows = {
        "names": [f"name{n}" for n in range(count)],
        "numbers": [f"{n * 0.37:.3f}" for n in range(count)],
        "whole": [f"{n * 37}" for n in range(count)],
        "text": [TEXT.decode()] * count,
    }[kind]
    return np.array(rows, object)


def eager(tf: Any, _: Any, function: Function, value: Any) -> Callable[[int], Any]:
    tensor = tf.constant(value)

    def turn(count: int) -> Any:
        for _ in range(count):
            result = function(tf, tensor)
        return result

    return turn


def mapped(tf: Any, _: Any, function: Function, value: Any) -> Callable[[int], Any]:
    source = tf.data.Dataset.from_tensors(value).repeat()
    if tf is tensorflow:  # which would work ahead in the turns of the other side
        options = tf.data.Options()
        options.autotune.enabled = False
        source = source.with_options(options)
    given = iter(source.map(lambda x: function(tf, x)))

    def turn(count: int) -> Any:
        for _ in range(count):
            result = next(given)
        return result

    return turn


def session(_: Any, tf: Any, function: Function, value: Any) -> Callable[[int], Any]:
    with tf.Graph().as_default():
        kind = tf.string if isinstance(value, bytes) or value.dtype == object else value.dtype
        fed = tf.placeholder(kind, np.shape(value))
        fetched = function(tf, fed)
        running = tf.Session()
    step = running.make_callable(fetched, [fed])

    def turn(count: int) -> Any:
        for _ in range(count):
            result = step(value)
        return result

    return turn


WAY: dict[str, Way] = {"eager": eager, "map": mapped, "session": session}


def least(turns: list[Callable[[int], Any]]) -> list[float]:
    """Seconds of processor time that a step of each takes."""
    counts = []
    for turn in turns:
        count, taken = 1, 0.0
        turn(2)
        while taken < LEAST:
            begin = time.perf_counter()
            turn(count)
            taken = time.perf_counter() - begin
            if taken < LEAST:
                count = max(count + 1, int(count * min(8.0, 1.2 * LEAST / max(taken, 1e-6))))
        counts.append(count)
    best = [float("inf")] * len(turns)
    for _ in range(ROUNDS):
        for place, (turn, count) in enumerate(zip(turns, counts, strict=True)):
            begin = time.process_time()
            turn(count)
            best[place] = min(best[place], (time.process_time() - begin) / count)
    return best


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [each for part in result for each in flat(part)]
    return [np.asarray(result)]


def apart(a: Any, b: Any) -> str:
    """How the two results differ."""
    if a.dtype.kind in "OS" and b.dtype.kind in "OS":
        return "" if a.shape == b.shape and (a == b).all() else " other strings"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f" {a.dtype}{a.shape} not {b.dtype}{b.shape}"
    if np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
        return ""
    with np.errstate(invalid="ignore"):
        most = np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64)))
    return f" apart by {most:.2g}"


def cases(wanted: list[str]) -> list[tuple[str, Function, Any]]:
    names = [w for w in wanted if w not in WAYS and not w.isdigit()]
    sizes = [size for size in SIZES if not any(map(str.isdigit, wanted)) or str(size[0]) in wanted]

    def chosen(name: str) -> bool:
        return not names or any(name.startswith(each) for each in names)

    found: list[tuple[str, Function, Any]] = []
    for name, (types, function) in IMAGES.items():
        for dtype in types if chosen(name) else ():
            for height, width in sizes:
                image = image_of(height, width, dtype)
                found.append((f"{name} {height} {dtype}", function, image))
    for name, (kind, function) in STRINGS.items():
        for height, width in sizes if chosen(name) else ():
            found.append((f"{name} {height}", function, string_of(kind, height, width)))
    return found


def main(wanted: list[str]) -> None:
    ways = [way for way in WAYS if way in wanted] or list(WAYS)
    theirs = tensorflow, tensorflow.compat.v1
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    gc.disable()
    for name, function, value in cases(wanted):
        for way in ways:
            try:
                turns = [WAY[way](*sides, function, value) for sides in ((ours2, ours1), theirs)]
                results = zip(*(flat(turn(1)) for turn in turns), strict=True)
                note = "".join(apart(*pair) for pair in results)
                ours, other = least(turns)
                print(f"{other / ours:8.2f} {1e6 * ours:10.1f} us  {way:8}{name}{note}", flush=True)
            except Exception as error:
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                print(f"       -               {way:8}{name} {text[:120]}", flush=True)
        gc.collect()


if __name__ == "__main__":
    main(sys.argv[1:])
