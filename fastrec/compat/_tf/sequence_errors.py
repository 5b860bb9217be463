# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's messages for SequenceExamples that cannot be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import ExampleParseError

from .dtypes import short_name
from .errors import OpError, translated
from .features import Checked, Dense
from .shape import in_messages

__all__ = ["sequence_failure"]

_LISTS = {"int64": "int64_list", "float": "float_list", "string": "bytes_list"}


def _count(feature: Any) -> int:
    kind = feature.WhichOneof("kind")
    return 0 if kind is None else len(getattr(feature, kind).value)


def _size(item: Dense) -> int:
    return int(np.prod(item.shape, dtype=np.int64))


def _misfits(feature: Any, item: Any) -> bool:
    kind = feature.WhichOneof("kind")
    return kind is not None and kind != _LISTS[short_name(item.dtype)]


def _in_context(item: Dense, examples: Sequence[Any], index: int, name: str) -> str | None:
    contexts = [example.context.feature for example in examples]
    found, wanted, kind = contexts[index], _size(item), short_name(item.dtype)
    present = item.key in found
    if present and _misfits(found[item.key], item):
        at = f"Name: {name}, Context feature: {item.key}.  "
        return f"{at}Data types don't match. Expected type: {kind}"
    default = getattr(item.feature, "default_value", None)
    if (present and _count(found[item.key]) == wanted) or (not present and default is not None):
        return None
    counts = [_count(each[item.key]) for each in contexts if item.key in each]
    most = max(counts, default=0) if default is None else max([*counts, wanted])
    if most != wanted:
        at = f"Inconsistent max number of elements for feature {item.key}: "
        return f"{at}expected {wanted}, but found {most}"
    if present:
        return f"Unexpected number of elements in example {name}"
    return f"Feature: {item.key} (data type: {kind}) is required but could not be found."


def _in_frames(item: Dense, examples: Sequence[Any], index: int, name: str) -> str | None:
    lists = [example.feature_lists.feature_list for example in examples]
    if item.key not in lists[index]:
        if getattr(item.feature, "allow_missing", True):
            return None
        return (
            f"Name: {name}, Feature list '{item.key}' is required but could not be found.  Did you "
            "mean to include it in feature_list_dense_missing_assumed_empty or "
            "feature_list_dense_defaults?"
        )
    wanted = _size(item)
    frames = lists[index][item.key].feature
    for number, frame in enumerate(frames):
        if _misfits(frame, item):
            at = f"Name: {name}, Feature list: {item.key}, Index: {number}.  "
            return f"{at}Data types don't match. Expected type: {short_name(item.dtype)}"
    totals = [sum(map(_count, each[item.key].feature)) for each in lists if item.key in each]
    if max(totals) % wanted:
        at = f"Feature list '{item.key}' has an unexpected number of values.  "
        shape = in_messages([None, *item.shape])
        return f"{at}Total values size: {max(totals)} is not consistent with output shape: {shape}"
    for number, frame in enumerate(frames):
        if _count(frame) != wanted:
            return (
                f"Name: {name}, Key: {item.key}, Index: {number}.  Number of values != expected.  "
                f"values size: {_count(frame)} but output shape: {in_messages(item.shape)}"
            )
    return None


def _text(
    context: Checked, frames: Checked, rows: Sequence[bytes], index: int, name: str
) -> str | None:
    from google.protobuf.message import DecodeError

    from fastrec.train import SequenceExample

    examples = []
    for number, row in enumerate(rows):
        try:
            examples.append(SequenceExample.FromString(bytes(row)))
        except DecodeError:
            if number == index:
                return f"Invalid protocol message input, example id: {name}"
            examples.append(SequenceExample())
    for items, look in ((context.dense, _in_context), (frames.dense, _in_frames)):
        for item in items:
            if (text := look(item, examples, index, name)) is not None:
                return text
    return None


def sequence_failure(
    error: ExampleParseError,
    context: Checked,
    frames: Checked,
    rows: Sequence[bytes],
    names: Sequence[bytes] = (),
) -> OpError:
    """Return the error to raise from `error` if some SequenceExamples could not be parsed."""
    index = error.record or 0
    name = names[index].decode("utf-8", "replace") if index < len(names) else "<unknown>"
    text = _text(context, frames, rows, index, name) if index < len(rows) else None
    return translated(error, text)
