# SPDX-License-Identifier: Apache-2.0
"""Import statements with names that are attributes here, and modules in TensorFlow."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import fastrec.compat.v1 as tf1
import fastrec.compat.v2 as tf


@pytest.mark.parametrize(
    "path",
    [
        "io.gfile",
        "data.experimental",
        "errors",
        "nest",
        "math",
        "nn",
        "linalg",
        "compat.v1",
        "keras.utils",
    ],
)
def test_what_is_a_module_in_tensorflow_can_be_imported_by_its_path(path: str) -> None:
    found: Any = tf
    for name in path.split("."):
        found = getattr(found, name)
    assert importlib.import_module(f"fastrec.compat.v2.{path}") is found


def test_what_is_imported_from_such_a_module_is_what_it_has() -> None:
    found: dict[str, Any] = {}
    exec(
        "from fastrec.compat.v1.io.gfile import GFile\n"
        "from fastrec.compat.v2.data.experimental import AUTOTUNE\n"
        "from fastrec.compat.v2.errors import OutOfRangeError",
        found,
    )
    assert found["GFile"] is tf1.io.gfile.GFile
    assert found["AUTOTUNE"] == tf.data.experimental.AUTOTUNE
    assert found["OutOfRangeError"] is tf.errors.OutOfRangeError


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("name", ["keras.layers", "no_such_name"])
def test_an_import_of_what_is_not_covered_says_so(version: str, name: str) -> None:
    where, _, last = f"fastrec.compat.{version}.{name}".rpartition(".")
    with pytest.raises(ImportError, match=f"{where} has no '{last}': it "):
        importlib.import_module(f"fastrec.compat.{version}.{name}")
    with pytest.raises(ImportError, match="it loads records and does not train"):
        exec("from fastrec.compat.v2.keras import layers")


def test_a_function_is_no_module() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("fastrec.compat.v2.constant")
