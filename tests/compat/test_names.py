# SPDX-License-Identifier: Apache-2.0
"""Every public name of the drop-in modules: its ``__name__``, signature, description and type."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2
from fastrec.compat._tf import names as TABLE

ROOT = Path(__file__).resolve().parents[2]
STUBS = runpy.run_path(str(ROOT / "tests" / "tools" / "compat_stubs.py"))
VERSIONS: dict[str, Any] = {"v1": v1, "v2": v2}


def names_of(version: str) -> dict[str, list[str]]:
    return {space: list(names) for space, names in TABLE.names_of(version).items() if names}


def public(version: str) -> Iterator[tuple[str, Any]]:
    """Each path below ``tf`` and what it names."""
    for space, names in names_of(version).items():
        owner = VERSIONS[version]
        for part in filter(None, space.split(".")):
            owner = getattr(owner, part)
        for name in names:
            yield f"{space}.{name}".strip("."), getattr(owner, name)


def functions(version: str) -> Iterator[tuple[str, Any]]:
    for path, value in public(version):
        if isinstance(value, (FunctionType, MethodType)):
            yield path, value


@pytest.mark.parametrize("version", VERSIONS)
def test_a_function_has_the_name_that_it_is_public_under(version: str) -> None:
    wrong = {
        path: value.__name__
        for path, value in functions(version)
        if value.__name__ != path.rpartition(".")[2] or "<" in value.__qualname__
    }
    assert not wrong


@pytest.mark.parametrize("version", VERSIONS)
def test_a_callable_is_a_function_or_a_class_and_says_what_it_does(version: str) -> None:
    for path, value in public(version):
        if not callable(value) or path.startswith("train.") or path == "flags.FLAGS":
            continue
        assert isinstance(value, (FunctionType, MethodType, type)), path
        assert value.__doc__, path
        assert "TensorFlow's ``" not in value.__doc__, path


@pytest.mark.parametrize("version", VERSIONS)
def test_the_module_of_a_function_can_be_imported(version: str) -> None:
    for path, value in functions(version):
        assert importlib.import_module(value.__module__) is not None, path


@pytest.mark.parametrize("version", VERSIONS)
def test_dir_lists_the_public_names(version: str) -> None:
    names = names_of(version)
    assert dir(VERSIONS[version]) == sorted(names[""])
    for space in ("nn", "linalg", "keras", "keras.backend"):
        owner = VERSIONS[version]
        for part in space.split("."):
            owner = getattr(owner, part)
        assert dir(owner) == sorted(names[space])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_checked_in_stub_is_what_the_names_give(version: str) -> None:
    path, text = STUBS["stub_of"](version)
    assert path.read_text() == text, "run: python tests/tools/compat_stubs.py"


def test_a_signature_is_that_of_its_version() -> None:
    assert str(inspect.signature(v2.math.reduce_sum)).startswith("(input_tensor: 'Any', axis")
    first = list(inspect.signature(v1.image.crop_and_resize).parameters)
    assert first[:4] == ["image", "boxes", "box_ind", "crop_size"]
    assert list(inspect.signature(v2.image.crop_and_resize).parameters)[2] == "box_indices"
    required = inspect.signature(v1.pad).parameters
    assert required["tensor"].default is required["paddings"].default is inspect.Parameter.empty
    assert list(required)[:4] == ["tensor", "paddings", "mode", "name"]


def test_parameters_that_are_data_have_types_and_are_checked() -> None:
    seeds: dict[Any, str] = {
        v2.random.uniform: "int | None",
        v2.random.stateless_uniform: "Any",
        v1.multinomial: "int | None",
    }
    for function, kind in seeds.items():
        assert inspect.signature(function).parameters["seed"].annotation == kind
    experimental: Any = v2.data.experimental
    tf: Any = v1
    assert str(inspect.signature(experimental.unbatch)) == "()"
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        experimental.scan(0, len, name="other")
    with pytest.raises(TypeError, match=r"scan\(\) missing 1 required positional argument"):
        experimental.scan(0)
    with pytest.raises(TypeError, match=r"numpy_function\(\) missing 1 .*: 'Tout'"):
        tf.numpy_function(len, [])
    with v1.Graph().as_default(), pytest.raises(ValueError, match="both 't' and 'x'"):
        tf.verify_tensor_all_finite(t=[1.0], msg="finite", x=[1.0])


def test_help_describes_the_function() -> None:
    text = pydoc.plain(pydoc.render_doc(v2.exp))
    assert "exp(x: 'Any'" in text
    assert "Compute e to the power of each element." in text


def test_parameters_have_the_names_of_tensorflow() -> None:
    for tf in VERSIONS.values():
        with v1.Graph().as_default():
            found = tf.atan2(x=0.0, y=1.0)
            value = v1.Session().run(found) if tf is v1 else found.numpy()
        assert value == pytest.approx(1.5707964)
        with v1.Graph().as_default():
            tf.nn.relu(features=[1.0])
            tf.identity(input=[1.0])
            tf.stop_gradient(input=[1.0])
            tf.math.zeta(x=[2.0], q=[1.0])
            tf.math.igamma(a=[2.0], x=[1.0])


if TYPE_CHECKING:
    # `make lint` fails if mypy accepts a line with a comment, or refuses another.
    DATASET: v2.data.Dataset = v2.data.Dataset.range(3)
    v2.reshape([1, 2], [2, 1], name="x")
    v2.math.exp(x=1.0)
    v1.image.crop_and_resize([], [], box_ind=[0], crop_size=[1, 1])
    v2.reshape(1, 2, bogus=1)  # type: ignore[call-arg]
    v2.math.exq(1.0)  # type: ignore[attr-defined]
    v2.image.crop_and_resize([], [], box_ind=[0], crop_size=[1, 1])  # type: ignore[call-arg]


def test_the_page_about_the_architecture_names_files_that_exist() -> None:
    page = (ROOT / "docs" / "compat-architecture.md").read_text()
    paths = re.findall(r"`((?:_tf|v1|v2|extra|tfrecord)/[\w/]*(?:\.py)?)`", page)
    assert len(paths) > 15
    for path in paths:
        assert (ROOT / "fastrec" / "compat" / path).exists(), path
