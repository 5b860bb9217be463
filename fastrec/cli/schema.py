# SPDX-License-Identifier: Apache-2.0
"""Show which features the records of a file have, as a table and as code to paste."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec.cli.files import STDIN, expand, name_of, standard_input
from fastrec.cli.grammar import USAGE, add_json, add_paths, whole_number
from fastrec.cli.report import Failure, Report, shown
from fastrec.parsing.feature_stats import Features, FeatureStats, InferredSequence

__all__ = ["add_arguments", "feature_code", "feature_row", "features_code", "run"]

_DECODED = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WebP")
_HEARD = ("WAV", "FLAC", "MP3", "Ogg", "M4A", "AIFF", "AU")
_WATCHED = ("MP4", "WebM", "QuickTime", "AVI")
HEADERS = ("feature", "kind", "dtype", "shape")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec schema``."""
    add_paths(parser)
    parser.add_argument(
        "-n",
        "--limit",
        type=whole_number(0),
        default=1000,
        metavar="N",
        help="number of records to read, 0 for all (default 1000)",
    )
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print the result of :func:`fastrec.infer_features`, and code that reads the file."""
    paths = arguments.paths
    if len(paths) == 1 and os.path.isdir(paths[0]) and fastrec.tfds.is_prepared(paths[0]):
        if arguments.json:
            report.json(_prepared_json(fastrec.tfds.info(paths[0])))
            return 0
        return show_prepared(paths[0], report)
    files, missing = expand(paths, any_shards=arguments.any_shards)
    if missing:
        raise missing[0]
    if STDIN in files and len(files) > 1:
        raise Failure("standard input and other files are mutually exclusive", USAGE)
    named = shown(paths[0]) if len(paths) == 1 else f"{len(files)} files"
    try:
        source: Any = standard_input() if files == [STDIN] else files
        features = fastrec.infer_features(source, limit=arguments.limit or None, shards="any")
    except fastrec.ExampleParseError as error:
        hint = "; `fastrec head` shows records of any kind"
        raise Failure(f"{shown(str(error))}{hint}") from error
    if not features:
        raise Failure(f"{named}: no features found")
    if arguments.json:
        report.json(_json(features))
        return 0
    headers, *rows = features.rows()
    report.table(headers, rows, right=(2, 3), spare=(5, 4, 3))
    report.line()
    reader = fastrec.Reader(source, shards="any")
    shuffle = files != [STDIN] and not any(map(reader.is_compressed, reader.paths))
    names = [name_of(path) for path in paths]
    for line in features_code(names if len(names) > 1 else names[0], features, shuffle=shuffle):
        report.line(line)
    return 0


def _json(features: Features | InferredSequence) -> dict[str, Any]:
    if isinstance(features, InferredSequence):
        parts = {"features": features.context, "feature_lists": features.sequence}
    else:
        parts = {"features": features}
    found: dict[str, Any] = {"records": features.records}
    for part, described in parts.items():
        found[part] = {
            name: _feature_json(described.stats[name], feature, described.of_lists)
            for name, feature in described.items()
        }
    return found


def _feature_json(seen: FeatureStats, feature: Any, of_list: bool) -> dict[str, Any]:
    frames = {"frames": list(seen.frames)} if of_list else {}
    return {
        "kind": seen.kinds[0] if seen.kinds else None,
        "present": seen.named if of_list else seen.present,
        **frames,
        "values": [min(seen.fewest, seen.most), seen.most],
        "range": [seen.low, seen.high],
        "nan": seen.nan,
        "infinite": seen.infinite,
        "format": seen.format,
        "spec": feature_code(feature),
    }


def _prepared_json(info: Any) -> dict[str, Any]:
    leaves = [] if info.features is None else map(leaf_row, info.features.leaves())
    return {
        "name": info.full_name,
        "splits": {
            name: {"records": split.num_examples, "files": split.num_shards}
            for name, split in info.splits.items()
        },
        "features": {name: {"kind": kind, "dtype": dtype, "shape": shape}
                     for name, kind, dtype, shape in leaves},
    }  # fmt: skip


def show_prepared(path: str, report: Report) -> int:
    """Print the description of a dataset that TFDS has prepared."""
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
    """Return name, connector, dtype and shape of a TFDS feature, with None for varying sizes."""
    kind = type(leaf.value).__name__
    dtype = "bytes" if leaf.value.dtype.kind == "O" else leaf.value.dtype.name
    return shown(leaf.name), kind, dtype, f"{leaf.shape}"


def feature_row(name: str, feature: Any) -> tuple[str, str, str, str]:
    """Return name, kind, dtype and shape of a feature for a table."""
    kind = type(feature).__name__.removesuffix("Feature")
    shape = shape_of(feature)
    extent = "any length" if shape is None else f"{shape}"
    if isinstance(shape, str):
        extent = f"as {shown(shape)!r} says"
    return shown(name), kind, dtype_code(feature.dtype).removeprefix("np."), extent


def features_code(
    path: str | Sequence[str],
    features: Mapping[str, Any] | fastrec.SequenceFeatures,
    *,
    shuffle: bool = True,
) -> list[str]:
    """Return Python code that batches `path` with `features`."""
    if isinstance(features, fastrec.SequenceFeatures):
        entries = [
            "features = fastrec.SequenceFeatures(",
            "    context={",
            *_entries(features.context, 8),
            "    },",
            "    sequence={",
            *_entries(features.sequence, 8),
            "    },",
            ")",
        ]
    else:
        entries = ["features = {", *_entries(features, 4), "}"]
    paths = quoted(path) if isinstance(path, str) else f"[{', '.join(map(quoted, path))}]"
    source = f"fastrec.Batcher({paths}, features, batch_size=32{', shuffle=True' * shuffle})"
    return [
        "import numpy as np",
        "import fastrec",
        "",
        *entries,
        f"for batch in {source}:",
        "    ...",
    ]


def _entries(features: Mapping[str, Any], indent: int) -> list[str]:
    return [
        f"{' ' * indent}{quoted(name)}: {feature_code(features[name])},"
        f"{_image_hint(features, name)}"
        for name in sorted(features)
    ]


def _image_hint(features: Mapping[str, Any], name: str) -> str:
    """Return a comment about the format of a feature's values."""
    if not isinstance(features, Features):
        return ""
    stats = features.stats.get(name)
    kinds = (fastrec.FixedLenFeature, fastrec.RaggedFeature)
    if stats is None or not stats.format or not isinstance(features[name], kinds):
        return ""
    is_one = stats.fewest == stats.most == 1
    if is_one and not features.of_lists and stats.format in _HEARD:
        return f"  # {stats.format}; fastrec.AudioFeature(16000, 1) decodes it"
    if is_one and not features.of_lists and stats.format in _WATCHED:
        hint = 'fastrec.VideoFeature(16, (112, 112), fit="resize") decodes it'
        return f"  # {stats.format}; {hint}"
    if stats.format not in _DECODED or (features.of_lists and not is_one):
        return f"  # {stats.format}"
    ragged = "" if is_one else ", ragged=True"
    return f'  # {stats.format}; fastrec.ImageFeature((224, 224), fit="resize"{ragged}) decodes it'


def feature_code(feature: Any) -> str:
    """Return the expression that creates `feature`: ``fastrec.FixedLenFeature((), np.int64)``."""
    dtype = dtype_code(feature.dtype)
    name = f"fastrec.{type(feature).__name__}"
    if not hasattr(feature, "shape"):
        return f"{name}({dtype})"
    arguments = [repr(shape_of(feature)), dtype]
    default = getattr(feature, "default_value", None)
    if default is not None:
        value = default.tolist() if isinstance(default, (np.ndarray, np.generic)) else default
        arguments.append(f"default_value={value!r}")
    if getattr(feature, "encoding", None) is not None:
        arguments.append(f'encoding="{feature.encoding}"')
    if not getattr(feature, "little_endian", True):
        arguments.append("little_endian=False")
    if getattr(feature, "shape_dtype", None) is not None:
        arguments.append(f"shape_dtype={dtype_code(feature.shape_dtype)}")
    return f"{name}({', '.join(arguments)})"


def quoted(text: str) -> str:
    """Return `text` as a literal, in double quotes unless it contains some."""
    literal = repr(text)
    return literal if '"' in text else f'"{literal[1:-1]}"'


def shape_of(feature: Any) -> tuple[int | str, ...] | str | None:
    """Return the shape of a value, or the features that store it; None if it varies."""
    shape: tuple[int | str, ...] | str | None = getattr(feature, "shape", None)
    return shape


def dtype_code(dtype: Any) -> str:
    """Return the code for a dtype: ``np.int64``, ``bytes``."""
    if dtype in (bytes, str):
        return str(dtype.__name__)
    numpy_dtype = np.dtype(dtype)
    return "bytes" if numpy_dtype.kind in "SO" else f"np.{numpy_dtype.name}"
