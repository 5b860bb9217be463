# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from .columns import Bytes

_Data = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.int64]

@final
class Strings:
    def __new__(cls, strings: Bytes) -> Self: ...

def hashes(
    function: str, texts: Bytes | list[bytes], key: Sequence[int] = (0, 0)
) -> npt.NDArray[np.uint64]: ...
def every_string(
    data: _Data, offsets: _Offsets, first: int, step: int
) -> tuple[_Data, _Offsets]: ...
def cut_strings(
    data: _Data, offsets: _Offsets, marks: bytes, skip_empty: bool, skip_nothing: bool
) -> tuple[_Data, _Offsets, _Offsets]: ...
def cut_csv(
    data: _Data, offsets: _Offsets, delimiter: int, quoted: bool, lines: bool, last: bool = True
) -> tuple[_Data, _Offsets, _Offsets, int]: ...
def read_numbers(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    dtype: np.dtype[Any],
    first: int = 0,
    step: int = 1,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]: ...
def change_colours(
    images: npt.NDArray[np.float32], change: str, amounts: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.float32]: ...
def mirror(images: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
def resize(
    images: npt.NDArray[Any],
    height: int,
    width: int,
    method: str = "bilinear",
    *,
    antialias: bool = False,
    align_corners: bool = False,
    half_pixel_centers: bool = True,
    scale: float = 1.0,
    mirror: bool = False,
    changes: bytes = b"",
    values: npt.NDArray[np.float32] | None = None,
    out: npt.NDArray[np.float32] | None = None,
) -> npt.NDArray[np.float32]: ...

PIXEL_CHANGES: tuple[str, ...]

@final
class PixelSteps:
    def __new__(
        cls, changes: bytes, values: npt.NDArray[np.float32] | None, channels: int
    ) -> Self: ...

@final
class Formula:
    def __new__(
        cls,
        types: Sequence[str],
        steps: Sequence[tuple[Any, ...]],
        results: Sequence[tuple[int, bool]],
    ) -> Self: ...
    def shape_of(self, arrays: list[npt.NDArray[Any]]) -> tuple[int, ...] | None: ...
    def __call__(
        self, arrays: list[npt.NDArray[Any]], into: npt.NDArray[Any] | None = None
    ) -> tuple[npt.NDArray[Any], ...] | None: ...

FORMULA_STEPS: dict[str, int]

def change_pixels(
    image: npt.NDArray[Any],
    changes: bytes,
    values: npt.NDArray[np.float32] | None,
    *,
    mirror: bool = False,
    out: npt.NDArray[np.float32] | None = None,
) -> npt.NDArray[np.float32]: ...
def elementwise(
    function: str, x: npt.NDArray[np.float32], row: int = 0
) -> npt.NDArray[np.float32]: ...
def warp(
    images: npt.NDArray[Any],
    transforms: npt.NDArray[np.float32],
    height: int,
    width: int,
    mode: str,
    fill: npt.NDArray[Any],
    *,
    bilinear: bool = False,
) -> npt.NDArray[Any]: ...
def depthwise(
    images: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    size: tuple[int, int],
    *,
    strides: tuple[int, int] = (1, 1),
    steps: tuple[int, int] = (1, 1),
    corner: tuple[int, int] = (0, 0),
) -> npt.NDArray[np.float32]: ...
def suppress(
    scores: npt.NDArray[np.float32],
    most: int,
    limit: float,
    least: float,
    sigma: float = 0.0,
    *,
    boxes: npt.NDArray[Any] | None = None,
    overlaps: npt.NDArray[Any] | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def crop_boxes(
    images: npt.NDArray[Any],
    boxes: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    size: tuple[int, int],
    *,
    nearest: bool = False,
    outside: float = 0.0,
) -> npt.NDArray[np.float32]: ...
def combine_segments(
    kind: str, rows: npt.NDArray[Any], ids: npt.NDArray[Any], count: int
) -> npt.NDArray[Any]: ...
def count_segments(ids: npt.NDArray[Any], limit: int) -> npt.NDArray[np.int64]: ...
def split_segments(
    rows: npt.NDArray[Any], ids: npt.NDArray[Any], count: int
) -> list[npt.NDArray[Any]]: ...
def histogram(
    numbers: npt.NDArray[Any], low: float, high: float, bins: int
) -> npt.NDArray[np.int64]: ...
def outline(
    images: npt.NDArray[np.float32], boxes: npt.NDArray[Any], colours: npt.NDArray[Any]
) -> None: ...
def largest(x: npt.NDArray[Any], most: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]: ...
def pool(
    images: npt.NDArray[np.float32],
    window: tuple[int, int],
    size: tuple[int, int],
    *,
    strides: tuple[int, int] = (1, 1),
    corner: tuple[int, int] = (0, 0),
) -> npt.NDArray[np.float32]: ...
def strip_texts(texts: Bytes) -> Bytes: ...
def take_parts(texts: Bytes, start: int, size: int, *, characters: bool = False) -> Bytes: ...
def count_characters(texts: Bytes) -> npt.NDArray[np.int32]: ...
def join_texts(
    columns: list[Bytes], separator: bytes
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def join_text_rows(
    texts: Bytes, splits: npt.NDArray[np.int64], separator: bytes
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def number_texts(texts: Bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def encode_base64(texts: Bytes, *, pad: bool) -> Bytes: ...
def decode_base64(texts: Bytes) -> Bytes: ...
def decode_utf8(
    texts: Bytes,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def encode_utf8(points: npt.NDArray[np.int32], splits: npt.NDArray[np.int64]) -> Bytes: ...
def spell_integers(numbers: npt.NDArray[Any]) -> Bytes: ...
def special(function: str, *operands: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
def power(
    x: npt.NDArray[np.float32], powers: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]: ...
def from_halves(x: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]: ...
def select(
    conditions: npt.NDArray[np.bool_], x: npt.NDArray[Any], y: npt.NDArray[Any]
) -> npt.NDArray[Any]: ...
def extremes(
    x: npt.NDArray[Any], begin: int, end: int, *, greatest: bool, places: bool = False
) -> npt.NDArray[Any]: ...
def to_halves(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float16]: ...
def join_channels(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]: ...
def encode_jpeg(
    pixels: npt.NDArray[np.uint8],
    quality: int = 95,
    *,
    progressive: bool = False,
    optimize: bool = False,
    subsampling: bool = True,
    density_unit: int = 1,
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes: ...
def encode_png(pixels: npt.NDArray[np.uint8], level: int = -1, *, bits: int = 8) -> bytes: ...

DISTRIBUTIONS: tuple[str, ...]

def philox_draw(
    distribution: int,
    dtype: npt.DTypeLike,
    starts: npt.NDArray[np.uint64],
    count: int,
    low: int = 0,
    size: int = 0,
) -> npt.NDArray[Any]: ...
def philox_classes(
    starts: npt.NDArray[np.uint64], logits: npt.NDArray[np.floating[Any]], count: int
) -> npt.NDArray[np.int64]: ...
def philox_gammas(
    starts: npt.NDArray[np.uint64], shapes: npt.NDArray[np.float64], count: int
) -> npt.NDArray[np.float64]: ...
