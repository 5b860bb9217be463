# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every public function refuses what it cannot use, by its name.

The table is generated: each public callable, each of its parameters, and each value of a list of
wrong ones. A call works, or raises an error that names the parameter and says what it must be.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import FixedLenFeature, Index, Manifest, Ragged, RaggedFeature, Sparse
from fastrec.tfds import steps

RECORD = fastrec.encode_example({"a": 1})
SEQUENCE = fastrec.encode_sequence_example({"a": 1}, {"b": [[1], [2]]})
FEATURES = {"a": FixedLenFeature((), np.int64)}
MODULES = ("arrow", "events", "image", "metrics", "tables", "tfds")


class Odd:
    def __repr__(self) -> str:
        return "<Odd>"


WRONG: list[Any] = [
    None, True, False, 0, 1, -1, 2**70, -(2**70), 1.5, float("nan"), float("inf"), "", "x", "\0",
    "é" * 300, b"", b"x", [], {}, set(), (), [None], [Odd()], ["x", 1], {"x": Odd()}, {1: 2}, Odd(),
    np.float64(1.5), np.bool_(True), np.arange(3), np.array("x"), 1j, range(3), io.BytesIO(b""),
]  # fmt: skip
# Results of functions and exceptions, which programs do not make themselves.
RESULTS = {
    "Batches", "Converted", "DatasetIndex", "FileReport", "Headroom", "ManifestFile",
    "Repaired", "Report", "Resharded", "Skipped",
    "Verified", "arrow.Optional", "arrow.Record", "arrow.RecordBatch", "arrow.Table",
    "events.Table", "image.ImageSet", "tables.Scan", "tfds.Dataset", "tfds.DatasetInfo",
    "tfds.Part", "tfds.SplitInfo", "tfds.Splits", "crc32c_implementation", "find_shard",
    "image.decoders", "show_versions",
}  # fmt: skip
# What a message says instead of the name of the parameter.
SAYS = {
    "features": "feature", "context": "feature", "sequence": "feature", "mapping": "feature",
    "columns": "feature", "feature_lists": "feature", "context_features": "feature",
    "sequence_features": "feature", "records": "record", "sources": "source", "split": "parts",
    "capacity": "capacity", "record": "feature", "value": "storage_options",
}  # fmt: skip
# Values of these are data, or anything.
ANY = {
    "FixedLenFeature.default_value", "FixedLenSequenceFeature.default_value", "Buckets.value",
    "FileRange.filesystem", "StorageOptions.filesystem", "ShuffleBuffer.put.item",
    "events.follow.timeout", "ImageFeature.decode.keys", "Bytes.take.order",
}  # fmt: skip
NUMBER = (int, float, np.generic)
NEED_ARROW = ("convert", "tables.scan", "tfds.from_lerobot", "tfds.to_lerobot")


def calls(tmp: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Each public callable, and arguments that work."""
    from PIL import Image

    table = importlib.import_module("fastrec.arrow").table if _has("pyarrow") else None
    tfds = fastrec.tfds
    with fastrec.Writer("a.tfrecord", index=True) as writer:
        writer.write_many([RECORD] * 4)
    with fastrec.Writer("events.out.tfevents.1"):
        pass
    (tmp / "photos").mkdir()
    Image.new("RGB", (4, 4)).save("photos/x.png")
    png = Path("photos/x.png").read_bytes()
    tfds.write("sets", "d", {"train": [{"a": 1}] * 4}, {"a": np.int64})
    prepared = "sets/d/1.0.0"
    kinds = {"steps": tfds.features.Dataset({"action": np.float32})}
    tfds.write("sets", "arm", {"train": [{"steps": [{"action": 1.0}]}]}, kinds)
    episodes = tfds.load("sets/arm/1.0.0", "train")
    if table:
        tfds.to_lerobot(episodes, "lerobot", fps=10)
    index, manifest = Index.build("a.tfrecord"), Manifest.build("a.tfrecord")
    index.write_text("text.idx")
    manifest.save("manifest.json")
    fastrec.DatasetIndex.build("a.tfrecord", "set.frdataset")
    reader = fastrec.Reader("a.tfrecord")
    batcher = fastrec.Batcher("a.tfrecord", FEATURES, 2, seed=0)
    batches = iter(fastrec.Batcher("a.tfrecord"))
    report = batches.report()
    buffer: fastrec.ShuffleBuffer[Any] = fastrec.ShuffleBuffer(None)
    ragged = Ragged(np.arange(3), np.array([0, 1, 3]))
    sparse = Sparse(np.zeros((1, 1), np.int64), np.arange(1), (1,))
    file, size = {"source": "a.tfrecord"}, {"size": 2}
    strings = fastrec.Bytes.from_list([b"a", b"b"])
    splits = np.array([0, 3])
    arguments: dict[str, dict[str, Any]] = {
        "Arrays": {"values": np.arange(3), "row_splits": splits, "shapes": np.array([[3]])},
        "Augment": {}, "AudioFeature": {}, "BlockShuffle": {}, "ImageFeature": {},
        "StorageOptions": {}, "VideoFeature": {},
        "Batcher": file | {"features": FEATURES, "batch_size": 2},
        "Buckets": {"by": "a"},
        "Bytes": {"data": np.zeros(3, np.uint8), "offsets": np.array([0, 3])},
        "FileRange": {"path": "a.tfrecord"},
        "FixedLenFeature": {"shape": (), "dtype": np.int64},
        "FixedLenSequenceFeature": {"shape": (), "dtype": np.int64},
        "Index": {"path": "a.tfrecord", "core": index._core},
        "JsonFeature": {"path": "a", "shape": (), "dtype": np.int64},
        "Manifest": {"files": []},
        "Mixture": {"sources": ["a.tfrecord", "a.tfrecord"], "weights": [1, 1]},
        "Packing": {"tokens": "t", "length": 8},
        "Ragged": {"values": np.arange(3), "row_splits": np.array([0, 3])},
        "RaggedFeature": {"dtype": np.int64},
        "RawFeature": {"shape": (2,), "dtype": np.int64},
        "Reader": file,
        "SequenceFeatures": {"context": FEATURES},
        "ShuffleBuffer": {"capacity": 3},
        "Sparse": {"indices": np.zeros((1, 1), int), "values": np.arange(1), "dense_shape": (1,)},
        "SparseFeature": {"index_key": "i", "value_key": "v", "dtype": np.int64, "size": 4},
        "Split": {"part": 0, "parts": 2},
        "VarLenFeature": {"dtype": np.int64},
        "Writer": {"path": "new"},
        "convert": file | {"target": "new.jsonl"},
        "count": file, "verify": file, "infer_features": file, "file_ranges": file,
        "crc32c": {"data": b"abc"}, "masked_crc32c": {"data": b"abc"},
        "decode_raw": {"input_bytes": [b"ab"], "out_type": np.uint8},
        "encode_example": {"mapping": {"a": 1}},
        "encode_examples": {"columns": {"a": [1]}},
        "encode_sequence_example": {"context": {"a": 1}, "feature_lists": {"b": [[1]]}},
        "headroom": {"loader": [1, 2]},
        "pad": {"ragged": ragged},
        "parse_example": {"records": [RECORD], "features": FEATURES},
        "parse_many": {"reader": reader, "indices": [0], "features": FEATURES},
        "parse_sequence_example": {"records": [SEQUENCE], "context_features": FEATURES},
        "parse_single_example": {"record": RECORD, "features": FEATURES},
        "parse_single_sequence_example": {"record": SEQUENCE, "context_features": FEATURES},
        "repair": {"path": "a.tfrecord", "output": "new"},
        "reshard": file | {"target": "new"},
        "arrow.batch": {"columns": {"a": np.arange(2)}}, "arrow.table": file, "tables.scan": file,
        "image.CenterCrop": size, "image.RandomCrop": size, "image.Resize": size,
        "image.RandomResizedCrop": size, "image.ColorJitter": {}, "image.Flip": {},
        "image.Normalize": {"mean": [0.5] * 3, "std": [0.5] * 3},
        "image.decode": {"path": "photos/x.png"},
        "image.find": {"directory": "photos"},
        "image.inspect": {"path": "photos/x.png", "data": png},
        "image.write_directory": {"directory": "photos", "output": "new", "labels": None},
        "metrics.OpenTelemetry": {"meter": Odd()}, "metrics.WandB": {"run": Odd()},
        "metrics.Prometheus": {"path": "new.prom"}, "metrics.TensorBoard": {"directory": "new"},
        "metrics.trace_events": {"batches": batches},
        "metrics.write_trace": {"batches": batches, "path": "new"},
        "tfds.info": {"directory": prepared}, "tfds.is_prepared": {"directory": prepared},
        "tfds.load": {"directory": prepared, "split": "train"},
        "tfds.even_splits": {"split": "train", "n": 2},
        "tfds.split_for_jax_process": {"split": "train", "process_index": 0, "process_count": 1},
        "tfds.ReadInstruction": {"split_name": "train"},
        "tfds.write": {"directory": "new", "name": "d", "splits": {}, "features": {"a": np.int64}},
        "tfds.lerobot_features": {"dataset": episodes, "fps": 10},
        "tfds.to_lerobot": {"dataset": episodes, "target": "new", "fps": 10},
        "tfds.from_lerobot": {"source": "lerobot", "directory": "new", "name": "d"},
    }  # fmt: skip
    for name in ("scalars", "histograms", "images", "tags", "follow"):
        arguments[f"events.{name}"] = {"source": "events.out.tfevents.1"}
    arguments["events.follow"]["timeout"] = 0.0
    table_of: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}
    for name in public_names():
        if name in arguments and (table is not None or name not in NEED_ARROW):
            table_of[name] = (_of(name), arguments[name])
    dataset = fastrec.DatasetIndex.open("set.frdataset")
    arrays = fastrec.Arrays(np.arange(3), splits, np.array([[3]]))
    splits_of = tfds.info(prepared).splits
    methods: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "arrow.Table.batches": (table("a.tfrecord").batches if table else tuple, {}),
        "Arrays.take": (arrays.take, {"rows": [0]}),
        "Batcher.set_epoch": (batcher.set_epoch, {"epoch": 0}),
        "Report.from_dict": (fastrec.Report.from_dict, {"values": report.as_dict()}),
        "metrics.Prometheus.text": (fastrec.metrics.Prometheus("x.prom").text, {"report": report}),
        "Batcher.load_state_dict": (batcher.load_state_dict, {"state": batcher.state_dict()}),
        "Batcher.set_state": (batcher.set_state, {"state": batcher.get_state()}),
        "Bytes.from_list": (fastrec.Bytes.from_list, {"strings": [b"a"]}),
        "Bytes.take": (strings.take, {"order": [0]}),
        "DatasetIndex.build": (
            fastrec.DatasetIndex.build,
            {"source": "a.tfrecord", "path": "new.frdataset"},
        ),
        "DatasetIndex.open": (fastrec.DatasetIndex.open, {"path": "set.frdataset"}),
        "DatasetIndex.kind_of": (dataset.kind_of, {"number": 0}),
        "DatasetIndex.name_of": (dataset.name_of, {"number": 0}),
        "DatasetIndex.file_at": (dataset.file_at, {"number": 0}),
        "ImageFeature.decode": (fastrec.ImageFeature().decode, {"images": [png]}),
        "Index.build": (Index.build, {"path": "a.tfrecord"}),
        "Index.load": (Index.load, {"path": "a.tfrecord"}),
        "Index.save": (index.save, {"index": "new"}),
        "Index.write_text": (index.write_text, {"index": "new"}),
        "Index.read_text": (Index.read_text, {"path": "a.tfrecord", "index": "text.idx"}),
        "Manifest.build": (Manifest.build, file),
        "Manifest.save": (manifest.save, {"path": "new"}),
        "Manifest.load": (Manifest.load, {"path": "manifest.json"}),
        "Manifest.of": (Manifest.of, {"manifest": "manifest.json"}),
        "Manifest.entry": (manifest.entry, {"path": "a.tfrecord"}),
        "Manifest.check_file": (manifest.check_file, {"here": manifest[0]}),
        "Manifest.check_names": (manifest.check_names, {"paths": ["a.tfrecord"]}),
        "Manifest.check_records": (manifest.check_records, {"path": "a.tfrecord", "records": 4}),
        "Manifest.check_size": (
            manifest.check_size,
            {"path": "a.tfrecord", "size": manifest[0].size},
        ),
        "ManifestFile.of": (
            fastrec.ManifestFile.of,
            {"path": "a.tfrecord", "records": 4, "totals": (1, 2)},
        ),
        "Mixture.by_size": (fastrec.Mixture.by_size, {"sources": ["a.tfrecord"] * 2}),
        **{
            f"RaggedFeature.{kind}": (getattr(RaggedFeature, kind), {"key": "a"})
            for kind in ("RowLengths", "RowLimits", "RowSplits", "RowStarts", "ValueRowIds")
        },
        "RaggedFeature.UniformRowLength": (RaggedFeature.UniformRowLength, {"length": 1}),
        "Reader.blocks": (reader.blocks, {"count": 2}),
        "Reader.read_many": (reader.read_many, {"indices": [0]}),
        "Reader.path_of": (reader.path_of, {"index": 0}),
        "Reader.is_compressed": (reader.is_compressed, {"path": "a.tfrecord"}),
        "ShuffleBuffer.put": (buffer.put, {"item": 1}),
        "ShuffleBuffer.put_many": (buffer.put_many, {"items": [1]}),
        "ShuffleBuffer.take_many": (buffer.take_many, {"count": 0}),
        "ShuffleBuffer.shuffle": (_shuffle, {"items": [1]}),
        "Sparse.to_dense": (sparse.to_dense, {}),
        "StorageOptions.of": (fastrec.StorageOptions.of, {"value": None}),
        "Writer.write_many": (partial(_written, "write_many"), {"records": [b"a"]}),
        "Writer.write": (partial(_written, "write"), {"record": b"a"}),
        "Writer.write_batch": (partial(_written, "write_batch"), {"columns": {"a": [1]}}),
        "tables.Scan.batches": (fastrec.tables.scan("a.tfrecord").batches, {"columns": None}),
        "tfds.Dataset.tfds_id": (tfds.load(prepared, "train").tfds_id, {"index": 0}),
        "tfds.Dataset.batches": (tfds.load(prepared, "train").batches, {}),
        "tfds.Dataset.statistics": (tfds.load(prepared, "train").statistics, {}),
        "tfds.Dataset.steps": (partial(steps.make_steps, episodes), {}),
        "tfds.Splits.resolve": (splits_of.resolve, {"split": "train"}),
        "tfds.Splits.spans": (splits_of.spans, {"split": "train"}),
    }
    return table_of | methods


def _shuffle(items: Any) -> Any:
    return fastrec.ShuffleBuffer(3).shuffle(items)  # which ends the buffer


def _written(method: str, **arguments: Any) -> None:
    with fastrec.Writer("written", overwrite=True, fsync=False) as writer:
        getattr(writer, method)(**arguments)


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def public_names() -> Iterator[str]:
    """The public callables that are no exceptions, with their module."""
    for module in ("", *MODULES):
        home = importlib.import_module(f"fastrec.{module}".rstrip("."))
        for name in home.__all__:
            value = getattr(home, name)
            is_error = isinstance(value, type) and issubclass(value, Exception)
            if callable(value) and not is_error:
                yield f"{module}.{name}".lstrip(".")


def public_methods() -> Iterator[str]:
    """The methods with parameters of the public classes, with their class."""
    for name in public_names():
        owner = _of(name)
        for method in dir(owner) if isinstance(owner, type) else ():
            definer = next(each for each in owner.__mro__ if method in vars(each))
            function = getattr(owner, method)
            if method.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            if definer.__module__.startswith("fastrec") and _parameters(function):
                yield f"{name}.{method}"


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that a table of arguments may set."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    every = inspect.signature(function).parameters.values()
    return [each for each in every if each.kind not in kinds and each.name != "self"]


def _of(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"fastrec.{module}".rstrip(".")), last)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Fail if a call closes a descriptor: ``open(1)`` closes standard output."""
    before = [os.fstat(number).st_ino for number in range(3)]
    yield
    assert [os.fstat(number).st_ino for number in range(3)] == before


def is_wrong_kind(annotation: str, value: Any) -> bool:
    """Return whether the annotation of a parameter excludes a value."""
    words = set(re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", annotation)))
    if isinstance(value, (bool, np.bool_)):
        return bool(words & {"int", "float", "str"}) and "bool" not in words
    if isinstance(value, int):
        return bool(words & {"bool", "str", "PathLike"}) and not words & {"int", "float"}
    if isinstance(value, (float, complex)):
        return bool(words & {"bool", "int", "str", "PathLike"}) and "float" not in words
    if value is None:
        return bool(words & {"bool", "int", "float", "str"}) and "None" not in words
    return isinstance(value, Odd) and "Any" not in words


def problem(name: str, parameter: inspect.Parameter, value: Any, call: Callable[[], Any]) -> str:
    """Return what is wrong with the outcome of a call; the empty string if nothing is."""
    try:
        result = call()
        if inspect.isgenerator(result) or isinstance(result, Iterator):
            for _ in zip(range(3), result, strict=False):
                pass
        close = getattr(result, "abort", None) or getattr(result, "close", None)
        if close is not None:
            close()
    except fastrec.FastrecError:
        return ""
    except OSError as error:
        is_named = error.filename is not None or "no files to read" in str(error)
        return "" if is_named else f"{type(error).__name__}: {error}"
    except (TypeError, ValueError, ImportError) as error:
        text = str(error)
        said = {parameter.name, SAYS.get(parameter.name, parameter.name)}
        names_it = any(re.search(rf"\b{re.escape(each)}", text) for each in said)
        says_what = re.search(r"must|requires?|cannot|missing|not in|exclusive|name at least", text)
        is_own = type(error).__module__.startswith("fastrec") or type(error) in (
            TypeError, ValueError, ImportError, ModuleNotFoundError
        )  # fmt: skip
        if (
            "regular file" in text
            or "name at least one feature" in text
            or (names_it and says_what and is_own and text.isascii())
        ):
            return ""
        return f"{type(error).__name__}: {text}"
    except IndexError as error:
        is_number = parameter.name in (
            "index", "count", "indices", "number", "order", "rows",
        )  # fmt: skip
        return "" if is_number else f"IndexError: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    annotation = str(parameter.annotation)
    is_any = f"{name}.{parameter.name}" in ANY or parameter.annotation is inspect.Parameter.empty
    return "accepted" if not is_any and is_wrong_kind(annotation, value) else ""


def test_the_table_has_every_public_callable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    names = set(public_names()) - RESULTS | set(public_methods())
    assert not names - set(calls(tmp_path))


def test_wrong_arguments_are_refused_by_the_name_of_the_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")
    found: list[str] = []
    for name, (function, arguments) in calls(tmp_path).items():
        for parameter in _parameters(function):
            for value in WRONG:
                given = {**arguments, parameter.name: value}
                if name == "events.follow" and parameter.name == "timeout":
                    continue  # None and large numbers wait
                for key, text in given.items():
                    if isinstance(text, str) and text.startswith("new"):
                        given[key] = f"{name}-{parameter.name}-{len(found)}-{text}"
                with standard_streams():
                    wrong = problem(name, parameter, value, partial(function, **given))
                if wrong:
                    found.append(f"{name}({parameter.name}={value!r:.40}): {wrong}")
    assert not found, "\n" + "\n".join(found)


def test_every_function_knows_the_names_of_compressions_that_tensorflow_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    tried = set()
    for name, (function, arguments) in calls(tmp_path).items():
        parameter = inspect.signature(function).parameters.get("compression")
        if parameter is None or "TableCompression" in str(parameter.annotation):
            continue
        for number, compression in enumerate((None, "", "gzip", "GZIP", "zlib", "ZLIB")):
            given = {
                key: f"{name}-{number}-{value}" if value == "new" else value
                for key, value in arguments.items()
            }
            try:
                result = function(**given, compression=compression)
            except fastrec.FastrecError:  # the file is not compressed
                continue
            getattr(result, "close", lambda: None)()
            tried.add(name)
    assert {"Reader", "Batcher", "Writer", "verify", "count", "reshard"} <= tried


@pytest.mark.parametrize("name", ["Reader", "Batcher", "Writer", "reshard", "verify", "pad"])
def test_a_misspelt_parameter_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match="overwirte"):
        _of(name)("a.tfrecord", overwirte=True)
