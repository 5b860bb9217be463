# SPDX-License-Identifier: Apache-2.0
"""The calls of `_tensor`'s functions for `shared_arrays.RACES`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shared_arrays import COUNT, Race, of_strings, over, pixels, race, strings

import fastrec
from fastrec import _tensor

of_strings("every_string", lambda d, o: _tensor.every_string(d, o, 0, 2))
of_strings("cut_strings", lambda d, o: _tensor.cut_strings(d, o, b",", False, False), 40, True)
of_strings("cut_csv", lambda d, o: _tensor.cut_csv(d, o, 44, True, True), 40, True)
of_strings("read_numbers", lambda d, o: _tensor.read_numbers(d, o, np.dtype("f4")))
of_strings(
    "read_numbers of a column", lambda d, o: _tensor.read_numbers(d, o, np.dtype("i8"), 1, 3)
)
over(
    "change_colours",
    lambda i, a: _tensor.change_colours(i, "hue", a),
    pixels,
    lambda: np.ones(4, np.float32),
)
over("mirror", _tensor.mirror, pixels)
over("resize", lambda i: _tensor.resize(i, 20, 20), pixels)
over(
    "change_pixels",
    lambda i, v: _tensor.change_pixels(i[0], b"\0\2", v),
    pixels,
    lambda: np.ones((2, 3), np.float32),
)
over("elementwise", lambda x: _tensor.elementwise("exp", x), lambda: np.ones(COUNT, np.float32))
over(
    "warp",
    lambda i, t, f: _tensor.warp(i, t, 32, 32, "reflect", f, bilinear=True),
    pixels,
    lambda: np.tile(np.array([1, 0, 0, 0, 1, 0, 0, 0], np.float32), (4, 1)),
    lambda: np.zeros(3, np.float32),
)
over(
    "warp to the nearest",
    lambda i, t, f: _tensor.warp(i, t, 32, 32, "constant", f),
    pixels,
    lambda: np.tile(np.array([1, 0, 0, 0, 1, 0, 0, 0], np.float32), (4, 1)),
    lambda: np.zeros(3, np.float32),
)
over(
    "depthwise",
    lambda i, w: _tensor.depthwise(i, w, (30, 30)),
    pixels,
    lambda: np.ones((3, 3, 3, 1), np.float32),
)
over("power", _tensor.power, lambda: np.ones(COUNT, np.float32), lambda: np.ones(COUNT, np.float32))
over("from_halves", _tensor.from_halves, lambda: np.ones(COUNT, np.float16))
over("to_halves", _tensor.to_halves, lambda: np.ones(COUNT, np.float32))
over(
    "select",
    _tensor.select,
    lambda: np.ones(COUNT, np.bool_),
    lambda: np.ones(COUNT),
    lambda: np.zeros(COUNT),
)
over(
    "extremes",
    lambda x: _tensor.extremes(x, 1, 2, greatest=True, places=True),
    lambda: np.ones((40, 50), np.float32),
)
over("join_channels", lambda a, b: _tensor.join_channels([a, b]), pixels, pixels)
over("encode_jpeg", lambda p: _tensor.encode_jpeg(p[0]), lambda: pixels(np.uint8))
over("encode_png", lambda p: _tensor.encode_png(p[0]), lambda: pixels(np.uint8))
over(
    "philox_draw",
    lambda s: _tensor.philox_draw(0, np.float32, s, 8),
    lambda: np.ones((COUNT, 3), np.uint64),
)
over(
    "philox_classes",
    lambda s, x: _tensor.philox_classes(s, x, 8),
    lambda: np.ones((4, 3), np.uint64),
    lambda: np.zeros((4, 5, 6)),
)
over(
    "philox_gammas",
    lambda s, x: _tensor.philox_gammas(s, x, 8),
    lambda: np.ones((4, 3), np.uint64),
    lambda: np.ones((4, 5)),
)
for hash_name in ("farm", "murmur", "sip"):
    of_strings(
        f"hashes {hash_name}",
        lambda d, o, name=hash_name: _tensor.hashes(name, fastrec.Bytes(d, o)),
    )


def bytes_of(name: str, call: Callable[[fastrec.Bytes], Any], byte: int = 49) -> None:
    """Register a race of a call that takes strings of this byte."""
    of_strings(name, lambda data, offsets: call(fastrec.Bytes(data, offsets)), byte=byte)


bytes_of("strip_texts", _tensor.strip_texts, byte=32)
bytes_of("take_parts", lambda texts: _tensor.take_parts(texts, 1, 3))
bytes_of(
    "take_parts of characters",
    lambda texts: _tensor.take_parts(texts, -3, 2, characters=True),
    byte=0xC3,
)
bytes_of("count_characters", _tensor.count_characters, byte=0xC3)
bytes_of("join_texts", lambda texts: _tensor.join_texts([texts, texts], b"-"))
bytes_of("number_texts", _tensor.number_texts)
bytes_of("encode_base64", lambda texts: _tensor.encode_base64(texts, pad=True))
bytes_of("decode_base64", _tensor.decode_base64, byte=65)
bytes_of("decode_utf8", _tensor.decode_utf8)
bytes_of("Strings.__new__", _tensor.Strings)
bytes_of("hashes", lambda texts: _tensor.hashes("farm", texts))
over(
    "join_text_rows",
    lambda d, o, s: _tensor.join_text_rows(fastrec.Bytes(d, o), s, b", "),
    lambda: strings().data,
    lambda: strings().offsets,
    lambda: np.arange(101, dtype=np.int64) * (COUNT // 100),
)
over(
    "encode_utf8",
    _tensor.encode_utf8,
    lambda: np.full(COUNT, 233, np.int32),
    lambda: np.arange(101, dtype=np.int64) * (COUNT // 100),
)
over("spell_integers", _tensor.spell_integers, lambda: np.arange(COUNT))
for kind in ("Sum", "Prod", "Min", "Max"):
    over(
        f"combine_segments by {kind}",
        lambda rows, ids, kind=kind: _tensor.combine_segments(kind, rows, ids, 50),
        lambda: np.ones((COUNT, 3), np.float32),
        lambda: np.arange(COUNT) % 50,
    )
over("count_segments", lambda ids: _tensor.count_segments(ids, 50), lambda: np.arange(COUNT) % 50)
over(
    "split_segments",
    lambda rows, ids: _tensor.split_segments(rows, ids, 50),
    lambda: np.ones((COUNT, 3), np.float32),
    lambda: np.arange(COUNT) % 50,
)
over(
    "crop_boxes",
    lambda images, boxes, rows: _tensor.crop_boxes(images, boxes, rows, (8, 8)),
    pixels,
    lambda: np.tile(np.array([0.1, 0.1, 0.9, 0.9], np.float32), (9, 1)),
    lambda: np.arange(9, dtype=np.int32) % 4,
)
over(
    "outline",
    _tensor.outline,
    pixels,
    lambda: np.tile(np.array([0.1, 0.1, 0.9, 0.9], np.float32), (4, 9, 1)),
    lambda: np.ones((2, 3), np.float32),
)
over(
    "pool",
    lambda images: _tensor.pool(images, (3, 3), (16, 16), strides=(2, 2), corner=(0, 0)),
    pixels,
)
over(
    "suppress",
    lambda scores, boxes: _tensor.suppress(scores, 50, 0.5, 0.0, 0.5, boxes=boxes),
    lambda: np.linspace(0, 1, 100, dtype=np.float32),
    lambda: np.random.default_rng(0).random((100, 4)).astype(np.float32),
)
over(
    "suppress by overlaps",
    lambda scores, overlaps: _tensor.suppress(scores, 50, 0.5, 0.0, overlaps=overlaps),
    lambda: np.linspace(0, 1, 100, dtype=np.float32),
    lambda: np.random.default_rng(0).random((100, 100)).astype(np.float32),
)
over("histogram", lambda x: _tensor.histogram(x, 0.0, 1.0, 9), lambda: np.linspace(0, 1, COUNT))
over("largest", lambda x: _tensor.largest(x, 5), lambda: np.ones((40, 50), np.float32))
over("special", lambda x: _tensor.special("lgamma", x), lambda: np.ones(COUNT))


@race("Formula.__call__", "Formula.shape_of")
def _formula(_: Path) -> Race:
    formula = _tensor.Formula(("float32", "float32"), [("add", 0, 1, 2)], [(2, False)])
    own = [np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)]
    return Race(lambda: formula(own), list(own))


@race("PixelSteps.__new__")
def _steps(_: Path) -> Race:
    values = np.ones((2, 3), np.float32)
    return Race(lambda: _tensor.PixelSteps(b"\0\2", values, 3), [values])
