# SPDX-License-Identifier: Apache-2.0
"""Every library that may inflate gives the same records, errors and checkpoints."""

from __future__ import annotations

import gzip
import random
import sys
import types
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import _core
from fastrec.records import checkpoints, compression, inflate

LIBRARIES = sorted({zlib, compression.inflater_library()}, key=lambda module: module.__name__)


@pytest.fixture(params=LIBRARIES, ids=lambda module: module.__name__)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    for module in (inflate, checkpoints):
        monkeypatch.setattr(module, "inflater_library", lambda: request.param)
    return request.param


def text_of(ratio: int, size: int, seed: int) -> bytes:
    """Return bytes that deflate roughly `ratio` times."""
    draw = random.Random(seed)
    if ratio == 1:
        return draw.randbytes(size)
    word = bytes(draw.choices(range(256), k=8))
    letters = max(2, 256 >> ratio)
    body = bytes(draw.choices(range(letters), k=max(size // ratio, 1)))
    return (body + word * (size // 8 + 1))[:size]


def deflated(kind: str, level: int, strategy: int, members: list[bytes]) -> bytes:
    if kind == "ZLIB":
        members = [b"".join(members)]
    bits = 31 if kind == "GZIP" else 15
    packed = b""
    for member in members:
        stream = zlib.compressobj(level, zlib.DEFLATED, bits, 8, strategy)
        packed += stream.compress(member) + stream.flush()
    return packed


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@given(
    shapes=st.lists(
        st.tuples(st.sampled_from([1, 2, 3, 4, 6, 30]), st.integers(0, 1 << 20)),
        min_size=1,
        max_size=6,
    ),
    members=st.integers(1, 3),
    level=st.integers(0, 9),
    strategy=st.sampled_from([zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_FIXED]),
    seed=st.integers(0, 1 << 30),
)
def test_an_intact_file_of_any_size_and_ratio_is_read_completely(
    library: Any,
    kind: str,
    tmp_path: Path,
    shapes: list[tuple[int, int]],
    members: int,
    level: int,
    strategy: int,
    seed: int,
) -> None:
    records = [text_of(ratio, size, seed + i) for i, (ratio, size) in enumerate(shapes)]
    frames = b"".join(map(_core.frame, records))
    cuts = [len(frames) * i // members for i in range(members + 1)]
    pieces = [frames[a:b] for a, b in pairwise(cuts)]
    path = tmp_path / "file.gz"
    path.write_bytes(deflated(kind, level, strategy, pieces))
    assert list(fastrec.Reader(path)) == records
    assert fastrec.verify(path).records == len(records)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_output_beyond_one_call_of_every_ratio_is_read_completely(
    library: Any, kind: Any, tmp_path: Path
) -> None:
    draw = random.Random(1)
    for ratio in (2, 4, 16, 250):
        for _ in range(5):
            block = draw.randbytes(5000 // ratio)
            records = [block * ratio] * draw.randrange(200, 1500)
            path = tmp_path / "file"
            path.write_bytes(deflated(kind, 1, 0, [b"".join(map(_core.frame, records))]))
            assert fastrec.count(path) == len(records)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_file_of_fastrecs_own_writer_is_read_completely(
    library: Any, kind: Any, tmp_path: Path
) -> None:
    for count in range(1000, 12_000, 700):
        path = tmp_path / f"{count}"
        texts = [f"hello world {i}" * 20 for i in range(count)]
        with fastrec.Writer(path, compression=kind) as writer:
            writer.write_batch({"text": texts})
        assert sum(1 for _ in fastrec.Reader(path)) == count


@pytest.mark.parametrize("size", [0, 1, 7, 8, 11])
def test_a_stream_that_ends_within_its_trailer_is_truncated(
    library: Any, size: int, tmp_path: Path
) -> None:
    packed = gzip.compress(_core.frame(b"x" * 3_000_000))
    path = tmp_path / "file.gz"
    path.write_bytes(packed[: len(packed) - size])
    if size == 0:
        assert len(list(fastrec.Reader(path))) == 1
        return
    with pytest.raises(fastrec.TruncatedFileError):
        list(fastrec.Reader(path))


def fresh_choice() -> Any:
    return compression.inflater_library.__wrapped__()


def test_zlib_inflates_where_isal_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    assert fresh_choice() is zlib


def test_zlib_inflates_where_isal_loses_bytes_behind_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lossy:
        unused_data = b""

        def decompress(self, data: bytes) -> bytes:
            return b""

    old = types.ModuleType("isal_zlib")
    old.decompressobj = lambda bits: Lossy()  # type: ignore[attr-defined]
    package = types.ModuleType("isal")
    package.isal_zlib = old  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "isal", package)
    assert fresh_choice() is zlib
