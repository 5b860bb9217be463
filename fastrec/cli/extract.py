# SPDX-License-Identifier: Apache-2.0
"""Write the images, or other bytes, of records to files."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

import numpy as np

from fastrec.cli.files import STDIN, check_local, expand, name_of
from fastrec.cli.grammar import FINDING, USAGE, add_overwrite, add_paths, add_selection
from fastrec.cli.report import Failure, Report, counted, shown
from fastrec.cli.rows import Frames, Row
from fastrec.cli.select import Found, Selector
from fastrec.columns import Bytes
from fastrec.records.content import image_format, image_size
from fastrec.records.targets import write_file

__all__ = ["add_arguments", "run"]

_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "BMP": ".bmp", "WebP": ".webp"}
_UNSAFE = re.compile(r"[^\w.=@+-]+")
_MOST_NAMES = 20  # names of other features to remember for the error message
_LONGEST = 100  # bytes of one part of a name; a name of up to 255 bytes has two


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec extract``."""
    add_paths(parser)
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="output directory")
    parser.add_argument(
        "--feature", metavar="NAME", help="the feature of bytes (default: the one that has images)"
    )
    parser.add_argument(
        "--name", metavar="FEATURE", help="name the files after this feature, not only the record"
    )
    parser.add_argument(
        "--by", metavar="FEATURE", help="put the files into a directory for each of its values"
    )
    add_overwrite(parser)
    add_selection(parser, features=False)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write one file per value and print their number; existing files are an error.

    Names begin with the number of the record. No content of a record can lead out of the directory.
    """
    check_local([arguments.output], "--output")
    if arguments.output == STDIN:
        raise Failure("--output must be a directory, got -", USAGE)
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    feature: str | None = arguments.feature
    prefixes = _prefixes(files)
    count = lacking = 0
    others: dict[str, None] = {}  # features of bytes that hold no images
    for found in selector.records(files, missing):
        if found.row is None:
            selector.note_other(found.path, found.number)
            continue
        feature = feature or _with_images(found.row)
        values = None if feature is None else _flat(found.row.get(feature))
        if feature is None or values is None:
            lacking += 1
            if feature is None and len(others) < _MOST_NAMES:
                others.update(dict.fromkeys(_of_bytes(found.row)))
            continue
        if not isinstance(values, Bytes):
            raise Failure(f"{_place(found)}: feature {shown(feature)!r} holds numbers", FINDING)
        stem = _stem(found, prefixes[found.path], arguments.name)
        folder = os.path.join(arguments.output, _text(found.row, arguments.by) or "")
        os.makedirs(folder, exist_ok=True)
        for index, value in enumerate(values):
            name = stem + (f"-{index}" if len(values) > 1 else "")
            path = os.path.join(folder, name + _suffix(value))
            write_file(path, value, overwrite=arguments.overwrite, inputs=files, sync=False)
            count += 1
    selector.name_others()
    if feature is None and lacking:
        names = ", ".join(map(shown, others))
        hint = f"; --feature names one of: {names}" if names else ", nor other bytes"
        raise Failure(f"no feature holds images{hint}", USAGE)
    if feature is not None or not selector.status:
        line = f"wrote    {counted(count, 'file')} into {shown(arguments.output)}"
        if feature is not None and lacking:
            line += f"; {counted(lacking, 'record')} without {shown(feature)!r}"
        report.line(line)
    if arguments.feature is not None and not count and not selector.status:
        selector.name_unknown([arguments.feature])
    return selector.status or (0 if count else FINDING)


def _with_images(row: Row) -> str | None:
    """Return the feature whose first value is an image; None if the record lacks images."""
    for name, values in _of_bytes(row).items():
        if len(values) and _image_kind(values[0]):
            return name
    return None


def _of_bytes(row: Row) -> dict[str, Bytes]:
    """Return the features that hold bytes."""
    flat = {name: _flat(values) for name, values in row.items()}
    return {name: values for name, values in flat.items() if isinstance(values, Bytes)}


def _flat(values: Any) -> Any:
    """Return the values of all frames of a feature list, concatenated."""
    if not isinstance(values, Frames):
        return values
    strings = [frame for frame in values.frames if isinstance(frame, Bytes)]
    if len(strings) != len(values.frames):
        return np.zeros(0)  # numbers
    return Bytes.from_list([value for frame in strings for value in frame])


def _image_kind(value: bytes) -> str | None:
    kind = image_format(value)
    return kind if kind in ("JPEG", "PNG", "GIF") or (kind and image_size(value)) else None


def _place(found: Found) -> str:
    return f"{shown(name_of(found.path))}:{found.number}"


def _prefixes(files: list[str]) -> dict[str, str]:
    """Return the prefix of the names for each file: its name, or its position if names repeat."""
    if len(files) < 2:
        return dict.fromkeys(files, "")
    names = [_safe(os.path.basename(path)) for path in files]
    if len(set(names)) < len(names):
        names = [f"{index:05d}" for index in range(len(files))]
    return {path: f"{name}-" for path, name in zip(files, names, strict=True)}


def _stem(found: Found, prefix: str, feature: str | None) -> str:
    stem = f"{prefix}{found.number:08d}"
    assert found.row is not None
    text = _text(found.row, feature)
    return f"{stem}-{os.path.splitext(text)[0]}" if text else stem


def _text(row: Row, feature: str | None) -> str:
    """Return the first value of a feature as part of a file name."""
    values: Any = row.get(feature) if feature is not None else None
    if values is None or not hasattr(values, "__len__") or not len(values):
        return ""
    value = values[0]
    if isinstance(value, bytes):
        return _safe(value.decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2])
    return _safe(str(value))


def _safe(text: str) -> str:
    """Return `text` as a file name: without separators, not hidden, not ``..``, not too long."""
    safe = _UNSAFE.sub("_", text).lstrip(".").encode("utf-8", "replace")[:_LONGEST]
    return safe.decode("utf-8", "ignore")


def _suffix(value: bytes) -> str:
    kind = _image_kind(value)
    return _SUFFIXES[kind] if kind else ".bin"
