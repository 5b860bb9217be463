# SPDX-License-Identifier: Apache-2.0
"""The table of plain functions has each public function, kind of feature, type and format."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import pytest

import fastrec

pytest.importorskip("PIL.Image")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "function_rows.py"
MODULES = ("arrow", "events", "image", "tables", "tfds")
# The rest of the classes read or write files, or are data.
CLASSES = (fastrec.Arrays, fastrec.Bytes, fastrec.ImageFeature, fastrec.Ragged, fastrec.Sparse)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The rows, made with stand-ins for the peers and of few records; nothing is called."""
    spec = importlib.util.spec_from_file_location("benchmarks_function_rows", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for peer in ("cv2", "tensorflow"):
            patch.setitem(sys.modules, peer, MagicMock())
        spec.loader.exec_module(module)
        patch.setattr(module, "RECORDS", 16)
        yield module
        module.FOLDER.cleanup()


@pytest.fixture(scope="module")
def rows(script: ModuleType) -> list[str]:
    return [name for table in script.TABLES for name, _, _ in table()]


def public_functions() -> Iterator[str]:
    for name in fastrec.__all__:
        if inspect.isroutine(getattr(fastrec, name)):
            yield name
    for name in MODULES:
        module = getattr(fastrec, name)
        functions = [each for each in module.__all__ if inspect.isfunction(getattr(module, each))]
        yield from (f"{name}.{each}" for each in functions)
    for kind in CLASSES:
        names = [each for each in dir(kind) if not each.startswith("_")]
        methods = [each for each in names if inspect.isroutine(getattr(kind, each))]
        yield from (f"{kind.__name__}.{each}" for each in methods)


def test_each_public_function_has_a_row_or_a_reason(script: ModuleType, rows: list[str]) -> None:
    functions = [name for name in public_functions() if name not in script.INTERNAL]
    measured = {row.split()[0] for row in rows}
    assert not measured & set(script.UNMEASURED)
    assert sorted(measured | set(script.UNMEASURED)) == sorted(functions)


@pytest.mark.parametrize("prefix", ["parse_example", "parse_single_example"])
def test_each_kind_of_feature_has_rows_of_batches_and_of_single_records(
    prefix: str, rows: list[str]
) -> None:
    for kind in ("fixed", "sparse", "ragged", "padded"):
        for dtype in ("int64", "float32", "bytes", "long bytes"):
            assert f"{prefix} {kind} {dtype}" in rows
    for rest in ("indexed sparse", "raw uint8 of 3072", "raw float32 of 16"):
        assert f"{prefix} {rest}" in rows
    for dtype in ("int32", "uint8", "bool", "float16", "float64"):
        assert f"{prefix} fixed {dtype}" in rows


@pytest.mark.parametrize("prefix", ["parse_sequence_example", "parse_single_sequence_example"])
def test_each_kind_of_feature_list_has_rows(prefix: str, rows: list[str]) -> None:
    for kind in ("padded", "ragged", "sparse"):
        for values in ("tokens", "frames of 16 floats", "short strings", "frames of bytes"):
            assert f"{prefix} {kind} {values}" in rows


@pytest.mark.parametrize("name", ["png", "bmp", "jpeg", "gif", "webp", "tiff"])
def test_each_format_of_images_has_rows_of_batches_and_of_single_images(
    name: str, rows: list[str]
) -> None:
    for image in ("32 px", "256 px", "drawing"):
        assert f"ImageFeature.decode {name} {image}" in rows
        assert f"ImageFeature.decode {name} {image}, 16" in rows
        assert f"image.decode {name} {image}" in rows
