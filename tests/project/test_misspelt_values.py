# SPDX-License-Identifier: Apache-2.0
"""A misspelt value of an option is an error of mypy, and when the function is called.

`make lint` fails for an ignored error that does not occur, so each comment below is a test.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import arrow
from fastrec.tables import scan

INT = {"x": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("misspelt") / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write({"x": 1})
    return path


CALLS: dict[str, Callable[[Path], Any]] = {
    "Reader compression": lambda p: fastrec.Reader(p, compression="zip"),  # type: ignore[arg-type]
    "Reader on_error": lambda p: fastrec.Reader(p, on_error="ignore"),  # type: ignore[arg-type]
    "Reader shards": lambda p: fastrec.Reader(p, shards="all"),  # type: ignore[arg-type]
    "Writer compression": lambda p: fastrec.Writer(p, compression="zip"),  # type: ignore[arg-type]
    "Batcher shuffle": lambda p: fastrec.Batcher(p, INT, shuffle="block"),  # type: ignore[arg-type]
    "Batcher shard": lambda p: fastrec.Batcher(p, INT, shard="Auto"),  # type: ignore[arg-type]
    "Batcher uneven": lambda p: fastrec.Batcher(p, INT, uneven="long"),  # type: ignore[arg-type]
    "Batcher on_error": lambda p: fastrec.Batcher(p, INT, on_error="pass"),  # type: ignore[arg-type]
    "Batcher compression": lambda p: fastrec.Batcher(p, INT, compression="xz"),  # type: ignore[arg-type]
    "Batcher shards": lambda p: fastrec.Batcher(p, INT, shards="all"),  # type: ignore[arg-type]
    "infer_features on_error": lambda p: fastrec.infer_features(p, on_error="x"),  # type: ignore[arg-type]
    "parse_example on_error": lambda p: fastrec.parse_example([], INT, on_error="x"),  # type: ignore[arg-type]
    "table shuffle": lambda p: arrow.table(p, INT, shuffle="block"),  # type: ignore[arg-type]
    "table on_error": lambda p: arrow.table(p, INT, on_error="pass"),  # type: ignore[arg-type]
    "table compression": lambda p: arrow.table(p, INT, compression="zip"),  # type: ignore[arg-type]
    "scan compression": lambda p: scan(p, INT, compression="zip"),  # type: ignore[arg-type]
    "scan uneven": lambda p: scan(p, INT, uneven="long"),  # type: ignore[arg-type]
    "by_size until": lambda p: fastrec.Mixture.by_size([p], until="end"),  # type: ignore[arg-type]
    "convert on_error": lambda p: fastrec.convert(p, "a.csv", on_error="pass"),  # type: ignore[arg-type]
    "convert compression": lambda p: fastrec.convert(p, "a.csv", compression="7z"),  # type: ignore[arg-type]
    "convert target_format": lambda p: fastrec.convert(p, "a", target_format="xml"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_misspelt_value_is_an_error(name: str, path: Path) -> None:
    if not name.startswith(("Reader", "Batcher", "infer", "parse", "table", "Writer")):
        pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=name.split()[1]):
        CALLS[name](path)


@pytest.mark.parametrize(
    "options", [{"shuffle": "block"}, {"on_error": "pass"}, {"compression": "zip"}]
)
def test_integrations_refuse_misspelt_values(path: Path, options: Any) -> None:
    for library in ("torch", "grain"):
        module = pytest.importorskip(f"fastrec.{library}", exc_type=ModuleNotFoundError)
        kind = module.IterableDataset if library == "torch" else module.BatchIterDataset
        with pytest.raises(ValueError, match=next(iter(options))):
            kind(path, INT, 1, seed=0, **options)


def typed(path: Path) -> None:  # only mypy reads this
    import fastrec.grain
    import fastrec.ray
    import fastrec.tfds
    import fastrec.torch

    torch, grain = fastrec.torch.IterableDataset, fastrec.grain.BatchIterDataset
    torch(path, INT, shuffle="block")  # type: ignore[arg-type]
    torch(path, INT, shard="Auto")  # type: ignore[arg-type]
    torch(path, INT, on_error="pass")  # type: ignore[arg-type]
    torch(path, INT, compression="zip")  # type: ignore[arg-type]
    torch(path, INT, ragged="nest")  # type: ignore[arg-type]
    torch(path, INT, prefetched=3)  # type: ignore[call-arg]
    grain(path, INT, shuffle="block")  # type: ignore[arg-type]
    grain(path, INT, uneven="long")  # type: ignore[arg-type]
    grain(path, INT, on_error="pass")  # type: ignore[arg-type]
    fastrec.grain.Source(path, INT, on_error="pass")  # type: ignore[arg-type]
    fastrec.grain.BatchMapDataset(path, INT, 8, on_error="pass")  # type: ignore[arg-type]
    fastrec.ray.read_tfrecords(path, on_error="pass")  # type: ignore[arg-type]
    fastrec.ray.read_tfrecords(path, shards="all")  # type: ignore[arg-type]
    dataset: fastrec.tfds.Dataset = fastrec.tfds.load("mnist", "")
    dataset.batches(1, shuffle="block")  # type: ignore[arg-type]


def test_options_are_typed_as_those_of_a_batcher() -> None:
    from fastrec.batches import option_types

    own = fastrec.Batcher.__init__.__annotations__
    passed = {
        name: getattr(annotation, "__forward_arg__", annotation)
        for kind in ("OrderOptions", "FurtherOptions", "ReadingOptions")
        for name, annotation in getattr(option_types, kind).__annotations__.items()
    }
    assert passed == {
        name: text
        for name, text in own.items()
        if name not in ("source", "features", "batch_size", "return")
    }


def test_internal_options_are_the_parameters_of_public_functions() -> None:
    from fastrec.batches.options import Options
    from fastrec.records.shard_layout import Layout

    for function, kind, others in (
        (fastrec.Batcher.__init__, Options, {"self", "source"}),
        (fastrec.reshard, Layout, {"source", "target", "resume"}),
    ):
        parameters = inspect.signature(function).parameters
        passed = {name: each.default for name, each in parameters.items() if name not in others}
        assert passed == {
            field.name: field.default
            for field in dataclasses.fields(kind)
            if field.name not in others
        }


def names_of(tree: ast.Module) -> set[str]:
    """Return the names that a module lists as public."""
    return {
        name
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
    }


def is_public(name: str) -> bool:
    return not name.startswith("_") or name.startswith("__")


def test_options_of_every_public_function_have_names_and_types() -> None:
    package = Path(fastrec.__file__).parent
    areas = {"bench", "cli", "compat", "demo", "viewer"}
    files = [f for f in package.rglob("*.py") if not areas & {*f.relative_to(package).parts}]
    trees = {each: ast.parse(each.read_text(encoding="utf-8")) for each in files}
    public: set[str] = set()
    for file, tree in trees.items():
        if file.parent == package or file.name == "__init__.py":
            public |= names_of(tree)
    functions: list[tuple[str, ast.FunctionDef]] = []
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in public:
                functions.append((node.name, node))
            elif isinstance(node, ast.ClassDef) and node.name in public:
                functions += [
                    (f"{node.name}.{each.name}", each)
                    for each in node.body
                    if isinstance(each, ast.FunctionDef) and is_public(each.name)
                ]
    untyped = {
        name
        for name, node in functions
        if node.args.kwarg is not None
        and "Unpack" not in ast.unparse(node.args.kwarg.annotation or node)
    }
    # The search finds functions, so that an empty set of untyped ones has a meaning.
    typed = {name for name, node in functions if node.args.kwarg is not None} - untyped
    assert typed >= {"IterableDataset.__init__", "Mixture.by_size"}, typed
    assert untyped == {
        "Batcher.__array__",  # raises an error, whatever the options of NumPy are
        "ExampleParseError.__init__",  # passes them to its base class
        "FastrecError.__init__",  # each class of errors has attributes of its own
    }
