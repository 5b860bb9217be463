# SPDX-License-Identifier: Apache-2.0
"""The recipe of docs/coming-from.md: a Batcher is the source of a pipeline of DALI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo
from page_code import block_of

import fastrec

pytest.importorskip("nvidia.dali", reason="nvidia-dali is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

from nvidia.dali import fn, pipeline_def

COUNT, BATCH = 70, 32
pytestmark = pytest.mark.filterwarnings("ignore:Checkpointing enabled in a pipeline")


@pytest.fixture(autouse=True)
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write photos, each with its number as the label, into the current directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    draw = np.random.default_rng(0)
    with fastrec.Writer("photos.tfrecord", shards=2) as writer:
        for number in range(COUNT):
            jpeg = encode(photo(draw, 20 + number, 30))
            writer.write({"image/encoded": jpeg, "image/class/label": number})


def recipe(
    state: dict[str, Any] | None = None, shard: tuple[int, int] = (0, 1), **options: Any
) -> dict[str, Any]:
    """Run the recipe as far as its pipeline, with these changes, and return its names."""
    code = block_of("coming-from", "from nvidia.dali import").replace('"auto"', str(shard))
    code, loop = code.split("\n\npipe = pipeline()\n")
    names: dict[str, Any] = {"fastrec": fastrec, "np": np}
    exec(code, names)
    if state is not None:
        names["batcher"].load_state_dict(json.loads(json.dumps(state)))
    names["pipe"] = names["pipeline"](seed=1, **options)
    names["loop"] = loop
    return names


def steps(names: dict[str, Any], epochs: int) -> list[tuple[int, list[int], Any, Any]]:
    """Run the loop of the recipe, and return epoch, labels, images and state of its steps."""
    kept: list[tuple[int, list[int], Any, Any]] = []
    names["keep"] = lambda epoch, labels, images, state: kept.append(
        (epoch, labels.as_array().tolist(), images.as_array(), state)
    )
    loop = names["loop"].replace("3)", f"{epochs})")
    exec(loop + "        keep(epoch, labels, images, state)\n", names)
    assert not names["states"]
    return kept


def labels_of(steps: list[Any]) -> list[tuple[int, list[int]]]:
    return [(epoch, labels) for epoch, labels, *_ in steps]


def test_the_recipe_runs_as_it_stands() -> None:
    names: dict[str, Any] = {"fastrec": fastrec, "np": np}
    exec(block_of("coming-from", "from nvidia.dali import"), names)
    assert names["epoch"] == 2
    assert names["images"].as_array().shape == (COUNT % BATCH, 224, 224, 3)
    assert names["state"]["used"] == COUNT


def test_an_epoch_has_each_photo_once_in_the_order_of_the_batcher() -> None:
    names = recipe()
    found = steps(names, 3)
    batcher = fastrec.Batcher(
        "photos-*.tfrecord", names["features"], BATCH, shuffle=True, seed=0, uneven="drop"
    )
    wanted = [
        (epoch, batch["image/class/label"].tolist()) for epoch in range(3) for batch in batcher
    ]
    assert labels_of(found) == wanted
    for epoch in range(3):
        numbers = [label for at, labels in wanted if at == epoch for label in labels]
        assert sorted(numbers) == list(range(COUNT))


def test_pixels_belong_to_their_labels() -> None:
    names = recipe()

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)  # type: ignore[untyped-decorator,unused-ignore]
    def pipeline() -> Any:
        encoded, labels = fn.external_source(names["source"], num_outputs=2, cycle="raise")
        return fn.decoders.image(encoded), labels

    images, labels = pipeline().run()
    for number in range(BATCH):
        height = 20 + int(labels.at(number))
        assert images.at(number).shape == (height, 30, 3)


def test_ranks_have_equally_many_batches_and_together_each_photo_once() -> None:
    ranks = [steps(recipe(shard=(rank, 2)), 1) for rank in range(2)]
    assert [len(labels) for _, labels in labels_of(ranks[0])] == [32, 3]
    assert [len(labels) for _, labels in labels_of(ranks[1])] == [32, 3]
    found = [label for each in ranks for _, labels in labels_of(each) for label in labels]
    assert sorted(found) == list(range(COUNT))


def test_each_state_continues_with_the_next_batch() -> None:
    whole = steps(recipe(), 2)
    assert len(whole) == 6
    for number, (*_, state) in enumerate(whole, 1):
        assert labels_of(steps(recipe(state), 2)) == labels_of(whole[number:])


def test_with_a_checkpoint_of_dali_the_images_are_the_same() -> None:
    names = recipe(enable_checkpointing=True)
    names["pipe"].run()
    state, checkpoint = names["states"].popleft(), names["pipe"].checkpoint()
    images, _ = names["pipe"].run()
    resumed = recipe(state, enable_checkpointing=True, checkpoint=checkpoint)
    again, _ = resumed["pipe"].run()
    np.testing.assert_array_equal(again.as_array(), images.as_array())
    other, _ = recipe(state)["pipe"].run()
    assert (other.as_array() != images.as_array()).any()


def test_a_damaged_record_is_named() -> None:
    path = Path(str(fastrec.Reader("photos-*.tfrecord").paths[1]))
    data = bytearray(path.read_bytes())
    data[int(fastrec.Index.build(path).offsets[7]) + 60] ^= 4
    path.write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError, match=rf"{path.name}.*record 7\)"):
        steps(recipe(), 1)
