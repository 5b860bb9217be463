# SPDX-License-Identifier: Apache-2.0
"""``tf.compat.v1`` of programs that run at once.

A name is what version 2 has under it, with version 1's arguments where they differ, as long as no
graph is being built; what belongs to graphs is that of :mod:`fastrec.compat.v1` always.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .._tf.faces.late import Names
from .._tf.structure import flatten, pack
from .._tf.tensor import Tensor

__all__ = ["Version1"]

_GRAPHS = "fastrec.compat.v1"
_HERE = "fastrec.compat.v2"

# Where version 2 has what version 1 calls otherwise.
_RENAMED = {
    "FixedLenFeature": "io.FixedLenFeature",
    "FixedLenSequenceFeature": "io.FixedLenSequenceFeature",
    "SparseFeature": "io.SparseFeature",
    "VarLenFeature": "io.VarLenFeature",
    "decode_csv": "io.decode_csv",
    "decode_raw": "io.decode_raw",
    "div": "math.divide",
    "log": "math.log",
    "parse_example": "io.parse_example",
    "parse_single_example": "io.parse_single_example",
    "random_crop": "image.random_crop",
    "random_normal": "random.normal",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "read_file": "io.read_file",
    "rint": "math.rint",
    "set_random_seed": "random.set_seed",
    "random.set_random_seed": "random.set_seed",
    "string_join": "strings.join",
    "string_to_number": "strings.to_number",
    "truncated_normal": "random.truncated_normal",
    "write_file": "io.write_file",
    "image.resize_images": "image.resize",
    "image.resize_image_with_crop_or_pad": "image.resize_with_crop_or_pad",
    "image.resize_image_with_pad": "image.resize_with_pad",
    "python_io.TFRecordWriter": "io.TFRecordWriter",
    "matching_files": "io.matching_files",
}
# What version 1's modules have, whatever is going on.
_OF_GRAPHS = {
    "Graph",
    "GraphKeys",
    "InteractiveSession",
    "Session",
    "app",
    "flags",
    "get_default_graph",
    "logging",
    "placeholder",
    "python_io",
    "reset_default_graph",
    "train",
}


def _v2(path: str) -> Any:
    found: Any = importlib.import_module(_HERE)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _v1(path: str) -> Any:
    found: Any = importlib.import_module(_GRAPHS)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _resize(
    images: Any,
    size: Any,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Scaled as version 1 does: a pixel is at its number, not half a pixel further."""
    kinds = ("bilinear", "nearest", "bicubic", "area")
    kind = kinds[method] if isinstance(method, int) else str(method).lower()
    resized: Callable[..., Any] = _v2("image.resize")
    return resized(
        images, size, kind, preserve_aspect_ratio, name=name, _legacy=bool(align_corners)
    )


def _reduction(name: str) -> Callable[..., Any]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        where = reduction_indices if axis is None else axis
        return _v2(path)(input_tensor, where, bool(keep_dims if keepdims is None else keepdims))

    path = name
    return reduce


def _to(name: str) -> Callable[..., Any]:
    return lambda x, name=None, _type=name: _v2("cast")(x, _type)


def _iterator(dataset: Any, shared_name: str | None = None) -> Any:
    """The elements of a data set; ``get_next`` gives the next one."""
    return iter(dataset)


_ADAPTED: dict[str, Callable[..., Any]] = {
    "image.resize": _resize,
    "image.resize_images": _resize,
    "data.make_one_shot_iterator": _iterator,
    "to_float": _to("float32"),
    "to_double": _to("float64"),
    "to_int32": _to("int32"),
    "to_int64": _to("int64"),
    **{
        f"reduce_{kind}": _reduction(f"reduce_{kind}")
        for kind in ("all", "any", "max", "mean", "min", "prod", "sum")
    },
}


def _building() -> bool:
    """Whether a graph is being built, or nothing runs at once."""
    if Version1.graphs:
        return True
    module = sys.modules.get(f"{_GRAPHS}._graph")
    return bool(module and module.inside.graphs)


def _at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that adds to graphs, for tensors that have values, or are traced."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        structure, leaves = flatten((arguments, named), lists=True)
        places = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]
        if not places:
            return function(*arguments, **named)

        def in_graph(*tensors: Any) -> Any:
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            given_arguments, given_named = pack(structure, given)
            return function(*given_arguments, **given_named)

        graphs = importlib.import_module(f"{_GRAPHS}._functions")
        run = graphs.GraphFunction(in_graph, lambda dataset: dataset, lambda dataset: dataset)
        return run(*[leaves[place] for place in places])

    return called


def _either(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """A function of version 2, or that of version 1 for arguments that only this one has."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        if not named or named.keys() <= inspect.signature(function).parameters.keys():
            return function(*arguments, **named)
        return _at_once(_v1(path))(*arguments, **named)

    return called


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_raw")


class Version1(ModuleType):
    """The names of version 1, or of one of its modules.

    Parameters
    ----------
    path : str
        Of the module, within version 1; empty for all of it.
    """

    graphs = False  # whether ``disable_eager_execution`` was called

    def __init__(self, path: str = "") -> None:
        super().__init__(f"{_HERE}.compat.v1{'.' if path else ''}{path}", __doc__)
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}".lstrip(".")
        if path in ("disable_eager_execution", "disable_v2_behavior"):
            return self._disable
        if path == "executing_eagerly":
            return lambda: not _building()
        if not _building() and path.partition(".")[0] not in _OF_GRAPHS:
            if path in _ADAPTED:
                return _ADAPTED[path]
            found = self._of_version_2(path)
            if isinstance(found, (ModuleType, Names)):
                return Version1(path)
            if found is not None:
                return _either(found, path) if _is_function(found) else found
        found = _v1(path)
        of_graphs = _building() or path.partition(".")[0] in _OF_GRAPHS
        return _at_once(found) if not of_graphs and _is_function(found) else found

    @staticmethod
    def _of_version_2(path: str) -> Any:
        try:
            return _v2(_RENAMED.get(path, path))
        except AttributeError:
            return None

    @staticmethod
    def _disable() -> None:
        """Build graphs from now on."""
        Version1.graphs = True
