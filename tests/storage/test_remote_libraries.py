# SPDX-License-Identifier: Apache-2.0
"""Datasets and loaders of other libraries, by URL: in this process and in others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Answer, Objects, ObjectServer, Request

import fastrec
from fastrec.storage.options import StorageOptions

FEATURES = {"n": fastrec.FixedLenFeature((), np.int64)}
TOKEN = "Bearer s3cr3t"
KNOWN = StorageOptions({"client_options": {"default_headers": {"authorization": TOKEN}}})


class Guarded(Objects):
    """Objects for those who have the token."""

    def __call__(self, request: Request) -> Answer:
        if request.headers.get("authorization") != TOKEN:
            return Answer(403, {}, b"no token")
        return super().__call__(request)


def shards(folder: Path) -> dict[str, bytes]:
    with fastrec.Writer(folder / "t.tfrecord", shards=3, index=True) as writer:
        for number in range(60):
            writer.write({"n": number})
    return {path.name: path.read_bytes() for path in folder.glob("t-*")}


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[list[str]]:
    """Objects that other processes can reach."""
    objects = shards(tmp_path)
    with ObjectServer(Objects(objects)) as server:
        yield [f"{server.url}/{name}" for name in sorted(objects) if name.endswith("tfrecord")]


# -- TFDS ----------------------------------------------------------------------------------------


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A set of episodes in a folder, and by a URL that requires options."""
    import fastrec.tfds
    from fastrec.tfds import features

    step = {"state": features.Tensor((400,), np.float32), "action": np.float32}
    draw = np.random.default_rng(0)
    episodes = [
        {
            "steps": [
                {"state": draw.random(400, np.float32), "action": 10 * e + t}
                for t in range(1 + e % 3)
            ],
            "name": f"episode {e}",
        }
        for e in range(24)
    ]
    described = {"steps": features.Dataset(step), "name": features.Text()}
    local = Path(
        fastrec.tfds.write(tmp_path, "arm", {"train": episodes}, described, shard_bytes=20_000)
    )
    objects = {f"arm/1.0.0/{path.name}": path.read_bytes() for path in local.iterdir()}
    with ObjectServer(Guarded(objects)) as server:
        yield local, f"{server.url}/arm/1.0.0"


def test_a_set_of_tfds_is_read_with_options(prepared: tuple[Path, str]) -> None:
    import fastrec.tfds

    local, url = prepared
    with pytest.raises(PermissionError):
        fastrec.tfds.load(url, "train")
    info = fastrec.tfds.info(url, storage_options=KNOWN)
    assert info.splits["train"].num_examples == 24
    assert "s3cr3t" not in repr(info)
    here = fastrec.tfds.load(local, "train", features=["name"])
    there = fastrec.tfds.load(url, "train", features=["name"], storage_options=KNOWN)
    assert list(there) == list(here)
    assert there[17] == here[17]
    assert list(there[3:20]) == list(here[3:20])
    for part in (slice(None), slice(2, 21)):
        pairs = zip(there[part].batches(5), here[part].batches(5), strict=True)
        assert all(list(one["name"]) == list(other["name"]) for one, other in pairs)
    shuffled = [list(b["name"]) for b in there.batches(5, shuffle="blocks", seed=1)]
    assert shuffled == [list(b["name"]) for b in here.batches(5, shuffle="blocks", seed=1)]


@pytest.mark.parametrize("split", ["train", "train[5:17]"])
def test_steps_are_read_with_options(prepared: tuple[Path, str], split: str) -> None:
    import fastrec.tfds

    local, url = prepared
    steps = [
        fastrec.tfds.load(place, split, storage_options=KNOWN).steps(8, shuffle=True, seed=2)
        for place in (local, url)
    ]
    for one, other in zip(*steps, strict=True):
        assert np.array_equal(one["state"], other["state"])
        assert np.array_equal(one["action"], other["action"])
    episode = fastrec.tfds.load(url, split, storage_options=KNOWN)[1]["steps"]
    assert len(list(episode)) == len(list(fastrec.tfds.load(local, split)[1]["steps"]))


def test_a_set_with_credentials_is_not_pickled(prepared: tuple[Path, str]) -> None:
    import pickle

    import fastrec.tfds

    there = fastrec.tfds.load(prepared[1], "train", storage_options=KNOWN)
    with pytest.raises(TypeError, match="client_options"):
        pickle.dumps(there)


# -- Loaders with processes of their own ---------------------------------------------------------


def test_workers_of_torch_read_urls(urls: list[str]) -> None:
    data = pytest.importorskip("torch.utils.data")
    import fastrec.torch

    options = StorageOptions(window_bytes=1 << 20)
    reader = fastrec.Reader(urls, storage_options=options)
    mapped = fastrec.torch.Dataset(reader, FEATURES)
    stream = fastrec.torch.IterableDataset(
        urls, FEATURES, batch_size=4, shuffle="blocks", seed=3, storage_options=options
    )
    each: list[tuple[Any, dict[str, Any]]] = [
        (mapped, {"batch_size": 4, "shuffle": True}),
        (stream, {"batch_size": None}),
    ]
    for dataset, given in each:
        loader = data.DataLoader(
            dataset, num_workers=2, multiprocessing_context="forkserver", **given
        )
        assert sorted(int(n) for batch in loader for n in batch["n"]) == list(range(60))


def test_workers_of_grain_read_urls(urls: list[str]) -> None:
    grain = pytest.importorskip("grain.python")
    import fastrec.grain

    flags = pytest.importorskip("absl.flags")
    flags.FLAGS.mark_as_parsed()  # as absl's app.run() does
    reader = fastrec.Reader(urls, storage_options=StorageOptions(window_bytes=1 << 20))
    source = fastrec.grain.Source(reader, FEATURES)
    shuffled = grain.MapDataset.source(source).shuffle(seed=1).to_iter_dataset()
    found = shuffled.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    assert sorted(int(row["n"]) for row in found) == [*range(60)]
    options = StorageOptions(window_bytes=1 << 20)
    for batches in (
        fastrec.grain.BatchMapDataset(reader, FEATURES, 4),
        fastrec.grain.BatchIterDataset(urls, FEATURES, 4, storage_options=options),
    ):
        assert sorted(int(n) for batch in batches for n in batch["n"]) == [*range(60)]


@pytest.mark.parametrize("streaming", [False, True])
def test_datasets_of_hugging_face_read_urls(
    urls: list[str], tmp_path: Path, streaming: bool
) -> None:
    pytest.importorskip("datasets")
    import fastrec.huggingface

    found = fastrec.huggingface.load_dataset(
        urls, streaming=streaming, cache_dir=str(tmp_path / "hf")
    )
    assert sorted(row["n"] for row in found) == [*range(60)]
