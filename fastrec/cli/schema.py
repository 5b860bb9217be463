# SPDX-License-Identifier: Apache-2.0
"""Show which features the records of a file have, as a table and as code to paste."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

import fastrec
from fastrec.cli.report import Failure, Report, shown

__all__ = ["add_arguments", "feature_code", "feature_row", "features_code", "run"]

HEADERS = ("feature", "kind", "dtype", "shape")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file, a directory or a pattern")
    parser.add_argument(
        "--limit",
        type=int,
        default=1000,
        metavar="N",
        help="number of records to read (default 1000)",
    )


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print what :func:`fastrec.infer_features` finds."""
    if arguments.limit < 1:
        raise Failure("--limit must be at least 1", 2)
    path = arguments.path
    if fastrec.tfds.is_prepared(path):
        return show_prepared(path, report)
    if os.path.isdir(path):
        path = os.path.join(path, "*.tfrecord*")
    try:
        features = fastrec.infer_features(path, limit=arguments.limit)
    except fastrec.ExampleParseError as error:  # it numbers records through all files of a pattern
        raise Failure(f"{shown(path)}: {shown(str(error))}") from error
    if not features:
        raise Failure(f"{shown(path)}: no features found")
    report.table(HEADERS, [feature_row(name, features[name]) for name in sorted(features)])
    report.line()
    reader = fastrec.Reader(path)
    shuffle = not any(reader.is_compressed(each) for each in reader.paths)
    for line in features_code(path, features, shuffle=shuffle):
        report.line(line)
    return 0


def show_prepared(path: str, report: Report) -> int:
    """Print what a data set that TFDS has prepared says of itself."""
    info = fastrec.tfds.info(path)
    report.line(shown(info.full_name))
    report.line()
    rows = [(name, f"{s.num_examples}", f"{s.num_shards}") for name, s in info.splits.items()]
    report.table(("split", "records", "files"), rows)
    report.line()
    if info.features is not None:
        leaves = list(info.features.leaves())
        report.table(HEADERS, [leaf_row(leaf) for leaf in leaves])
        report.line()
    first = next(iter(info.splits), "train")
    report.line("import fastrec.tfds")
    report.line()
    report.line(f"ds = fastrec.tfds.load({quoted(path)}, split={quoted(first)})")
    return 0


def leaf_row(leaf: Any) -> tuple[str, str, str, str]:
    """Name, connector, dtype and shape of a feature of TFDS, with None for sizes that vary."""
    kind = type(leaf.value).__name__
    dtype = "bytes" if leaf.value.dtype.kind == "O" else leaf.value.dtype.name
    return shown(leaf.name), kind, dtype, f"{leaf.shape}"


def feature_row(name: str, feature: Any) -> tuple[str, str, str, str]:
    """Name, kind, dtype and shape of a feature, as they go into a table."""
    kind = type(feature).__name__.removesuffix("Feature")
    shape = shape_of(feature)
    extent = "any length" if shape is None else f"{shape}"
    if isinstance(shape, str):
        extent = f"as {shown(shape)!r} says"
    return shown(name), kind, dtype_code(feature.dtype).removeprefix("np."), extent


def features_code(path: str, features: Mapping[str, Any], *, shuffle: bool = True) -> list[str]:
    """Python that batches `path` with `features`."""
    entries = (f"    {quoted(name)}: {feature_code(features[name])}," for name in sorted(features))
    source = f"fastrec.Batcher({quoted(path)}, features, batch_size=32{', shuffle=True' * shuffle})"
    return [
        "import numpy as np",
        "import fastrec",
        "",
        "features = {",
        *entries,
        "}",
        f"for batch in {source}:",
        "    ...",
    ]


def feature_code(feature: Any) -> str:
    """The expression that makes `feature`: ``fastrec.FixedLenFeature((), np.int64)``."""
    dtype = dtype_code(feature.dtype)
    name = f"fastrec.{type(feature).__name__}"
    if not hasattr(feature, "shape"):
        return f"{name}({dtype})"
    arguments = [repr(shape_of(feature)), dtype]
    default = getattr(feature, "default_value", None)
    if default is not None:
        value = default.tolist() if isinstance(default, (np.ndarray, np.generic)) else default
        arguments.append(f"default_value={value!r}")
    if not getattr(feature, "little_endian", True):
        arguments.append("little_endian=False")
    if getattr(feature, "shape_dtype", None) is not None:
        arguments.append(f"shape_dtype={dtype_code(feature.shape_dtype)}")
    return f"{name}({', '.join(arguments)})"


def quoted(text: str) -> str:
    """`text` as a literal, in double quotes unless it has some itself."""
    literal = repr(text)
    return literal if '"' in text else f'"{literal[1:-1]}"'


def shape_of(feature: Any) -> tuple[int | str, ...] | str | None:
    """The shape of a record's value, or the features that say it; None where there is no saying."""
    shape: tuple[int | str, ...] | str | None = getattr(feature, "shape", None)
    return shape


def dtype_code(dtype: Any) -> str:
    """``np.int64``, ``bytes``: what to write for `dtype`."""
    if dtype in (bytes, str):
        return str(dtype.__name__)
    numpy_dtype = np.dtype(dtype)
    return "bytes" if numpy_dtype.kind in "SO" else f"np.{numpy_dtype.name}"
