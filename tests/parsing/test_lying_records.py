# SPDX-License-Identifier: Apache-2.0
"""Records that lie about how many they are: sizes of C memory come from memory, not from words.

Run under AddressSanitizer too (``make sanitize-python``), which sees a byte too many.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lying import GOOD, RECORDS, Boastful, Lying, block
from numpy.typing import NDArray
from verbs import number_records

import fastrec
from fastrec import _core
from fastrec.features.spec import plan_example

A = {"a": fastrec.FixedLenFeature((), np.int64)}


def parse(records: Any) -> int:
    return len(_core.Schema(plan_example(A)).parse(records)["a"])


def parse_in_threads(records: Any) -> int:
    return len(fastrec.parse_example(records, A, threads=4)["a"])


def parse_sequence(records: Any) -> int:
    return len(fastrec.parse_sequence_example(records, context_features=A)[0]["a"])


def survey(records: Any) -> int:
    found = _core.Survey()
    found.add(records)
    return sum(next(iter(found.sightings().values()), (0,)))


def write_many(records: Any, path: Path) -> int:
    with fastrec.Writer(path, fsync=False, overwrite=True) as writer:
        writer.write_many(records)
    return fastrec.count(path)


def frames(records: Any) -> int:
    return sum(count for _, count in _core.Frames(records))


@pytest.fixture(
    params=[parse, parse_in_threads, parse_sequence, survey, write_many, frames],
    ids=lambda function: function.__name__,
)
def take(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Any], int]:
    """A way into C, and how many records came out of it."""
    if request.param is write_many:
        return lambda records: write_many(records, tmp_path / "file")
    return request.param  # type: ignore[no-any-return]


def test_a_block_is_taken_as_it_is(take: Callable[[Any], int]) -> None:
    assert take(GOOD) == 10
    assert take(GOOD[3:5]) == 2
    assert take(GOOD[3:3]) == 0


@pytest.mark.parametrize("shape", [None, (10,), (1 << 40,), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_offsets_without_an_element_are_refused(
    take: Callable[[Any], int], shape: tuple[int, ...] | None, dtype: type
) -> None:
    with pytest.raises(ValueError, match=r"offsets|dtype mismatch"):
        take(block(np.zeros(0, dtype), shape=shape or (-1,)))


def test_there_are_as_many_records_as_the_offsets_have_room_for(
    take: Callable[[Any], int],
) -> None:
    assert take(block(GOOD.offsets[:4], shape=(10,))) == 3
    assert take(block(GOOD.offsets[:1], shape=(1 << 40,))) == 0


@pytest.mark.parametrize(
    "offsets",
    [
        [0, 10, 5],
        [-1, 10],
        [0, 1 << 62],
        [0, -(1 << 63)],
        [-(1 << 63), (1 << 63) - 1],
        [1 << 40, 1 << 40],
        [0, len(GOOD.data) + 1],
    ],
    ids=str,
)
def test_offsets_outside_of_the_data_are_refused(
    take: Callable[[Any], int], offsets: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"the offsets of string \d of a Bytes, -?\d+ to -?\d+"):
        take(block(np.array(offsets)))


@pytest.mark.parametrize(
    "data",
    [
        np.zeros(0, np.uint8),
        np.zeros(3, np.uint8),
        np.zeros(10**4, np.int64),
        np.zeros((50, 9), "B"),
    ],
    ids=lambda data: f"{data.dtype}{data.shape}",
)
def test_data_shorter_than_the_offsets_say_is_refused(
    take: Callable[[Any], int], data: NDArray[Any]
) -> None:
    with pytest.raises(ValueError, match=r"offsets|Buffer"):
        take(block(GOOD.offsets, data=data))


def test_arrays_in_steps_are_taken_as_what_they_hold(take: Callable[[Any], int]) -> None:
    data, offsets = np.repeat(GOOD.data, 2)[::2], np.repeat(GOOD.offsets, 3)[::3]
    assert not data.flags.contiguous
    assert take(block(offsets, data=data)) == 10


def test_arrays_do_not_speak_for_their_memory(take: Callable[[Any], int]) -> None:
    data, offsets = GOOD.data.view(Boastful), GOOD.offsets.view(Boastful)
    assert take(block(offsets, data=data, shape=(1 << 20,))) == 10


def test_the_constructor_refuses_offsets_that_do_not_go_with_the_shape() -> None:
    with pytest.raises(ValueError, match="offsets must have at least one element, got none"):
        fastrec.Bytes(GOOD.data, np.zeros(0, np.int64))
    with pytest.raises(
        ValueError, match=r"offsets of shape \(3, 4\) must have 13 elements, got 11"
    ):
        fastrec.Bytes(GOOD.data, GOOD.offsets, (3, 4))


@pytest.mark.parametrize("said", [0, 3, 1000])
def test_a_sequence_has_the_records_that_it_gives(take: Callable[[Any], int], said: int) -> None:
    records = Lying(RECORDS)
    records.said = said
    assert take(records) == 10


def test_records_that_grow_and_shrink_while_they_are_looked_at(take: Callable[[Any], int]) -> None:
    class Growing:
        def __init__(self) -> None:
            self.records: list[Any] = [bytearray(record) for record in RECORDS]

        def __len__(self) -> int:
            self.records.append(RECORDS[0])
            return len(self.records)

        def __iter__(self) -> Iterator[Any]:
            for record in [*self.records]:
                yield record
                if isinstance(record, bytearray) and len(self.records) > 3:
                    self.records.pop()

    assert take(Growing()) >= 10


def test_a_record_is_its_buffer(take: Callable[[Any], int]) -> None:
    class Short(bytes):
        def __len__(self) -> int:
            return 1 << 30

    assert take([Short(record) for record in RECORDS]) == 10
    wide = np.frombuffer(RECORDS[0].ljust(64, b"\0"), np.float64)
    with pytest.raises((fastrec.ExampleParseError, AssertionError)):
        assert take([wide]) != 1


def test_records_that_change_while_they_are_parsed_leave_memory_alone() -> None:
    features = {
        "n": fastrec.RaggedFeature(np.int64),
        "f": fastrec.RaggedFeature(np.float32),
        "s": fastrec.RaggedFeature(bytes),
        "v": fastrec.VarLenFeature(np.int64),
    }
    row = {"n": [1, 300, 70000] * 30, "f": [0.5] * 40, "s": ["word", ""] * 20, "v": [5] * 9}
    records = fastrec.Bytes.from_list([fastrec.encode_example(row)] * 300)
    data, good = records.data.copy(), records.data.copy()
    done = threading.Event()

    def scribble() -> None:
        rng = np.random.default_rng(0)
        while not done.is_set():
            data[rng.integers(0, len(data), 1000)] = rng.integers(0, 256, 1000)
            data[:] = good

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for number in range(200):
            with contextlib.suppress(fastrec.ExampleParseError):
                changing = fastrec.Bytes(data, records.offsets)
                fastrec.parse_example(changing, features, threads=1 + number % 3)
    finally:
        done.set()
        thread.join()
    assert len(fastrec.parse_example(records, features)["n"]) == 300


# -- Specifications ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        (np.int64(1 << 40), np.int64(1 << 40)),
        (np.uint32(1 << 31), np.uint32(1 << 31), np.uint32(4)),
        (1 << 32, 1 << 32),
        (1 << 64,),
    ],
    ids=str,
)
def test_shapes_whose_product_overflows_are_refused(shape: tuple[Any, ...]) -> None:
    for make in (
        lambda: fastrec.FixedLenFeature(shape, np.int64),
        lambda: fastrec.RawFeature(shape, np.uint8),
        lambda: fastrec.RawFeature("shape", np.uint8, pad=shape),
    ):
        with pytest.raises(ValueError, match="larger than any record"):
            make()


# -- Streams and images ----------------------------------------------------------------------


def stream(chunks: list[Any]) -> Any:
    """A file whose reads return these."""
    return SimpleNamespace(read=lambda size=-1: chunks.pop(0) if chunks else b"")


def test_a_stream_gives_buffers() -> None:
    whole = b"".join(_core.frame(record) for record in number_records(3))
    pieces = [bytearray(whole[:5]), memoryview(whole)[5:40], np.frombuffer(whole[40:], np.uint8)]
    assert list(fastrec.Reader(stream(pieces), compression=None)) == number_records(3)
    for wrong in (5, 1 << 50, [1, 2], "text"):
        with pytest.raises(TypeError):
            list(fastrec.Reader(stream([wrong]), compression=None))


def test_an_image_feature_decodes_as_many_as_it_is_given() -> None:
    Image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    Image.new("RGB", (2, 2), (1, 2, 3)).save(file, "PNG")
    images = Lying([file.getvalue()] * 3)
    for said in (0, 1, 1000):
        images.said = said
        decoded = fastrec.ImageFeature((2, 2)).decode(images)
        assert isinstance(decoded, np.ndarray)
        assert decoded.shape == (3, 2, 2, 3)
