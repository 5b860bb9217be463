# SPDX-License-Identifier: Apache-2.0
"""The package lerobot opens converted datasets, and its policies train on steps of RLDS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.tfds
from fastrec.tfds import features

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("lerobot", reason="lerobot is not installed")
av = pytest.importorskip("av", reason="PyAV is not installed")

import torchvision_transforms  # noqa: E402, F401  # so that torchvision loads without operators
from lerobot.datasets import lerobot_dataset  # noqa: E402
from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402
from lerobot.datasets.utils import dataset_to_policy_features  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

SIZE, FPS, LENGTHS = 32, 10, [9, 4, 12]
STEP = {
    "observation": {
        "image": features.Image((SIZE, SIZE, 3), encoding_format="png"),
        "state": features.Tensor((4,)),
        "matrix": features.Tensor((2, 3)),
    },
    "action": features.Tensor((3,)),
    "reward": "float32",
    "is_last": "bool",
    "language_instruction": features.Text(),
}
TIMES = {"action": [each / FPS for each in range(6)], "observation.state": [-0.2, -0.1, 0.0]}


def picture(episode: int, step: int) -> Any:
    rows, columns = np.mgrid[:SIZE, :SIZE]
    planes = [(rows * 2 + columns + 20 * step + 30 * episode + 50 * c) % 200 for c in range(3)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def steps_of(number: int, length: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(number)
    return [
        {
            "observation": {
                "image": picture(number, step),
                "state": draw.normal(size=4).astype(np.float32),
                "matrix": draw.normal(size=(2, 3)).astype(np.float32),
            },
            "action": draw.normal(size=3).astype(np.float32),
            "reward": step / length,
            "is_last": step == length - 1,
            "language_instruction": f"do {number % 2}",
        }
        for step in range(length)
    ]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    episodes = [{"steps": steps_of(e, length)} for e, length in enumerate(LENGTHS)]
    folder = tmp_path_factory.mktemp("sets")
    described = {"steps": features.Dataset(STEP)}
    path = fastrec.tfds.write(folder, "arm", {"train": episodes}, described)
    return fastrec.tfds.load(path, split="train")


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep caches in the directory of the test."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def as_tensors(batch: Any) -> Any:
    from fastrec.torch import to_tensors

    return to_tensors(batch)


def check_items(theirs: Any, ours: dict[str, Any], tolerance: float = 1e-6) -> None:
    """Compare each item of a LeRobotDataset with the row of a batch."""
    for row in range(len(ours["index"])):
        item = dict(theirs[int(ours["index"][row])])
        assert item.keys() - ours.keys() == {"task_index"}
        for name, value in ours.items():
            if name == "task":
                assert value[row] == item[name]
                continue
            assert value[row].dtype == item[name].dtype, name
            assert value[row].shape == item[name].shape, name
            if value.dtype == torch.float32:
                assert torch.allclose(value[row], item[name], atol=tolerance), name
            else:
                assert torch.equal(value[row], item[name]), name


def test_a_converted_dataset_opens_with_equal_items(dataset: Any, tmp_path: Path) -> None:
    root = fastrec.tfds.to_lerobot(dataset, tmp_path / "arm", fps=FPS, shard_bytes=20_000)
    theirs = LeRobotDataset("local/arm", root=root, delta_timestamps=TIMES)
    assert (theirs.num_episodes, len(theirs)) == (len(LENGTHS), sum(LENGTHS))
    assert theirs.meta.tasks.index.tolist() == ["do 0", "do 1"]
    steps = dataset.steps(8, fps=FPS, delta_timestamps=TIMES, shuffle=True, transform=as_tensors)
    seen = 0
    for batch in steps:
        check_items(theirs, batch)
        seen += len(batch["index"])
    assert seen == sum(LENGTHS)
    described = fastrec.tfds.lerobot_features(dataset, fps=FPS)
    plain = {name: {**each, "shape": tuple(each["shape"])} for name, each in described.items()}
    assert plain == theirs.meta.features
    part = LeRobotDataset("local/arm", root=root, episodes=[1])
    assert len(part) == LENGTHS[1]


def test_statistics_are_those_of_the_package(dataset: Any, tmp_path: Path) -> None:
    from lerobot.datasets.compute_stats import aggregate_stats, compute_episode_stats

    root = fastrec.tfds.to_lerobot(dataset, tmp_path / "arm", fps=FPS)
    theirs = LeRobotDataset("local/arm", root=root)
    names = ["action", "observation.state", "observation.matrix", "next.reward", "timestamp"]
    described = theirs.meta.features
    found = []
    for episode in dataset:
        steps = episode["steps"].columns()
        columns = {
            "action": steps["action"],
            "observation.state": steps["observation"]["state"],
            "next.reward": steps["reward"],
        }
        found.append(compute_episode_stats(columns, described))
    wanted = aggregate_stats(found)
    for name in set(names) & set(wanted):
        for key in ("min", "max", "mean", "std", "count"):
            ours = theirs.meta.stats[name][key]
            assert ours.shape == wanted[name][key].shape, (name, key)
            assert np.allclose(ours, wanted[name][key], atol=1e-5), (name, key)
    image = theirs.meta.stats["observation.images.image"]
    assert image["mean"].shape == image["q99"].shape == (3, 1, 1)


def frames(path: Any, times: Any, tolerance: float, backend: Any = None) -> Any:
    """Decode frames with PyAV, where neither torchcodec nor torchvision can."""
    with av.open(str(path)) as container:
        found = {float(f.time): f.to_ndarray(format="rgb24") for f in container.decode(video=0)}
    nearest = [min(found, key=lambda at: abs(at - time)) for time in times]
    assert max(abs(at - time) for at, time in zip(nearest, times, strict=True)) < tolerance
    return torch.from_numpy(np.stack([found[at] for at in nearest])).permute(0, 3, 1, 2) / 255


def test_videos_have_the_frames_of_the_steps(
    dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lerobot_dataset, "decode_video_frames", frames)
    root = fastrec.tfds.to_lerobot(dataset, tmp_path / "arm", fps=FPS, videos=True)
    theirs = LeRobotDataset("local/arm", root=root, delta_timestamps=TIMES, video_backend="pyav")
    [batch] = dataset.steps(100, fps=FPS, delta_timestamps=TIMES, transform=as_tensors)
    name = "observation.images.image"
    images = batch.pop(name)
    for row in range(len(images)):
        item = theirs[int(batch["index"][row])]
        assert item[name].shape == images[row].shape
        assert (item[name] - images[row]).abs().mean() < 0.05  # a video loses details
    batch = dict(batch)
    plain = [{k: v for k, v in theirs[int(at)].items() if k != name} for at in batch["index"]]
    order = {int(at): row for row, at in enumerate(batch["index"])}
    check_items([plain[order[at]] for at in range(len(plain))], batch)


@pytest.mark.parametrize("videos", [False, True])
def test_a_dataset_of_the_package_becomes_records(tmp_path: Path, videos: bool) -> None:
    described = {
        "observation.images.front": {
            "dtype": "video" if videos else "image",
            "shape": (SIZE, SIZE, 3),
            "names": ["height", "width", "channels"],
        },
        "observation.state": {"dtype": "float32", "shape": (4,), "names": list("abcd")},
        "observation.state.gripper": {"dtype": "float32", "shape": (2,), "names": None},
        "observation.matrix": {"dtype": "float32", "shape": (2, 3), "names": None},
        "action": {"dtype": "float32", "shape": (3,), "names": None},
    }
    options: dict[str, Any] = {"vcodec": "h264"} if videos else {}
    theirs = LeRobotDataset.create(
        "local/arm", FPS, described, root=tmp_path / "arm", use_videos=videos, **options
    )
    for number, length in enumerate(LENGTHS):
        for step in steps_of(number, length):
            seen = step["observation"]
            theirs.add_frame(
                {
                    "observation.images.front": seen["image"],
                    "observation.state": seen["state"],
                    "observation.state.gripper": seen["state"][:2],
                    "observation.matrix": seen["matrix"],
                    "action": step["action"],
                    "task": step["language_instruction"],
                }
            )
        theirs.save_episode(parallel_encoding=False)
    theirs.finalize()
    path = fastrec.tfds.from_lerobot(tmp_path / "arm", tmp_path, "back")
    back = fastrec.tfds.load(path, split="train")
    assert len(back) == len(LENGTHS)
    for number, episode in enumerate(back):
        found = episode["steps"].columns()
        wanted = steps_of(number, LENGTHS[number])
        for row, step in enumerate(wanted):
            seen = step["observation"]
            assert np.array_equal(found["observation"]["state"][row], seen["state"])
            assert found["observation"]["state.gripper"][row].tolist() == seen["state"][:2].tolist()
            assert np.array_equal(found["observation"]["matrix"][row], seen["matrix"])
            assert np.array_equal(found["action"][row], step["action"])
            assert found["language_instruction"][row] == step["language_instruction"].encode()
            image = found["observation"]["front"][row].astype(int)
            assert np.abs(image - seen["image"]).mean() < (12 if videos else 0.1)
        assert found["is_first"].tolist() == [True] + [False] * (len(wanted) - 1)


def test_a_policy_learns_from_steps(dataset: Any) -> None:
    from lerobot.configs.types import FeatureType
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot.policies.factory import make_pre_post_processors

    described = fastrec.tfds.lerobot_features(dataset, fps=FPS)
    del described["observation.matrix"]
    found = dataset_to_policy_features(described)
    outputs = {name: each for name, each in found.items() if each.type is FeatureType.ACTION}
    config = ACTConfig(
        input_features={name: each for name, each in found.items() if name not in outputs},
        output_features=outputs,
        chunk_size=6,
        n_action_steps=6,
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        n_vae_encoder_layers=1,
        pretrained_backbone_weights=None,
        device="cpu",
    )
    policy = ACTPolicy(config)
    stats = dataset.statistics(["steps/action", "steps/observation/state"])
    named = {"action": "steps/action", "observation.state": "steps/observation/state"}
    prepare, _ = make_pre_post_processors(
        config,
        dataset_stats={
            **{name: stats[path].to_dict() for name, path in named.items()},
            "observation.images.image": {"mean": [[[0.5]]] * 3, "std": [[[0.5]]] * 3},
        },
    )
    times = {"action": [each / FPS for each in config.action_delta_indices]}
    optimizer = torch.optim.AdamW(policy.get_optim_params(), lr=1e-3)
    losses = []
    policy.train()
    for batch in dataset.steps(
        8, fps=FPS, delta_timestamps=times, shuffle=True, epochs=2, transform=as_tensors
    ):
        del batch["observation.matrix"]
        assert batch["action_is_pad"].shape == (len(batch["index"]), 6)
        loss, _ = policy.forward(prepare(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert len(losses) >= 6
    assert np.isfinite(losses).all()
