# SPDX-License-Identifier: Apache-2.0
"""The files of a LeRobot dataset in format v3, and its types in Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = [
    "CHUNK_FILES",
    "DATA",
    "EPISODES",
    "INFO",
    "OF_RLDS",
    "STATS",
    "TASKS",
    "VERSION",
    "VIDEO",
    "arrow_array",
    "parquet_bytes",
    "place",
    "tasks_table",
]

VERSION = "v3.0"
CHUNK_FILES = 1000
"""Number of files in a directory."""

INFO, STATS, TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
EPISODES = f"meta/episodes/{_FILE}.parquet"
DATA = f"data/{_FILE}.parquet"
VIDEO = f"videos/{{video_key}}/{_FILE}.mp4"
OF_RLDS = "rlds/"
"""Prefix of columns of the list of episodes that hold the features of an episode in RLDS."""

_INDEX = "__index_level_0__"


def place(template: str, number: int, **keys: str) -> str:
    """Return the name of a file from its number."""
    chunk, file = divmod(number, CHUNK_FILES)
    return template.format(chunk_index=chunk, file_index=file, **keys)


def arrow_array(values: Any, feature: Mapping[str, Any]) -> Any:
    """Return the values of the steps of an episode as an Arrow array."""
    import pyarrow as pa

    if feature["dtype"] == "string":
        return pa.array(values, pa.string())
    if feature["dtype"] == "image":
        data = pa.array(list(values), pa.binary())
        paths = pa.nulls(len(data), pa.string())
        return pa.StructArray.from_arrays([data, paths], names=["bytes", "path"])
    shape = feature["shape"]
    found = pa.array(np.ascontiguousarray(values, feature["dtype"]).reshape(-1))
    if shape == [1]:
        return found
    if len(shape) == 1:
        return pa.FixedSizeListArray.from_arrays(found, shape[0])
    for size in reversed(shape):
        offsets = pa.array(np.arange(0, len(found) + 1, size, dtype=np.int32))
        found = pa.ListArray.from_arrays(offsets, found)
    return found


def parquet_bytes(table: Any) -> memoryview:
    """Return a Parquet file."""
    import pyarrow.parquet

    data = io.BytesIO()
    pyarrow.parquet.write_table(table, data)
    return data.getbuffer()


def tasks_table(tasks: Sequence[str]) -> Any:
    """Return a table of tasks, which pandas reads with the texts as the index."""
    import pyarrow as pa

    kinds = {"task_index": ("int64", "int64"), _INDEX: ("unicode", "object")}
    described = {
        "index_columns": [_INDEX],
        "column_indexes": [],
        "columns": [
            {
                "name": None if name == _INDEX else name,
                "field_name": name,
                "pandas_type": kind,
                "numpy_type": numpy,
                "metadata": None,
            }
            for name, (kind, numpy) in kinds.items()
        ],
        "pandas_version": "2.0.0",
    }
    fields = [pa.field("task_index", pa.int64()), pa.field(_INDEX, pa.string())]
    schema = pa.schema(fields, {"pandas": json.dumps(described)})
    return pa.table([list(range(len(tasks))), list(tasks)], schema=schema)
