# SPDX-License-Identifier: Apache-2.0
"""Read and write whole files, and match file names."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._tf import files as _files
from .._tf.dtypes import string
from .._tf.errors import translated
from ._nodes import Operation, Tensor
from ._ops import Array, invalid
from .constants import convert_to_tensor
from .graph import GraphKeys, create_op
from .variables import Variable

__all__ = ["match_filenames_once", "matching_files", "read_file", "write_file"]


def _scalar(value: Array, what: str) -> bytes:
    if value.ndim:
        raise invalid(f"{what} tensor must be scalar, got shape {list(value.shape)}")
    found: Any = value[()]
    return bytes(found)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the contents of a file."""
    tensor = convert_to_tensor(filename, string)

    def kernel(step: Any, where: Array) -> tuple[Array]:
        result = np.empty((), dtype=object)
        try:
            with open(_files.path_of(_scalar(where, "Input filename")), "rb") as file:
                result[()] = file.read()
        except OSError as error:
            name_ = os.fsdecode(error.filename or b"")
            raise translated(error, f"{name_}; {error.strerror}") from error
        return (result,)

    return create_op(
        "ReadFile", (tensor,), [(string, [])], kernel, name=name, stateful=True
    ).outputs[0]


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Write `contents` to a file, and create its parent directories."""
    where, what = convert_to_tensor(filename, string), convert_to_tensor(contents, string)

    def kernel(step: Any, path: Array, data: Array) -> tuple[()]:
        _files.write_file(_scalar(path, "Filename"), _scalar(data, "Contents"))
        return ()

    return create_op("WriteFile", (where, what), [], kernel, name=name, stateful=True)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the sorted names of the files that match one or more patterns."""
    tensor = convert_to_tensor(pattern, string)

    def kernel(step: Any, patterns: Array) -> tuple[Array]:
        found: set[bytes] = set()
        for each in patterns.reshape(-1).tolist():
            found.update(os.fsencode(n) for n in _files.glob_files(each))
        result = np.empty(len(found), dtype=object)
        result[:] = sorted(found)
        return (result,)

    return create_op(
        "MatchingFiles", (tensor,), [(string, [None])], kernel, name=name, stateful=True
    ).outputs[0]


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """Return a local variable with the names of the files that match when it is initialized."""
    return Variable(
        matching_files(pattern),
        trainable=False,
        validate_shape=False,
        name=name or "matching_filenames",
        collections=[GraphKeys.LOCAL_VARIABLES],
    )
