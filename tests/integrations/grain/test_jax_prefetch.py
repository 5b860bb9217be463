# SPDX-License-Identifier: Apache-2.0
"""Batches on the devices of JAX: two devices of the CPU, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fastrec  # noqa: E402
from fastrec.jax import Prefetch, prefetch_to  # noqa: E402

FEATURES = {
    "x": fastrec.FixedLenFeature((3,), np.float32),
    "id": fastrec.FixedLenFeature((), np.int64),
    "name": fastrec.FixedLenFeature((), np.bytes_),
    "tokens": fastrec.RaggedFeature(np.int64),
}
COUNT = 26


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jax") / "records"
    with fastrec.Writer(path) as writer:
        for i in range(COUNT):
            example = {"x": [i / 2, 1.0, 2.0], "id": i, "name": b"n%d" % i, "tokens": [i] * (i % 3)}
            writer.write(fastrec.encode_example(example))
    return path


def test_numbers_become_arrays_of_the_device_and_other_columns_remain(path: Path) -> None:
    batcher = fastrec.Batcher(path, FEATURES, 4)
    device = jax.devices()[0]
    for there, here in zip(prefetch_to(batcher, device), batcher, strict=True):
        assert list(there) == list(here)
        for name in ("x", "id"):
            assert isinstance(there[name], jax.Array)
            assert there[name].devices() == {device}
            np.testing.assert_array_equal(there[name], here[name])
        assert isinstance(there["name"], fastrec.Bytes)
        assert there["name"].to_list() == here["name"].to_list()
        assert there["tokens"].to_list() == here["tokens"].to_list()


def test_batches_that_are_kept_do_not_change(path: Path) -> None:
    batcher = fastrec.Batcher(path, {"id": FEATURES["id"]}, 2, threads=1, prefetch=1)
    kept = list(prefetch_to(batcher))
    numbers = np.concatenate([np.asarray(batch["id"]) for batch in kept])
    np.testing.assert_array_equal(numbers, np.arange(COUNT))


def test_states_count_delivered_batches(path: Path) -> None:
    batcher = fastrec.Batcher(path, {"id": FEATURES["id"]}, 4, shuffle=True, seed=1)
    expected = [batch["id"].tolist() for batch in batcher]
    for count in range(len(expected)):
        source = fastrec.Batcher(path, {"id": FEATURES["id"]}, 4, shuffle=True, seed=1)
        ahead = prefetch_to(source, ahead=3)
        for _ in range(count):
            next(ahead)
        state = ahead.state_dict()
        other = fastrec.Batcher(path, {"id": FEATURES["id"]}, 4, shuffle=True, seed=1)
        other.load_state_dict(state)
        assert [batch["id"].tolist() for batch in prefetch_to(other)] == expected[count:]
    with pytest.raises(TypeError, match=r"pass a fastrec\.Batcher"):
        prefetch_to([{"x": np.arange(3)}]).state_dict()


def test_an_error_comes_in_place_of_its_batch() -> None:
    def batches() -> Any:
        yield {"x": np.arange(2)}
        yield {"x": np.arange(3)}
        raise KeyError("of the source")

    ahead = prefetch_to(batches(), ahead=5)
    assert [len(next(ahead)["x"]) for _ in range(2)] == [2, 3]
    for _ in range(2):
        with pytest.raises(KeyError, match="of the source"):
            next(ahead)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_raised_at_once(error: type[BaseException]) -> None:
    def batches() -> Any:
        yield {"x": np.arange(2)}
        raise error

    ahead = prefetch_to(batches(), ahead=5)
    with pytest.raises(error):
        next(ahead)


def test_structures_of_transforms_are_kept() -> None:
    class Pair(NamedTuple):
        x: Any
        y: Any

    one = Pair({"a": np.ones(2, np.float32)}, (np.zeros(2, bool), "text", 3))
    [pair] = Prefetch([one])
    assert type(pair) is Pair
    assert isinstance(pair.x["a"], jax.Array)
    assert isinstance(pair.y[0], jax.Array)
    assert pair.y[1:] == ("text", 3)


@pytest.mark.parametrize("ahead", [0, -1, "2", 1.5, True])
def test_ahead_must_be_a_positive_number(ahead: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="ahead must be"):
        prefetch_to([], ahead=ahead)


SHARDED = """
import sys
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import fastrec
from fastrec.jax import prefetch_to

sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
features = {"id": fastrec.FixedLenFeature((), np.int64)}
batcher = fastrec.Batcher(sys.argv[1], features, 4, drop_remainder=True)
seen = []
for batch in prefetch_to(batcher, sharding):
    assert batch["id"].sharding == sharding
    parts = [shard.data.tolist() for shard in batch["id"].addressable_shards]
    assert list(map(len, parts)) == [2, 2]
    seen += parts[0] + parts[1]
print(seen == list(range(24)))
"""


def test_a_sharding_divides_each_batch_among_devices(path: Path) -> None:
    devices = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    run = subprocess.run(
        [sys.executable, "-c", SHARDED, str(path)],
        env=os.environ | devices,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.strip() == "True"
