# SPDX-License-Identifier: Apache-2.0
"""Have TFDS write datasets with every connector in all its forms, and say what it reads of them.

    python tests/tools/write_tfds.py DIRECTORY

needs tensorflow and tensorflow-datasets. It leaves datasets below DIRECTORY, what
``tfds.as_numpy`` gives for them in ``expected.json``, and the records that split instructions
stand for in ``splits.json``. tests/data/tfds was made by it.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

F = tfds.features
RECORDS = 4
SPLIT_SIZES = {"train": [13, 7, 0, 21], "test": [5], "long_one": [100, 57, 31, 60]}


def make_image(seed: int, shape: tuple[int, ...], dtype: Any = np.uint8) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == np.float32:
        return random.normal(size=shape).astype(np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def encoded(seed: int, kind: str) -> bytes:
    array = make_image(seed, (5, 6, 3))
    if kind == "bmp":
        import io

        from PIL import Image

        out = io.BytesIO()
        Image.fromarray(array).save(out, "BMP")
        return out.getvalue()
    encode = tf.io.encode_png if kind == "png" else tf.io.encode_jpeg
    return bytes(encode(array).numpy())


def wav() -> bytes:
    import io
    import wave

    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.array([0, 5, -7, 32767, -32768], "<i2").tobytes())
    return out.getvalue()


FEATURES: dict[str, dict[str, Any]] = {
    "tensors": {
        **{
            f"t_{name}": F.Tensor(shape=(2,), dtype=getattr(np, name))
            for name in [
                "bool_",
                "int8",
                "int16",
                "int32",
                "int64",
                "uint8",
                "uint16",
                "uint32",
                "uint64",
                "float16",
                "float32",
                "float64",
            ]
        },
        "t_string": F.Tensor(shape=(2,), dtype=np.str_),
        "unknown": F.Tensor(shape=(None,), dtype=np.int32),
        "unknown_first": F.Tensor(shape=(None, 2, 3), dtype=np.float32),
        "unknown_last": F.Tensor(shape=(2, None), dtype=np.uint64),
        "unknown_strings": F.Tensor(shape=(None, 2), dtype=np.str_),
        "as_bytes": F.Tensor(shape=(2, 3), dtype=np.float64, encoding="bytes"),
        "as_zlib": F.Tensor(shape=(2, 3), dtype=np.uint16, encoding="zlib"),
        "bytes_unknown": F.Tensor(shape=(None, 3), dtype=np.int16, encoding="bytes"),
        "bytes_bool": F.Tensor(shape=(3,), dtype=np.bool_, encoding="bytes"),
        "several_unknown": F.Tensor(shape=(None, 2, None), dtype=np.float32, encoding="zlib"),
        "several_bytes": F.Tensor(shape=(None, None), dtype=np.int64, encoding="bytes"),
        "scalar": F.Scalar(np.float64),
        "scalar_u64": F.Scalar(np.uint64),
        "scalar_bool": F.Scalar(np.bool_),
        "optional": F.Scalar(np.int32, optional=True),
        "optional_tensor": F.Tensor(shape=(2,), dtype=np.float32, optional=True),
        "optional_string": F.Tensor(shape=(), dtype=np.str_, optional=True),
        "optional_bool": F.Tensor(shape=(), dtype=np.bool_, optional=True),
        "label": F.ClassLabel(names=["cat", "dog", "h\u00f6rse"]),
        "label_number": F.ClassLabel(num_classes=5),
        "text": F.Text(),
        "nested": {"deep/er": {"label": F.ClassLabel(names=["a", "b"]), "x": np.int8}},
        "box": F.BBoxFeature(),
        "translation": F.Translation(["en", "de"]),
        "translations": F.TranslationVariableLanguages(["en", "de", "fr"]),
        "audio": F.Audio(),
        "audio_stereo": F.Audio(shape=(None, 2), dtype=np.int16),
    },
    "images": {
        "png": F.Image(shape=(4, 5, 3), encoding_format="png"),
        "any_size": F.Image(),
        "grey": F.Image(shape=(None, None, 1), encoding_format="png"),
        "alpha": F.Image(shape=(None, None, 4), encoding_format="png"),
        "wide": F.Image(shape=(None, 3, 1), dtype=np.uint16, encoding_format="png"),
        "wide_colour": F.Image(shape=(2, 3, 3), dtype=np.uint16, encoding_format="png"),
        "real": F.Image(shape=(2, 3, 1), dtype=np.float32),
        "labelled": F.LabeledImage(labels=["sky", "ground"], shape=(None, None, 1)),
        "video": F.Video(shape=(None, 3, 2, 3)),
        "video_grey": F.Video(shape=(2, 3, 2, 1)),
        "frames": F.Sequence(F.Image(shape=(2, 2, 3))),
        "jpeg": F.Image(shape=(None, None, 3), encoding_format="jpeg"),
    },
    "sequences": {
        "flat": F.Sequence(np.int64),
        "fixed": F.Sequence(np.float32, length=3),
        "labels": F.Sequence(F.ClassLabel(names=["x", "y", "z"])),
        "texts": F.Sequence(F.Text()),
        "arrays": F.Sequence(F.Tensor(shape=(2, 2), dtype=np.uint8)),
        "boxes": F.Sequence(F.BBoxFeature()),
        "rows": F.Sequence({"a": np.int32, "b": F.Text(), "c": {"d": np.bool_}}),
        "ragged": F.Sequence(F.Sequence(np.int16)),
        "ragged_three": F.Sequence(F.Sequence(F.Sequence(np.float32))),
        "ragged_strings": F.Sequence(F.Sequence(F.Text())),
        "ragged_arrays": F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.float32))),
        "ragged_rows": F.Sequence({"inner": F.Sequence(np.uint64), "name": np.str_}),
        "encoded": F.Sequence(F.Tensor(shape=(2,), dtype=np.int32, encoding="zlib")),
    },
    "episodes": {
        "steps": F.Dataset(
            {
                "observation": {
                    "image": F.Image(shape=(6, 5, 3), encoding_format="png"),
                    "depth": F.Image(shape=(2, 2, 1), dtype=np.float32),
                    "state": F.Tensor(shape=(3,), dtype=np.float64),
                    "embedding": F.Tensor(shape=(300,), dtype=np.float32),
                },
                "action": F.Tensor(shape=(2,), dtype=np.float32),
                "reward": F.Scalar(np.float32),
                "is_first": F.Scalar(np.bool_),
                "is_last": F.Scalar(np.bool_),
                "instruction": F.Text(),
                "counter": F.Scalar(np.uint64),
                "tags": F.Sequence(np.int64),
                "packed": F.Tensor(shape=(2, 2), dtype=np.int16, encoding="zlib"),
            }
        ),
        "episode_metadata": {"file_path": F.Text(), "id": F.Scalar(np.int32)},
    },
}


def number(name: str, i: int) -> Any:
    if name == "bool_":
        return np.array([i % 2, 1], np.bool_)
    if name.startswith("float"):
        return np.array([i / 3, -1e4], getattr(np, name))
    bounds = np.iinfo(getattr(np, name))
    return np.array([bounds.max - i, bounds.min + i], getattr(np, name))


def tensors(i: int) -> dict[str, Any]:
    names = [name for name in FEATURES["tensors"] if name.startswith("t_") and name != "t_string"]
    return {
        **{name: number(name[2:], i) for name in names},
        "t_string": ["", f"h\u00e9 {i}"],
        "unknown": np.arange(i, dtype=np.int32) - 1,
        "unknown_first": np.arange(6 * i, dtype=np.float32).reshape(i, 2, 3),
        "unknown_last": np.arange(2 * i, dtype=np.uint64).reshape(2, i) + np.uint64(2**63),
        "unknown_strings": np.array([["a", "bc"]] * i, object).reshape(i, 2),
        "as_bytes": np.arange(6.0).reshape(2, 3) * 1e300,
        "as_zlib": np.arange(6, dtype=np.uint16).reshape(2, 3) + i,
        "bytes_unknown": np.arange(3 * i, dtype=np.int16).reshape(i, 3),
        "bytes_bool": np.array([True, False, i > 1]),
        "several_unknown": np.full((i, 2, i + 1), i, np.float32),
        "several_bytes": np.full((i + 1, 2), -i, np.int64),
        "scalar": i / 7,
        "scalar_u64": np.uint64(2**64 - 1 - i),
        "scalar_bool": i % 2 == 0,
        "optional": None if i % 2 else i,
        "optional_tensor": None if i % 2 else np.array([i, 1.5], np.float32),
        "optional_string": None if i % 2 else "there",
        "optional_bool": None if i % 2 else True,
        "label": ["dog", "cat", "h\u00f6rse", -1][i],
        "label_number": i,
        "text": f"text \u20ac {i}",
        "nested": {"deep/er": {"label": "b", "x": -i}},
        "box": F.BBox(0.0, 0.25, 0.5, 1.0),
        "translation": {"en": "cat", "de": f"Katze {i}"},
        "translations": {"en": ["a cat", "the cat"], "fr": "chat"} if i else {"de": "x"},
        "audio": np.arange(i * 3, dtype=np.int64) - 2,
        "audio_stereo": np.arange(i * 2, dtype=np.int16).reshape(i, 2),
    }


def images(i: int) -> dict[str, Any]:
    kinds = ["png", "bmp", "png", "png"]
    return {
        "png": make_image(i, (4, 5, 3)),
        "any_size": encoded(i, kinds[i]),
        "grey": make_image(i, (2 + i, 3, 1)),
        "alpha": make_image(i, (2, 3 + i, 4)),
        "wide": make_image(i, (1 + i, 3, 1), np.uint16),
        "wide_colour": make_image(i, (2, 3, 3), np.uint16),
        "real": make_image(i, (2, 3, 1), np.float32),
        "labelled": make_image(i, (2, 2, 1)) % 2,
        "video": make_image(i, (i, 3, 2, 3)),
        "video_grey": make_image(i, (2, 3, 2, 1)),
        "frames": list(make_image(i, (i, 2, 2, 3))),
        "jpeg": encoded(i, "jpeg"),
    }


def sequences(i: int) -> dict[str, Any]:
    return {
        "flat": list(range(i)),
        "fixed": [0.5, i, -1],
        "labels": ["x", "z"][:i],
        "texts": ["one", "", "\u00fc"][:i],
        "arrays": np.arange(4 * i, dtype=np.uint8).reshape(i, 2, 2),
        "boxes": [F.BBox(0.0, 0.0, 0.5, 0.5)] * i,
        "rows": [{"a": k, "b": str(k), "c": {"d": k % 2 == 0}} for k in range(i)],
        "ragged": [list(range(k)) for k in range(i)],
        "ragged_three": [[[1.5] * k, [], [2.5]] for k in range(i)],
        "ragged_strings": [["a"] * k for k in range(i)],
        "ragged_arrays": [[[k, 0.5]] * k for k in range(i)],
        "ragged_rows": [{"inner": [2**64 - 1] * k, "name": f"n{k}"} for k in range(i)],
        "encoded": [np.array([k, -k], np.int32) for k in range(i)],
    }


def episodes(i: int) -> dict[str, Any]:
    length = i + 1
    return {
        "steps": [
            {
                "observation": {
                    "image": make_image(100 * i + t, (6, 5, 3)),
                    "depth": make_image(100 * i + t, (2, 2, 1), np.float32),
                    "state": np.array([i, t, 0.1]),
                    "embedding": np.full(300, i + t / 8, np.float32),
                },
                "action": np.array([t, -i], np.float32),
                "reward": float(t == length - 1),
                "is_first": t == 0,
                "is_last": t == length - 1,
                "instruction": f"do {i}",
                "counter": np.uint64(2**63 + t),
                "tags": list(range(t)),
                "packed": np.full((2, 2), t, np.int16),
            }
            for t in range(length)
        ],
        "episode_metadata": {"file_path": f"/data/{i}", "id": i},
    }


def builder(name: str, directory: str) -> Any:
    make = globals()[name]

    def info(self: Any) -> Any:
        keys = ("text", "label") if name == "tensors" else None
        return tfds.core.DatasetInfo(
            builder=self, features=F.FeaturesDict(FEATURES[name]), supervised_keys=keys,
            disable_shuffling=True,
        )  # fmt: skip

    def generate(count: int) -> Any:
        yield from ((i, make(i)) for i in range(count))

    methods = {
        "VERSION": tfds.core.Version("1.0.0"),
        "_info": info,
        "_split_generators": lambda self, _: {"train": generate(RECORDS), "test": generate(1)},
        "_generate_examples": lambda self: None,
    }
    kind = type(name.capitalize(), (tfds.core.GeneratorBasedBuilder,), methods)
    return kind(data_dir=directory)


def plain(value: Any) -> Any:
    """A value as JSON, to the bit."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tf.RaggedTensor):
        return {"ragged": plain_list(value.to_list()), "dtype": value.dtype.name}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind == "O":
            return {"strings": [plain(each) for each in array.reshape(-1)], "shape": array.shape}
        data = base64.b64encode(array.tobytes()).decode()
        return {"array": data, "dtype": array.dtype.name, "shape": array.shape}
    return {"steps": [plain(each) for each in value]}  # a dataset within


def plain_list(value: Any) -> Any:
    if isinstance(value, list):
        return [plain_list(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


def instructions(count: int) -> list[str]:
    rng = random.Random(7)

    def bound(unit: str) -> str:
        if rng.random() < 0.2:
            return ""
        value = {
            "%": rng.choice([rng.randint(-100, 100), round(rng.uniform(-100, 100), 2)]),
            "shard": rng.randint(-4, 4),
            "": rng.randint(-60, 60),
        }[unit]
        return f"{value}{unit}"

    def one() -> str:
        name = rng.choice(list(SPLIT_SIZES))
        kind = rng.random()
        if kind < 0.1:
            return name
        if kind < 0.2:
            return f"{name}[{rng.randint(-3, 3)}shard]"
        unit = rng.choice(["%", "%", "shard", ""])
        return f"{name}[{bound(unit)}:{bound(unit)}]"

    found = ["all", "train+test", "train[:1_0]", "train[:0]", "test[:0shard]", "all[:3]", "train[]"]
    return found + [
        "+".join(one() for _ in range(rng.choice([1, 1, 1, 2, 3]))) for _ in range(count)
    ]


def split_results(count: int) -> list[Any]:
    template = tfds.core.ShardedFileTemplate("", dataset_name="d", filetype_suffix="tfrecord")
    splits = tfds.core.SplitDict(
        [
            tfds.core.SplitInfo(
                name=name, shard_lengths=lengths, num_bytes=0,
                filename_template=template.replace(split=name),
            )
            for name, lengths in SPLIT_SIZES.items()
        ]
    )  # fmt: skip
    cases: list[Any] = [(text, 0, 0, False) for text in instructions(count)]
    for text in instructions(count // 8):
        n = 1 + len(text) % 7
        cases += [(text, n, k, len(text) % 2 == 0) for k in range(n)]
    found = []
    for text, n, k, drop in cases:
        try:
            part = text if n == 0 else tfds.even_splits(text, n, drop_remainder=drop)[k]
            spec = tfds.core.splits.AbstractSplit.from_spec(part)
            bounds = [(each.from_ or 0, each.to) for each in spec.to_absolute(splits)]
            spans = None  # of boundaries in the wrong order TFDS makes what cannot be
            if all(stop is None or start <= stop for start, stop in bounds):
                files = tfds.core.splits._make_file_instructions(list(splits.values()), part)
                spans = [[os.path.basename(f.filename), f.skip, f.take] for f in files]
        except Exception:
            spans = None
        found.append([text, n, k, drop, spans])
    return found


def main(directory: str, count: int = 1500) -> None:
    expected = {}
    for name in FEATURES:
        made = builder(name, directory)
        made.download_and_prepare()
        config = tfds.ReadConfig(interleave_cycle_length=1)
        found = tfds.as_numpy(made.as_dataset(split="train", read_config=config))
        expected[name] = [plain(each) for each in found]
    with open(os.path.join(directory, "expected.json"), "w") as file:
        json.dump(expected, file)
    with open(os.path.join(directory, "splits.json"), "w") as file:
        json.dump({"sizes": SPLIT_SIZES, "cases": split_results(count)}, file)


if __name__ == "__main__":
    main(sys.argv[1])
