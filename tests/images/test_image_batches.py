# SPDX-License-Identifier: Apache-2.0
"""Transformed images in the batches of a Batcher: draws, memory, and records that are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo
from verbs import write_examples

import fastrec
from fastrec import Batcher, ImageFeature, _core
from fastrec.image import ColorJitter, Flip, Normalize, RandomCrop, RandomResizedCrop

pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(11)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
KINDS = ["JPEG", "PNG"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = (
        {"i": i, "image": encode(photo(RNG, 40 + i % 7, 50 + i % 5), KINDS[i % 4 == 3])}
        for i in range(60)
    )
    return write_examples(tmp_path / "file", rows)


FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "image": ImageFeature(
        transforms=[RandomResizedCrop(16), Flip(), ColorJitter(0.4, 0.4, 0.4, 0.1),
                    Normalize(MEAN, STD)],
        channels_first=True,
    ),
}  # fmt: skip


def by_record(batches: Any) -> dict[int, bytes]:
    return {
        i: image.tobytes()
        for batch in batches
        for i, image in zip(batch["i"].tolist(), batch["image"], strict=True)
    }


def test_a_record_draws_the_same_for_any_threads_shards_and_batch_size(path: Path) -> None:
    expected = by_record(Batcher(path, FEATURES, 7, shuffle=True, seed=1, threads=1))
    assert len(expected) == 60
    assert by_record(Batcher(path, FEATURES, 7, shuffle=True, seed=1, threads=4)) == expected
    assert by_record(Batcher(path, FEATURES, 13, seed=1, threads=2)) == expected
    shards = [Batcher(path, FEATURES, 5, seed=1, shuffle=True, shard=(k, 3)) for k in range(3)]
    assert {k: v for shard in shards for k, v in by_record(shard).items()} == expected
    assert by_record(Batcher(path, FEATURES, 7, seed=2)) != expected
    single = {
        int(row["i"]): row["image"].tobytes() for row in Batcher(path, FEATURES, None, seed=1)
    }
    assert single == expected


def test_resuming_goes_on_with_the_same_images(path: Path) -> None:
    batches = iter(Batcher(path, FEATURES, 7, shuffle=True, seed=1, epochs=2))
    before = [next(batches) for _ in range(10)]
    state = batches.state_dict()
    rest = [batch["image"] for batch in batches]
    again = Batcher(path, FEATURES, 7, shuffle=True, seed=1, epochs=2)
    again.load_state_dict(state)
    resumed = [batch["image"] for batch in again]
    assert len(before) + len(rest) == 18
    assert all((a == b).all() for a, b in zip(rest, resumed, strict=True))


def test_spares_keep_memory_for_the_next_array() -> None:
    spares, size = _core.Spares(2), 100 << 20  # more than is kept without
    first = _core.empty((size,), np.uint8, spares)
    first[:3] = 7
    del first
    assert not (_core.empty((size,), np.uint8)[:3] == 7).all()
    again = _core.empty((size - 9, 1), np.uint8, spares)
    assert again.shape == (size - 9, 1)
    assert (again[:3] == 7).all()
    del again
    assert _core.empty((size + 9,), np.uint8, spares).size == size + 9
    many = [_core.empty((size,), np.uint8, spares) for _ in range(5)]
    del spares, many


def test_images_of_all_epochs_share_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, empty = [], _core.empty

    def noted(shape: Any, dtype: Any, spares: Any = None) -> Any:
        if len(shape) == 4:  # images
            given.append(spares)
        return empty(shape, dtype, spares)

    monkeypatch.setattr(_core, "empty", noted)
    batcher = Batcher(path, FEATURES, 7, seed=1)
    for _ in range(2):
        for _ in batcher:
            pass
    assert len(given) >= 18
    assert len(set(map(id, given))) == 1
    assert isinstance(given[0], _core.Spares)


def test_memory_of_images_that_are_held_is_not(path: Path) -> None:
    batcher = Batcher(path, FEATURES, 7, seed=1, epochs=3)
    held = list(batcher)
    copies = [batch["image"].copy() for batch in held]
    views = [batch["image"][1:, 0] for batch in held]
    del held
    for _ in batcher:
        pass
    assert all((view == copy[1:, 0]).all() for view, copy in zip(views, copies, strict=True))


def test_each_epoch_draws_anew(path: Path) -> None:
    batches = list(Batcher(path, FEATURES, 60, seed=1, epochs=2))
    assert (batches[0]["image"] != batches[1]["image"]).any(axis=(1, 2, 3)).all()


def test_masks_draw_what_their_images_draw(tmp_path: Path) -> None:
    shape = photo(RNG, 40, 60)
    rows = [{"image": encode(shape, "PNG"), "mask": encode(shape[..., 0], "PNG")}] * 20
    file = write_examples(tmp_path / "pairs", rows)
    crop = RandomResizedCrop(16, interpolation="nearest")
    features = {
        "image": ImageFeature(transforms=[crop, Flip()]),
        "mask": ImageFeature(transforms=[crop, Flip()], channels=1),
    }
    batch = next(iter(Batcher(file, features, 20, seed=3)))
    np.testing.assert_array_equal(batch["image"][..., :1], batch["mask"])
    assert len({image.tobytes() for image in batch["image"]}) > 15


BROKEN = {5: b"not an image", 17: encode(photo(RNG, 30, 30))[:-400], 40: b""}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    rows = [
        {"i": i, "image": encode(photo(RNG, 30, 30)), "words": [b"w"] * (i % 3)} for i in range(48)
    ]
    for i, data in BROKEN.items():
        rows[i]["image"] = data
    return write_examples(tmp_path / "broken", rows)


@pytest.mark.parametrize("threads", [1, 3])
def test_images_that_cannot_be_decoded_are_left_out_and_listed(broken: Path, threads: int) -> None:
    features = {**FEATURES, "words": fastrec.RaggedFeature(bytes)}
    batcher = Batcher(broken, features, 8, on_error="skip", threads=threads)
    batches = list(batcher)
    assert [len(batch["i"]) for batch in batches] == [7, 8, 7, 8, 8, 7]
    for batch in batches:
        assert [len(words) for words in batch["words"]] == [int(i) % 3 for i in batch["i"]]
    assert sorted(i for batch in batches for i in batch["i"].tolist()) == [
        i for i in range(48) if i not in BROKEN
    ]
    left_out = batcher.skipped
    assert [(each.record, each.kind, each.path) for each in left_out] == [
        (i, "image", str(broken)) for i in BROKEN
    ]
    list(batcher)
    assert len(batcher.skipped) == 3
    for each in left_out:
        assert "feature 'image': cannot be decoded" in each.reason


def test_a_callable_hears_of_images_that_cannot_be_decoded(broken: Path) -> None:
    heard: list[Any] = []
    assert len(by_record(Batcher(broken, FEATURES, 8, on_error=heard.append))) == 45
    assert sorted(error.record for error in heard) == sorted(BROKEN)


def test_without_leave_the_first_is_an_error_with_record_and_offset(broken: Path) -> None:
    batches = iter(Batcher(broken, FEATURES, 5))
    next(batches)
    match = r"record 5 in '.*broken': feature 'image': cannot be decoded"
    with pytest.raises(fastrec.ExampleParseError, match=match) as caught:
        next(batches)
    assert (caught.value.record, caught.value.path) == (5, str(broken))
    assert caught.value.offset is not None
    assert caught.value.offset > 0


def test_a_compressed_stream_leaves_out_too(broken: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.gz"
    with fastrec.Writer(file, compression="GZIP") as writer:
        for record in fastrec.Reader(broken):
            writer.write(record)
    batcher = Batcher(file, FEATURES, 8, on_error="skip")
    assert len(by_record(batcher)) == 45
    assert [each.record for each in batcher.skipped] == sorted(BROKEN)


def test_an_image_smaller_than_its_crop_is_named(tmp_path: Path) -> None:
    rows = [{"image": encode(photo(RNG, size, 40))} for size in (40, 20)]
    file = write_examples(tmp_path / "small", rows)
    features = {"image": ImageFeature(transforms=[RandomCrop(32)])}
    with pytest.raises(
        fastrec.ExampleParseError, match=r"record 1 in .*20x40 is smaller than the crop"
    ):
        list(Batcher(file, features, 2))
    augment = {"image": fastrec.Augment((32, 32), crop="random")}
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1 in .*augment of 'image'"):
        list(Batcher(file, {"image": ImageFeature()}, 2, augment=augment))
