# SPDX-License-Identifier: Apache-2.0
"""Read and write whole files, and match file names."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf import files as _files
from .._tf.ops import Op, invalid
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.tracing.recording import run


def _text(value: Any) -> str:
    name: Any = as_array(value)[()]
    return os.fsdecode(name)


def _read(name: Any) -> bytes:
    path = _text(name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _errors.translated(error) from error


_READ_FILE = Op("ReadFile", _read, lambda *_: [TensorSpec((), "string")])


def read_file(filename: Any, name: str | None = None) -> Any:
    """Return the contents of a file."""
    if isinstance(filename, os.PathLike):
        filename = os.fspath(filename)
    return run(_READ_FILE, [convert_to_tensor(filename, "string")])


def _write(name: Any, contents: Any) -> tuple[()]:
    if np.ndim(as_array(name)):
        shape = list(as_array(name).shape)
        raise invalid(f"Input filename tensor must be scalar, but had shape: {shape}")
    _files.write_file(_text(name), as_array(contents).item())
    return ()


_WRITE_FILE = Op("WriteFile", _write, lambda *_: [], pure=False)


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a file, and create its parent directories."""
    run(_WRITE_FILE, [convert_to_tensor(each, "string") for each in (filename, contents)])


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Return the sorted names of files that match patterns."""
    patterns = convert_to_tensor(pattern, "string").array.reshape(-1).tolist()
    names = sorted({name for each in patterns for name in glob.glob(each)})
    return convert_to_tensor(names or np.empty(0, object), "string")
