# SPDX-License-Identifier: Apache-2.0
"""The programs of the documents that fastrec.compat.v1 was made for: what they show is so."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_four_runners_fill_a_queue_with_samples() -> None:
    with tf.Graph().as_default():
        samples, labels = example("queue_runners").main()
    assert samples.shape == (100, 4)
    assert set(labels.tolist()) == {0, 1}
    rng = np.random.default_rng(0)
    known = {row.tobytes() for row in (10 * rng.standard_normal((1000, 4)) + 1).astype(np.float32)}
    assert {row.tobytes() for row in samples} <= known


def test_an_image_comes_back_by_the_queue(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    with tf.Graph().as_default():
        label, shape, found = example("image_to_record").main(tmp_path, image)
    assert (label, shape.tolist()) == (1, [48, 64, 3])
    np.testing.assert_array_equal(found, image)


def test_binary_batches_are_distorted_and_shuffled(tmp_path: Path) -> None:
    cifar = example("cifar10_binary")
    with pytest.raises(ValueError, match="Failed to find file"):
        cifar.main(tmp_path)
    cifar.make_batches(tmp_path, images=60)
    for images, labels in cifar.main(tmp_path, batches=3, batch_size=16):
        assert images.shape == (16, 24, 24, 3)
        assert labels.shape == (16,)
        assert set(labels.tolist()) <= set(range(10))
        np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), 0, atol=1e-4)
        np.testing.assert_allclose(images.std(axis=(1, 2, 3)), 1, atol=1e-3)


def test_records_of_one_length_are_label_and_planes(tmp_path: Path) -> None:
    cifar = example("cifar10_binary")
    cifar.make_batches(tmp_path, files=1, images=5)
    content = np.frombuffer((tmp_path / "data_batch_1.bin").read_bytes(), np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.train.string_input_producer([str(tmp_path / "data_batch_1.bin")])
        fetches = cifar.read(names)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for record in content.reshape(5, -1):
            label, image = session.run(fetches)
            assert label.tolist() == [record[0]]
            np.testing.assert_array_equal(image[..., 2].ravel(), record[1 + 2048 :])
        coord.request_stop()
        coord.join(threads)


def test_images_become_pngs_and_slim_provides_them(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    cifar = example("cifar10_slim")
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 256, (40, 3, 32, 32), dtype=np.uint8)
    labels = np.arange(40) % 10
    cifar.convert(tmp_path, "train", planes, labels)
    path = tmp_path / "cifar10_train.tfrecord"
    images = planes.transpose(0, 2, 3, 1)
    direct = cifar.read_directly(path)
    assert [label for _, label in direct] == labels.tolist()
    np.testing.assert_array_equal([image for image, _ in direct], images)
    known = {p.tobytes(): int(n) for p, n in zip(images, labels, strict=True)}
    batch, numbers = cifar.read_by_queue(path, 16)
    assert [known[image.tobytes()] for image in batch] == numbers.tolist()
    provided = cifar.provide(tmp_path, 40, 50)
    assert [cifar.NAMES[known[image.tobytes()]] for image, _ in provided] == [
        name for _, name in provided
    ]


def test_pairs_stay_together_for_ten_epochs(tmp_path: Path) -> None:
    pairs = example("segmentation_pairs")
    pairs.SIDE = 40  # of 384: as good a test, and quicker
    given = pairs.make_pairs([(28, 50), (37, 50), (50, 33)])
    batches = pairs.main(tmp_path, given)
    assert len(batches) == 15
    seen: Counter[bytes] = Counter()
    for images, masks in batches:
        assert images.shape == (2, 40, 40, 3)
        assert masks.shape == (2, 40, 40, 1)
        np.testing.assert_array_equal(masks[..., 0], images[..., 0] > 127)
        seen.update(image.tobytes() for image in images)
    assert sorted(seen.values()) == [10, 10, 10]


def test_lines_whole_files_and_words(tmp_path: Path) -> None:
    text = example("text_files")
    paths = text.make_files(tmp_path)
    rows = text.tables(paths)
    expected = [[n, i, i / 4] for n in range(3) for i in range(5)]
    assert rows.tolist() == expected
    assert text.whole(paths) == {Path(p).name: len(Path(p).read_bytes()) for p in paths}
    assert text.words(paths, 3) == [b"file,row,value", b"0,0,0.0", b"0,1,0.25"]
