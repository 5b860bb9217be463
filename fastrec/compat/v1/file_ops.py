# SPDX-License-Identifier: Apache-2.0
"""Read and write whole files, match file names, and the functions of ``tf.gfile``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from .._tf import files as _files
from .._tf.dtypes import string
from .._tf.errors import invalid, translated
from .._tf.files import GFile as GFile
from .._tf.naming import named, renamed
from .._tf.ops import Array
from .._tf.tensor import boxed
from ._nodes import Operation, Tensor
from .constants import convert_to_tensor
from .graph import GraphKeys, create_op
from .variables import Variable


def _scalar(value: Array, what: str) -> bytes:
    if value.ndim:
        raise invalid(f"{what} tensor must be scalar, got shape {list(value.shape)}")
    found: Any = value[()]
    return bytes(found)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the contents of a file."""
    tensor = convert_to_tensor(filename, string)

    def kernel(step: Any, where: Array) -> tuple[Array]:
        try:
            with open(_files.path_of(_scalar(where, "Input filename")), "rb") as file:
                return (boxed(file.read()),)
        except OSError as error:
            name_ = os.fsdecode(error.filename or b"")
            raise translated(error, f"{name_}; {error.strerror}") from error

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


def _of_version_1(name: str, function: Callable[..., Any], parameters: str) -> Any:
    """Return a function with version 1's names of itself and of its first parameters."""
    return named(renamed(function, name), name, parameters=parameters)


Open = FastGFile = GFile
Copy: Final = _of_version_1("Copy", _files.copy, "oldpath newpath")
Exists: Final = _of_version_1("Exists", _files.exists, "filename")
Glob: Final = _of_version_1("Glob", _files.glob_files, "filename")
IsDirectory: Final = _of_version_1("IsDirectory", _files.isdir, "dirname")
ListDirectory: Final = _of_version_1("ListDirectory", _files.listdir, "dirname")
MakeDirs: Final = _of_version_1("MakeDirs", _files.makedirs, "dirname")
MkDir: Final = _of_version_1("MkDir", _files.mkdir, "dirname")
Remove: Final = _of_version_1("Remove", _files.remove, "filename")
DeleteRecursively: Final = _of_version_1("DeleteRecursively", _files.rmtree, "dirname")
Rename: Final = _of_version_1("Rename", _files.rename, "oldname newname")
Stat: Final = _of_version_1("Stat", _files.stat, "filename")


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each directory below `top`, with the names of its directories and files."""
    return _files.walk(top, in_order)
