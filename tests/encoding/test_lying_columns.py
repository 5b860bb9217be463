# SPDX-License-Identifier: Apache-2.0
"""Columns and mappings that lie: sizes of C memory come from memory, not from words.

Run under AddressSanitizer too (``make sanitize-python``), which sees a byte too many.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lying import GOOD, Boastful, block
from numpy.typing import NDArray

import fastrec


def ragged(values: Any, splits: Any) -> fastrec.Ragged:
    return fastrec.Ragged(values, splits)


COLUMNS: dict[str, Callable[[], Any]] = {
    "row_splits beyond the values": lambda: ragged(np.arange(3), np.array([0, 2, 1 << 40])),
    "row_splits that descend": lambda: ragged(np.arange(3), np.array([0, 3, 1])),
    "row_splits below zero": lambda: ragged(np.arange(3), np.array([-(1 << 62), 1, 3])),
    "no row_splits": lambda: ragged(np.arange(3), np.zeros(0, np.int64)),
    "row_splits of two dimensions": lambda: ragged(np.arange(3), np.zeros((2, 2), np.int64)),
    "row_splits of bytes beyond them": lambda: ragged(
        np.arange(3, dtype="B"), np.array([0, 2, 99])
    ),
    "row_splits of strings beyond them": lambda: ragged(GOOD, np.array([0, 2, 11])),
    "strings without offsets": lambda: block(np.zeros(0, np.int64), shape=(3,)),
    "strings fewer than the shape": lambda: block(GOOD.offsets[:3], shape=(1000,)),
    "strings more than the shape": lambda: block(GOOD.offsets, shape=(3,)),
    "strings outside of the data": lambda: block(np.array([0, 1 << 50])),
    "strings of offsets that descend": lambda: block(np.array([0, 10, 5])),
    "strings of which there are no rows": lambda: block(GOOD.offsets, shape=(0,)),
    "strings of rows below zero": lambda: block(GOOD.offsets, shape=(-5, -2)),
    "lists of strings outside": lambda: ragged(block(np.array([0, 1 << 50])), np.array([0, 1])),
    "lists of strings without offsets": lambda: ragged(
        block(np.zeros(0, np.int64), shape=(3,)), np.array([0, 1, 3])
    ),
}


REFUSED = r"feature 'a': .*(row_splits|offsets|sizes|shape)|__len__"


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_columns_that_lie_are_refused(column: Callable[[], Any], tmp_path: Path) -> None:
    for encode in (
        lambda: fastrec.encode_examples({"a": column()}),
        lambda: fastrec.encode_sequence_example({}, {"a": column()}),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            encode()
    with (
        pytest.raises(ValueError, match=REFUSED),
        fastrec.Writer(tmp_path / "file", overwrite=True) as writer,
    ):
        writer.write_batch({"a": column()})
    assert not (tmp_path / "file").exists()


PINS: list[Any] = [
    fastrec.RaggedFeature(np.int64),
    fastrec.RaggedFeature(bytes),
    fastrec.FixedLenFeature((), bytes),
    fastrec.FixedLenFeature((2,), np.int64),
    fastrec.RawFeature((), np.uint8),
    fastrec.RawFeature(None, np.int64),
]


@pytest.mark.parametrize("spec", PINS, ids=str)
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_specification_believes_no_more(column: Callable[[], Any], spec: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        fastrec.encode_examples({"a": column()}, {"a": spec})


@pytest.mark.parametrize("array", [np.arange(6), np.arange(6.0), np.arange(6, dtype="B")], ids=str)
def test_boastful_arrays_are_encoded_as_their_memory_is(array: NDArray[Any]) -> None:
    expected = fastrec.encode_examples({"a": array.reshape(2, 3)}).to_list()
    assert fastrec.encode_examples({"a": array.reshape(2, 3).view(Boastful)}).to_list() == expected
    assert fastrec.encode_example({"a": array.view(Boastful)}) == fastrec.encode_example(
        {"a": array}
    )
    splits = np.array([0, 2, 6])
    boast = ragged(array.view(Boastful), splits.view(Boastful))
    expected = fastrec.encode_examples({"a": ragged(array, splits)}).to_list()
    assert fastrec.encode_examples({"a": boast}).to_list() == expected


def test_a_value_that_is_a_lying_block_of_strings_is_refused() -> None:
    for offsets in ([], [0, 1 << 50], [5, 0], [-1, 3]):
        with pytest.raises(ValueError, match="offsets"):
            fastrec.encode_example({"a": block(np.array(offsets, np.int64), shape=(3,))})


def test_columns_that_change_while_they_are_written_leave_memory_alone(tmp_path: Path) -> None:
    # What is written may be a mixture, or the call may fail; see encode.h.
    rows = 20_000
    splits = np.arange(0, 4 * rows + 1, 4)
    offsets = np.arange(0, 4 * 4 * rows + 1, 4)
    strings = fastrec.Bytes(np.zeros(16 * rows, np.uint8), offsets)
    good_splits, good_offsets = splits.copy(), offsets.copy()
    done = threading.Event()

    def scribble() -> None:
        rng = np.random.default_rng(0)
        while not done.is_set():
            for array, good in ((splits, good_splits), (offsets, good_offsets)):
                array[rng.integers(0, len(array), 64)] = rng.integers(-(1 << 62), 1 << 62, 64)
                array[:] = good

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(20):
            with contextlib.suppress(ValueError, IndexError, OverflowError):
                with fastrec.Writer(tmp_path / "file", fsync=False, overwrite=True) as writer:
                    writer.write_batch({"a": ragged(strings, splits), "b": ragged(offsets, splits)})
                fastrec.verify(tmp_path / "file")
            with contextlib.suppress(ValueError):
                with fastrec.Writer(tmp_path / "other", fsync=False, overwrite=True) as writer:
                    writer.write_many(fastrec.Bytes(strings.data, offsets))
                fastrec.verify(tmp_path / "other")
            with contextlib.suppress(ValueError):
                fastrec.parse_example(
                    fastrec.Bytes(strings.data, offsets), {"a": fastrec.VarLenFeature(np.int64)}
                )
    finally:
        done.set()
        thread.join()


# -- Mappings ----------------------------------------------------------------------------------


class LyingDict(dict[str, Any]):
    said = 0

    def __len__(self) -> int:
        return self.said


class Growing(Mapping[str, Any]):
    """Has more features each time that it is looked at."""

    def __init__(self, said: int, given: int) -> None:
        self.said, self.given = said, given

    def __len__(self) -> int:
        return self.said

    def __iter__(self) -> Iterator[str]:
        return (f"f{i}" for i in range(self.given))

    def __getitem__(self, key: str) -> Any:
        return [[1, 2], [3]]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def keys(self) -> Any:
        return list(self)


@pytest.mark.parametrize("given", [1, 3, 63, 64, 65, 3000])
@pytest.mark.parametrize("said", [0, 1, 10_000])
def test_a_mapping_has_the_features_that_it_gives(said: int, given: int) -> None:
    features = {f"f{i}": i for i in range(given)}
    lists = {f"f{i}": [[1, 2], [3]] for i in range(given)}
    context, steps = LyingDict(features), LyingDict(lists)
    context.said = steps.said = said
    expected = fastrec.encode_sequence_example(features, lists)
    assert fastrec.encode_sequence_example(context, steps) == expected
    growing = fastrec.encode_sequence_example({}, Growing(said, given))
    assert growing == fastrec.encode_sequence_example({}, lists)
    assert fastrec.encode_example(context) == fastrec.encode_example(features)
    columns = LyingDict({key: np.arange(3) for key in features})
    columns.said = said
    assert (
        fastrec.encode_examples(columns).to_list()
        == fastrec.encode_examples(dict(columns)).to_list()
    )


def test_a_mapping_that_repeats_itself_is_refused() -> None:
    class Twice(Mapping[str, Any]):
        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            return iter("a")

        def __getitem__(self, key: str) -> Any:
            return [1]

        def items(self) -> Any:
            return [("a", [1])] * 100

    with pytest.raises(ValueError, match="feature 'a': given twice"):
        fastrec.encode_sequence_example(Twice(), {})
    with pytest.raises(ValueError, match="feature 'a': given twice"):
        fastrec.encode_sequence_example({}, Twice())


def test_values_that_change_the_mapping_while_it_is_encoded() -> None:
    mapping: dict[str, Any] = {}

    class Meddling:
        def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
            for i in range(100):
                mapping[f"g{i}"] = [1, 2]
            del mapping["a"]
            return np.arange(3)

    for encode in (
        lambda: fastrec.encode_sequence_example(mapping, {}),
        lambda: fastrec.encode_sequence_example({}, {"x": [mapping["z"]]}),
        lambda: fastrec.encode_example(mapping),
        lambda: fastrec.encode_examples(mapping),
    ):
        mapping.clear()
        mapping.update({"a": Meddling(), "b": [1], "z": Meddling()})
        with contextlib.suppress(RuntimeError, ValueError, KeyError, TypeError):
            encode()  # what it held at first, or an error


@pytest.mark.parametrize(
    "wrong", [5, [("a", [1])], "a", iter([])], ids=lambda wrong: type(wrong).__name__
)
def test_what_is_no_mapping_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"context must be a mapping, got "):
        fastrec.encode_sequence_example(wrong, {})
    with pytest.raises(TypeError, match=r"feature_lists must be a mapping, got "):
        fastrec.encode_sequence_example({}, wrong)


def test_lists_that_change_while_they_are_encoded() -> None:
    row: list[Any] = []

    class Meddling(int):
        def __index__(self) -> int:
            row.clear()
            return 5

        __int__ = __index__

    class Text(str):
        def encode(self, *_: Any) -> bytes:
            row.clear()
            return b"x"

    for value in (Meddling(3), Text("t")):
        row[:] = [1 if isinstance(value, int) else "s", value] * 2000
        with contextlib.suppress(TypeError, ValueError, IndexError):
            fastrec.encode_example({"a": row})


# -- Arrow -------------------------------------------------------------------------------------


def test_arrow_arrays_that_lie_are_refused() -> None:
    # What pyarrow finds at little cost (buffers that are too short) it refuses itself.
    pa = pytest.importorskip("pyarrow")
    short, child = pa.py_buffer(b"\0" * 8), pa.array([1, 2, 3])
    for middle in (1 << 28, -5, 1 << 30):
        narrow = pa.py_buffer(np.array([0, middle, 3], np.int32).tobytes())
        wide = pa.py_buffer(np.array([0, middle << 20, 3], np.int64).tobytes())
        strings = pa.Array.from_buffers(pa.binary(), 2, [None, narrow, short])
        long_strings = pa.Array.from_buffers(pa.large_binary(), 2, [None, wide, short])
        lists = pa.Array.from_buffers(pa.list_(pa.int64()), 2, [None, narrow], children=[child])
        of_strings = pa.Array.from_buffers(
            pa.list_(pa.binary()), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0")], children=[strings]
        )
        numbers = pa.array([0, middle], pa.int32())
        words = pa.DictionaryArray.from_arrays(numbers, pa.array(["a", "b"]), safe=False)
        for array in (strings, long_strings, lists, of_strings, words):
            for encode in (
                lambda array: fastrec.encode_examples({"a": array}),
                lambda array: fastrec.encode_sequence_example({}, {"a": array}),
            ):
                with pytest.raises((ValueError, TypeError)):
                    encode(array)
        for array in (strings, long_strings, of_strings, words):
            with pytest.raises((ValueError, TypeError)):
                fastrec.encode_example({"a": array})
