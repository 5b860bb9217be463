# SPDX-License-Identifier: Apache-2.0
"""fastrec.events next to TensorBoard's EventAccumulator, on what several writers write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrec import events

accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="tensorboard is not installed",
)


def load(folder: Path) -> Any:
    every = dict.fromkeys(("scalars", "tensors", "histograms", "images"), 0)
    return accumulator.EventAccumulator(str(folder), size_guidance=every).Reload()


def check_scalars(folder: Path, expected: dict[str, list[tuple[int, float]]]) -> None:
    table = events.scalars(folder)
    theirs = load(folder)
    for tag, values in expected.items():
        rows = table["tag"] == tag
        steps, found = table["step"][rows].tolist(), table["value"][rows].tolist()
        assert list(zip(steps, found, strict=True)) == [
            (step, float(np.float32(value))) for step, value in values
        ]
        if tag in theirs.Tags()["scalars"]:
            read = [(e.wall_time, e.step, e.value) for e in theirs.Scalars(tag)]
        else:
            from tensorboard.util import tensor_util

            read = [
                (e.wall_time, e.step, tensor_util.make_ndarray(e.tensor_proto).item())
                for e in theirs.Tensors(tag)
            ]
        ours = zip(table["wall_time"][rows].tolist(), steps, found, strict=True)
        assert list(ours) == read


@pytest.mark.parametrize("module", ["torch.utils.tensorboard", "tensorboardX"])
def test_summary_writers(module: str, tmp_path: Path) -> None:
    writer = pytest.importorskip(module).SummaryWriter(str(tmp_path))
    losses = [(step, 1 / (step + 1)) for step in range(200)]
    for step, loss in losses:
        writer.add_scalar("train/loss", loss, step)
    samples = np.random.default_rng(0).standard_normal(1000)
    writer.add_histogram("weights", samples, 5)
    writer.add_image("image", np.zeros((3, 4, 6), np.uint8), 6)
    writer.close()
    check_scalars(tmp_path, {"train/loss": losses})
    theirs = load(tmp_path)
    table = events.histograms(tmp_path)
    (histogram,) = theirs.Histograms("weights")
    value = histogram.histogram_value
    assert table["step"].tolist() == [histogram.step] == [5]
    assert table["count"][0].tolist() == list(value.bucket)
    assert table["right"][0][:-1].tolist() == list(value.bucket_limit)[:-1]
    assert table["left"][0][0] == value.min
    assert table["right"][0][-1] == value.max
    images = events.images(tmp_path)
    (image,) = theirs.Images("image")
    assert images["image"][0] == image.encoded_image_string
    assert (images["width"][0], images["height"][0]) == (image.width, image.height) == (6, 4)


def test_summaries_of_tensorflow_2(tmp_path: Path) -> None:
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb

    writer = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    from tensorboard.compat.proto.event_pb2 import Event

    file = writer.EventFileWriter(str(tmp_path))
    values = [(step, step * 0.1) for step in range(50)]
    for step, value in values:
        file.add_event(Event(step=step, wall_time=step, summary=scalar_pb("loss", value)))
    file.close()
    check_scalars(tmp_path, {"loss": values})
    assert events.tags(tmp_path) == {".": {"loss": "scalars"}}


def test_a_table_is_a_pandas_and_a_polars_frame(tmp_path: Path) -> None:
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(tmp_path))
    writer.add_scalar("x", 1.0, 3)
    writer.close()
    table = events.scalars(tmp_path)
    for name in ("pandas", "polars"):
        frames = pytest.importorskip(name)
        assert frames.DataFrame(table)["value"].to_list() == [1.0]
