# SPDX-License-Identifier: Apache-2.0
"""Reports of all ranks, and encoded images as views of one block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

torch = pytest.importorskip("torch")

from rank_pool import RankPool  # noqa: E402
from slow_rank import run_rank  # noqa: E402

import fastrec.torch  # noqa: E402


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many([b"0123456789"] * 150)
    return path


@pytest.fixture(scope="module")
def pool() -> Iterator[RankPool]:
    pool = RankPool(2)
    yield pool
    pool.close()


@pytest.mark.parametrize("slow", [0, 1])
def test_the_slow_rank_and_its_stage_are_named_in_all_ranks(
    path: Path, pool: RankPool, slow: int
) -> None:
    results = pool.run(run_rank, path.read_bytes(), slow)
    assert results[0] == results[1]
    rank, bottleneck, line, bottlenecks = results[0]
    assert (rank, bottleneck) == (slow, "storage")
    assert line.startswith(f"rank {slow} of 2 waits longest for data: ")
    assert bottlenecks == ["storage" if rank == slow else "consumer" for rank in range(2)]


def test_a_single_process_gets_its_own_report(path: Path) -> None:
    batcher = fastrec.Batcher(path, None, 15)
    list(batcher)
    assert fastrec.torch.report(batcher) == batcher.report()
    with pytest.raises(TypeError, match="batches must be Batches or a Batcher"):
        fastrec.torch.report([1])  # type: ignore[arg-type]


# --- bytes as tensors ---------------------------------------------------------------------------

STRINGS = [b"first", b"", b"second one", b"\0\xff", b""]


def assert_strings(tensors: Any) -> None:
    assert [each.numpy().tobytes() for each in tensors] == STRINGS
    assert all(each.dtype == torch.uint8 for each in tensors)


def test_bytes_are_views_of_one_block() -> None:
    column = fastrec.Bytes.from_list(STRINGS)
    tensors = fastrec.torch.to_tensors({"image": column}, bytes="tensor")["image"]
    assert_strings(tensors)
    pointers = {each.untyped_storage().data_ptr() for each in tensors}
    assert len(pointers) == 1
    assert fastrec.torch.to_tensors(column) == STRINGS
    with pytest.raises(ValueError, match="bytes must be one of"):
        fastrec.torch.to_tensors(column, bytes="array")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [len(STRINGS), 3])
def test_collated_bytes_are_tensors(tmp_path: Path, count: int) -> None:
    path = tmp_path / "images.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"image": STRINGS, "label": np.arange(len(STRINGS))})
    features = {"image": fastrec.FixedLenFeature((), bytes)}
    dataset = fastrec.torch.Dataset(path, features)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=count, collate_fn=partial(fastrec.torch.collate, bytes="tensor")
    )
    assert_strings([image for batch in loader for image in batch["image"]])
    samples = [{"image": string} for string in STRINGS]  # of any other dataset
    assert_strings(fastrec.torch.collate(samples, bytes="tensor")["image"])


@pytest.mark.parametrize("strings", [STRINGS[:1], STRINGS, STRINGS[2:4], STRINGS[1:2] * 2])
def test_a_block_of_views_is_moved_at_once_and_divided_again(strings: list[bytes]) -> None:
    from fastrec.torch.prefetch import _map_tensors

    tensors = fastrec.torch.to_tensors(fastrec.Bytes.from_list(strings), bytes="tensor")
    calls: list[Any] = []

    def move(tensor: Any) -> Any:
        calls.append(tensor)
        return tensor.clone()

    moved = _map_tensors({"image": tensors}, move)["image"]
    assert [each.numpy().tobytes() for each in moved] == strings
    assert len(calls) == 1 or not all(strings)


def test_views_of_different_blocks_are_moved_one_by_one() -> None:
    from fastrec.torch.prefetch import _block_of

    one, two = torch.zeros(4, dtype=torch.uint8), torch.zeros(4, dtype=torch.uint8)
    assert _block_of([one[:2], two[:2]]) is None
    assert _block_of([one[2:], one[:2]]) is None
    assert _block_of([one[:2].float(), one[2:]]) is None
    block = _block_of([one[:2], one[2:]])
    assert block is not None
    assert (block.data_ptr(), len(block)) == (one.data_ptr(), 4)
