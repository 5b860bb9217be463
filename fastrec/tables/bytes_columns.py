# SPDX-License-Identifier: Apache-2.0
"""Columns of bytes in tables: which of them are text or images, and how images are stored.

Hugging Face ``datasets`` stores an image as a struct of ``bytes`` and ``path``, and names
the columns of images in the schema's metadata.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import arrow
from ..records.content import image_format

__all__ = [
    "as_images",
    "embedded",
    "has_bytes",
    "image_columns",
    "is_list",
    "quietly",
    "text_columns",
    "with_images",
]

# Codes below 32 except tab, line feed, form feed and carriage return, as raw numbers have them.
_CONTROLS = r"[\x00-\x08\x0b\x0e-\x1f\x7f]"


def text_columns(paths: list[Any], features: Any, reading: dict[str, Any]) -> list[str]:
    """Return the columns of bytes whose values are all UTF-8 without control characters.

    A column without any character is not among them.
    """
    schema = pa.schema(arrow.table(paths, features, **reading))
    candidates = [each.name for each in schema if has_bytes(each.type)]
    filled: set[str] = set()
    if isinstance(features, dict):
        features = {name: features[name] for name in candidates}
    if candidates:
        for part in arrow.table(paths, features, **reading)._read():
            batch = pa.record_batch(part)
            candidates = [name for name in candidates if _is_text(batch[name])]
            filled.update(name for name in candidates if _has_characters(batch[name]))
            if not candidates:
                break
    return [name for name in candidates if name in filled]


def _flat(column: Any) -> Any:
    while is_list(column.type):
        column = column.flatten()
    return column


def _is_text(column: Any) -> bool:
    try:
        strings = _flat(column).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return not pc.any(pc.match_substring_regex(strings, _CONTROLS)).as_py()


def _has_characters(column: Any) -> bool:
    return bool(pc.any(pc.greater(pc.binary_length(_flat(column)), 0)).as_py())


def image_columns(table: arrow.Table) -> list[str]:
    """Return the columns of bytes whose values in the first record batch are encoded images."""
    for part in table._read():
        batch = pa.record_batch(part)
        return [
            name
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if pa.types.is_large_binary(column.type) and _are_images(column)
        ]
    return []


def _are_images(column: Any) -> bool:
    heads = pc.binary_slice(column, 0, 16).drop_null().to_pylist()
    return bool(heads) and all(image_format(head) for head in heads)


def with_images(schema: Any, images: list[str]) -> Any:
    """Return the schema with images as ``datasets`` stores them, and with its metadata."""
    features = {name: {"_type": "Image"} for name in images}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    fields = [each.with_type(_IMAGE) if each.name in images else each for each in schema]
    return pa.schema(fields, metadata)


_IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def as_images(column: Any) -> Any:
    """Return a column of bytes as structs of ``bytes`` and ``path``, whose path is null."""
    data, paths = column.cast(pa.binary()), pa.nulls(len(column), pa.string())
    return pa.StructArray.from_arrays([data, paths], fields=list(_IMAGE), mask=column.is_null())


def embedded(name: str, column: Any) -> Any:
    """Return the bytes of a column of images of ``datasets``; another column as it is."""
    kind = column.type
    if not pa.types.is_struct(kind) or {each.name for each in kind} != {"bytes", "path"}:
        return column
    data, paths = (pc.struct_field(column, each) for each in ("bytes", "path"))
    if pc.any(pc.and_(pc.is_null(data), pc.is_valid(paths))).as_py():
        raise ValueError(
            f"column {name!a} has paths of images; embed the images first, for example by "
            "datasets.Dataset.to_parquet(..., embed_external_files=True)"
        )
    return data


def quietly(on_error: Any) -> Any:
    """Return the same policy for an extra pass, which does not report damage again."""
    return on_error if on_error in ("raise", "tolerate_tail") else "skip"


def has_bytes(kind: Any) -> bool:
    """Return whether a type is bytes, or lists of bytes."""
    return bool(arrow.as_text(kind) != kind)


def is_list(kind: Any) -> bool:
    """Return whether a type is lists, of any kind."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
