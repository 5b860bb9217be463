# SPDX-License-Identifier: Apache-2.0
"""Datasets of TFDS and RLDS: fastrec.tfds beside tensorflow_datasets and tf.data.

    python benchmarks/tfds_sets.py [--steps 120000] [--rounds 3] [--driver FILE] >> section.md

needs tensorflow and tensorflow-datasets beside fastrec, and prints a section in Markdown for
benchmarks/README.md. Each measurement is a process of its own, those of one job in turn; the best
counts. `--driver` is benchmarks/decode_ceiling.c, compiled: it decodes the same images on as many
threads as there are processors, and does nothing else. It writes some 400 MB below the temporary
directory.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import io
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastrec.tfds
from fastrec.bench.machine import cpu_name, memory_text
from fastrec.tfds import features
from fastrec.threads import usable_cpus

BATCH = 128
BUFFER = 100_000
T = 40  # steps of an episode
EPISODES = 1000  # that are parsed one by one
DIGITS, TEXTS = 60_000, 25_000  # of MNIST and IMDB reviews


# --- data ---------------------------------------------------------------------------------------


def jpegs(count: int, side: int) -> list[bytes]:
    """Smooth images, about as large as photographs of that size are."""
    from PIL import Image

    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8))
        out = io.BytesIO()
        coarse.resize((side, side), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
        found.append(out.getvalue())
    return found


def episodes(count: int) -> Iterator[dict[str, Any]]:
    images = jpegs(64, 64)
    embedding = np.arange(64, dtype=np.float32)
    for e in range(count):
        yield {
            "steps": [
                {
                    "observation": {"image": images[(e + t) % 64], "state": np.full(7, t)},
                    "action": np.full(7, e),
                    "reward": 0.0,
                    "is_first": t == 0,
                    "is_last": t == T - 1,
                    "is_terminal": t == T - 1,
                    "language_instruction": "put the cup into the sink",
                    "language_embedding": embedding,
                }
                for t in range(T)
            ]
        }


def digit(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Strokes on black, which take about as many bytes as those of MNIST."""
    image = np.zeros((28, 28, 1), np.uint8)
    for row in range(4, 24):
        left = int(rng.integers(6, 16))
        image[row, left : left + 5, 0] = rng.integers(0, 256, 5)
    return image


def make(directory: Path, steps: int) -> None:
    step = {
        "observation": {
            "image": features.Image((64, 64, 3), encoding_format="jpeg"),
            "state": features.Tensor((7,)),
        },
        "action": features.Tensor((7,)),
        "reward": "float32",
        "is_first": "bool",
        "is_last": "bool",
        "is_terminal": "bool",
        "language_instruction": features.Text(),
        "language_embedding": features.Tensor((64,)),
    }
    described: dict[str, Any] = {"steps": features.Dataset(step)}
    write = fastrec.tfds.write
    write(directory, "arm", {"train": episodes(steps // T)}, described, shard_bytes=32 << 20)
    digits = {"image": features.Image((28, 28, 1), encoding_format="png")}
    described = {**digits, "label": features.ClassLabel(10)}
    rng = np.random.default_rng(0)
    images = [digit(rng) for _ in range(64)]
    examples = ({"image": images[i % 64], "label": i % 10} for i in range(DIGITS))
    write(directory, "digits", {"train": examples}, described)
    described = {"text": features.Text(), "label": features.ClassLabel(2)}
    texts = ({"text": "a good film " * (1 + i % 40), "label": i % 2} for i in range(TEXTS))
    write(directory, "reviews", {"train": texts}, described)


# --- what is measured ---------------------------------------------------------------------------


def consume(batches: Any, size: Callable[[Any], int]) -> dict[str, float]:
    began = time.perf_counter()
    count, first, most, due = 0, 0.0, 0.0, 0.0
    for batch in batches:
        now = time.perf_counter() - began
        first = first or now
        count += size(batch)
        if now > due:  # a few times a second
            most, due = max(most, own_memory()), now + 0.3
    return {"count": count, "seconds": time.perf_counter() - began, "first": first, "mib": most}


def own_memory() -> float:
    """MiB of this process that are no file's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def rows(batch: Any) -> int:
    return len(batch["_frame_index"])


def steps_fastrec(directory: str, decode: bool) -> dict[str, float]:
    began = time.perf_counter()
    dataset = fastrec.tfds.load(directory, split="train", name="arm")
    batcher = dataset.steps(BATCH, shuffle=True, seed=0, decode=decode)
    prepared = time.perf_counter() - began
    return {**consume(batcher, rows), "prepared": prepared}


def steps_tf(directory: str, decode: bool) -> dict[str, float]:
    """As dlimp does it: whole episodes undecoded, their steps through a buffer, then images."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(f"{directory}/arm/1.0.0")
    skip = {"steps": tfds.decode.SkipDecoding()}
    found = builder.as_dataset(split="train", decoders=skip, shuffle_files=True)
    found = found.flat_map(lambda episode: tf.data.Dataset.from_tensor_slices(episode["steps"]))
    found = found.shuffle(BUFFER, seed=0)

    def decoded(step: Any) -> Any:
        image = tf.io.decode_image(step["observation"]["image"], expand_animations=False)
        return {**step, "observation": {**step["observation"], "image": image}}

    if decode:
        found = found.map(decoded, num_parallel_calls=tf.data.AUTOTUNE)
    found = found.batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return consume(found.as_numpy_iterator(), lambda batch: len(batch["action"]))


def episodes_fastrec(directory: str, decode: bool) -> dict[str, float]:
    dataset = fastrec.tfds.load(directory, split="train", name="arm", decode=decode)[:EPISODES]
    return consume(dataset, lambda episode: len(episode["steps"]))


def episodes_np(directory: str, decode: bool) -> dict[str, float]:
    import tensorflow_datasets as tfds

    made = tfds.features.FeaturesDict.from_config(f"{directory}/arm/1.0.0")
    records = itertools.islice(fastrec.Reader(f"{directory}/arm/1.0.0"), EPISODES)
    return consume(map(made.deserialize_example_np, records), lambda e: len(e["steps"]))


def steps_of_episodes_fastrec(directory: str, decode: bool) -> dict[str, float]:
    dataset = fastrec.tfds.load(directory, split="train", name="arm")[: EPISODES // 10]
    return consume(dataset, lambda episode: sum(1 for _ in episode["steps"]))


def steps_of_episodes_np(directory: str, decode: bool) -> dict[str, float]:
    import tensorflow_datasets as tfds

    made = tfds.features.FeaturesDict.from_config(f"{directory}/arm/1.0.0")
    records = itertools.islice(fastrec.Reader(f"{directory}/arm/1.0.0"), EPISODES // 10)
    found = map(made.deserialize_example_np, records)
    return consume(found, lambda episode: sum(1 for _ in episode["steps"]))


def rows_fastrec(name: str) -> Callable[[str, bool], dict[str, float]]:
    def measure(directory: str, decode: bool) -> dict[str, float]:
        return consume(fastrec.tfds.load(directory, "train", name=name), lambda _: 1)

    return measure


def rows_tfds(name: str) -> Callable[[str, bool], dict[str, float]]:
    def measure(directory: str, decode: bool) -> dict[str, float]:
        import tensorflow_datasets as tfds

        found = tfds.builder_from_directory(f"{directory}/{name}/1.0.0").as_dataset(split="train")
        return consume(tfds.as_numpy(found), lambda _: 1)

    return measure


def batches_fastrec(name: str) -> Callable[[str, bool], dict[str, float]]:
    def measure(directory: str, decode: bool) -> dict[str, float]:
        dataset = fastrec.tfds.load(directory, "train", name=name)
        batcher = dataset.batches(BATCH, shuffle=True, seed=0)
        return consume(batcher, lambda batch: len(batch["label"]))

    return measure


def batches_tfds(name: str) -> Callable[[str, bool], dict[str, float]]:
    def measure(directory: str, decode: bool) -> dict[str, float]:
        import tensorflow_datasets as tfds

        found = tfds.builder_from_directory(f"{directory}/{name}/1.0.0").as_dataset(split="train")
        found = found.shuffle(10_000, seed=0).batch(BATCH).prefetch(2)
        return consume(found.as_numpy_iterator(), lambda batch: len(batch["label"]))

    return measure


Measure = Callable[[str, bool], dict[str, float]]
# Of the job's name: the two sides, whether images are decoded, the set whose images they are.
JOBS: dict[str, tuple[Measure, Measure, bool, str]] = {
    "steps shuffled, images decoded": (steps_fastrec, steps_tf, True, "arm"),
    "steps shuffled, images as files": (steps_fastrec, steps_tf, False, ""),
    "episodes, steps lazy (tfds without TensorFlow)": (episodes_fastrec, episodes_np, True, ""),
    "episodes, each step made (tfds without TensorFlow)": (
        steps_of_episodes_fastrec,
        steps_of_episodes_np,
        True,
        "",
    ),
    "digits one by one (tfds.as_numpy)": (rows_fastrec("digits"), rows_tfds("digits"), True, ""),
    "digits in shuffled batches": (
        batches_fastrec("digits"),
        batches_tfds("digits"),
        True,
        "digits",
    ),
    "texts one by one (tfds.as_numpy)": (rows_fastrec("reviews"), rows_tfds("reviews"), True, ""),
    "texts in shuffled batches": (batches_fastrec("reviews"), batches_tfds("reviews"), True, ""),
}


def run(job: str, side: int, directory: str) -> dict[str, float]:
    """One measurement, in a process of its own."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, __file__, "--one", job, str(side), directory]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_images(directory: str, name: str) -> str:
    """The first images of a set, as benchmarks/decode_ceiling.c takes them."""
    dataset = fastrec.tfds.load(directory, split="train", name=name, decode=False)
    if name == "arm":
        images = [step["observation"]["image"] for e in dataset[:10] for step in e["steps"]]
    else:
        images = [example["image"] for example in dataset[:400]]
    path = Path(directory, f"{name}.images")
    path.write_bytes(b"".join(struct.pack("I", len(data)) + data for data in images))
    return str(path)


def ceiling(driver: str, images: str, count: int) -> float:
    """Images a second that the libraries decode."""
    command = [driver, images, str(usable_cpus()), str(count)]
    done = subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    return count / float(done.stdout)


def row(job: str, directory: str, rounds: int, driver: str) -> str:
    """A line of the table."""
    name, turns, ceilings = JOBS[job][3], [], [0.0]
    images = write_images(directory, name) if name and driver else ""
    for _ in range(rounds):
        turns.append([run(job, side, directory) for side in (0, 1)])
        if images:
            ceilings.append(ceiling(driver, images, int(turns[0][0]["count"])))
    ours, theirs = (max(t[s]["count"] / t[s]["seconds"] for t in turns) for s in (0, 1))
    memory = [min(t[s]["mib"] for t in turns) for s in (0, 1)]
    first = [min(t[s]["first"] for t in turns) for s in (0, 1)]
    prepared = min(t[0].get("prepared", 0.0) for t in turns)
    most = f"{max(ceilings):,.0f}, {ours / max(ceilings):.2f}x" if max(ceilings) else ""
    return (
        f"| {job} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.1f}x | {most} "
        f"| {prepared:.2f} s | {first[0]:.2f} s, {first[1]:.2f} s "
        f"| {memory[0]:,.0f}, {memory[1]:,.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=120_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--driver", default="", help="benchmarks/decode_ceiling.c, compiled")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        job, side, directory = arguments.one
        ours, theirs, decode, _ = JOBS[job]
        print(json.dumps((theirs if int(side) else ours)(directory, decode)))
        return
    versions = [
        f"{name} {importlib.metadata.version(name)}" for name in ("tensorflow-datasets", "numpy")
    ]
    with tempfile.TemporaryDirectory() as directory:
        make(Path(directory), arguments.steps)
        print(f"## TFDS and RLDS: {arguments.steps:,} steps, {DIGITS:,} digits, {TEXTS:,} texts\n")
        print(
            f"`python benchmarks/tfds_sets.py --steps {arguments.steps}`, {', '.join(versions)}, "
            f"{cpu_name()}, {os.cpu_count()} processors, {memory_text()}, "
            f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; best of "
            f"{arguments.rounds} rounds. Steps are shuffled over all of them here, and by "
            f"tf.data through a buffer of {BUFFER:,}, as dlimp does it. The ceiling is "
            "libjpeg-turbo or libpng decoding the same images in C on all processors, and nothing "
            "else. Memory is the process's own, with that of its libraries.\n"
        )
        print(
            "| job | fastrec, a second | peer, a second | | *ceiling* | making rows "
            "| first batch | MiB |"
        )
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for job in JOBS:
            print(row(job, directory, arguments.rounds, arguments.driver), flush=True)


if __name__ == "__main__":
    main()
