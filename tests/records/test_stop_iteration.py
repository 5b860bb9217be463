# SPDX-License-Identifier: Apache-2.0
"""A StopIteration of a caller's stream or function never passes for the end of the records."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

pytestmark = pytest.mark.filterwarnings("ignore:on_error left out")

FEATURES = {"x": fastrec.FixedLenFeature((), np.int64)}
COUNT = 3000


class Stream(io.RawIOBase):
    """Bytes whose ``read`` raises StopIteration at the call of that number."""

    def __init__(self, data: bytes, stop_at: int) -> None:
        self._file, self._left = io.BytesIO(data), stop_at

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise StopIteration
        return self._file.read(min(size, 10_000) if size >= 0 else 10_000)


class Stopper:
    """A function that raises StopIteration at the call of that number."""

    def __init__(self, stop_at: int, result: Any = None) -> None:
        self._left, self._result = stop_at, result

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise StopIteration
        return arguments[0] if self._result is None else self._result


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("stop") / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        numbers = np.arange(COUNT) % 1000 + 1000  # all records are equally long
        writer.write_batch({"x": numbers, "text": [b"some text"] * COUNT})
    return path.read_bytes()


@pytest.fixture(scope="module")
def damaged(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "a.tfrecord"
    broken = bytearray(data)
    for number in range(0, COUNT, 7):
        broken[number * (len(data) // COUNT) + 20] ^= 1
    path.write_bytes(bytes(broken))
    return path


def drain(batches: Any) -> int:
    return sum(1 for _ in batches)


READS: dict[str, Callable[[Any], Any]] = {
    "iter": lambda file: drain(fastrec.Reader(file)),
    "next": lambda file: [next(records) for records in [iter(fastrec.Reader(file))] * COUNT * 2],
    "views": lambda file: drain(fastrec.Reader(file).views()),
    "blocks": lambda file: drain(fastrec.Reader(file).blocks(100)),
    "skip": lambda file: drain(fastrec.Reader(file, on_error="skip")),
    "Batcher of records": lambda file: drain(fastrec.Batcher(file, None, 100)),
    "Batcher": lambda file: drain(fastrec.Batcher(file, FEATURES, 100)),
    "Batcher of rows": lambda file: drain(fastrec.Batcher(file, FEATURES, None)),
    "Batcher with a buffer": lambda file: drain(fastrec.Batcher(file, FEATURES, 9, shuffle=50)),
    "Batcher that skips": lambda file: drain(fastrec.Batcher(file, FEATURES, 100, on_error="skip")),
    "infer_features": lambda file: fastrec.infer_features(file),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("stop_at", [0, 1, 2, 5])
def test_of_a_stream_is_an_error(
    data: bytes, read: Callable[[Any], Any], packed: bool, stop_at: int
) -> None:
    stored = gzip.compress(data, 0) if packed else data
    with pytest.raises(RuntimeError, match="StopIteration"):
        read(Stream(stored, stop_at))


HANDLED: dict[str, Callable[[Path, Any], Any]] = {
    "iter": lambda path, call: drain(fastrec.Reader(path, on_error=call)),
    "views": lambda path, call: drain(fastrec.Reader(path, on_error=call).views()),
    "blocks": lambda path, call: drain(fastrec.Reader(path, on_error=call).blocks(100)),
    "len": lambda path, call: len(fastrec.Reader(path, on_error=call)),
    "Batcher": lambda path, call: drain(fastrec.Batcher(path, FEATURES, 10, on_error=call)),
    "Batcher of rows": lambda path, call: drain(
        fastrec.Batcher(path, FEATURES, None, on_error=call)
    ),
    "Batcher that shuffles": lambda path, call: drain(
        fastrec.Batcher(path, FEATURES, 10, shuffle=True, seed=0, on_error=call)
    ),
    "Batcher of records": lambda path, call: drain(fastrec.Batcher(path, None, 10, on_error=call)),
    "Batcher with a transform": lambda path, call: drain(
        fastrec.Batcher(path, FEATURES, 10, on_error=call, transform=dict)
    ),
    "parse_many": lambda path, call: fastrec.parse_many(
        fastrec.Reader(path), np.arange(COUNT), FEATURES, on_error=call
    ),
    "parse_example": lambda path, call: fastrec.parse_example(
        [record if number % 7 else b"no" for number, record in enumerate(
            fastrec.Reader(path, on_error="skip"))], FEATURES, on_error=call,
    ),
}  # fmt: skip


@pytest.mark.parametrize("handle", HANDLED.values(), ids=HANDLED)
@pytest.mark.parametrize("stop_at", [0, 1, 20])
def test_of_an_error_handler_is_an_error(
    damaged: Path, handle: Callable[[Path, Any], Any], stop_at: int
) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        handle(damaged, Stopper(stop_at))


@pytest.mark.parametrize("stop_at", [0, 1, 20])
@pytest.mark.parametrize(
    "options",
    [{}, {"shuffle": True, "seed": 0}, {"batch_size": None}, {"threads": 3}],
    ids=str,
)
def test_of_a_transform_is_an_error(
    data: bytes, tmp_path: Path, options: dict[str, Any], stop_at: int
) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data)
    options = {"batch_size": 10, **options}
    for source in (path, io.BytesIO(data)):
        if source is not path and "shuffle" in options:
            continue
        batcher = fastrec.Batcher(source, FEATURES, transform=Stopper(stop_at), **options)
        with pytest.raises(RuntimeError, match="StopIteration"):
            drain(batcher)


@pytest.mark.parametrize("stop_at", [0, 3])
@pytest.mark.parametrize("transform", [None, dict])
def test_of_a_function_of_reports_is_an_error(
    data: bytes, tmp_path: Path, transform: Any, stop_at: int
) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data)
    batcher = fastrec.Batcher(
        path, FEATURES, 10, transform=transform, on_stats=Stopper(stop_at), every=0
    )
    with pytest.raises(RuntimeError, match="StopIteration"):
        drain(batcher)


def test_of_a_file_system_is_an_error(data: bytes) -> None:
    fsspec = pytest.importorskip("fsspec")

    class Stopping(type(fsspec.filesystem("memory"))):  # type: ignore[misc]
        """Raises StopIteration from a call on."""

        cachable = False
        left = 100

        def cat_file(self, *arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return super().cat_file(*arguments, **options)

        def open(self, *arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return super().open(*arguments, **options)

    for stop_at in range(3):
        for batched in (False, True):
            system = Stopping()
            system.pipe_file("/bucket/a.tfrecord", data)
            options = fastrec.StorageOptions(filesystem=system, retries=0)

            def read(batched: bool = batched, options: Any = options) -> int:
                source = "/bucket/a.tfrecord"
                if batched:
                    return drain(fastrec.Batcher(source, FEATURES, 10, storage_options=options))
                return drain(fastrec.Reader(source, storage_options=options))

            system.left = 100
            assert read() == (COUNT // 10 if batched else COUNT)
            used = 100 - system.left
            system.left = min(stop_at, used - 1)
            with pytest.raises((RuntimeError, OSError)):
                read()


class Sink(io.RawIOBase):
    """A stream whose ``write`` raises StopIteration."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise StopIteration


def test_of_a_stream_that_is_written_is_an_error() -> None:
    def write() -> None:
        with fastrec.Writer(Sink()) as writer:
            writer.write_many([b"x" * 100_000] * 100)

    with pytest.raises((RuntimeError, StopIteration)):
        write()
