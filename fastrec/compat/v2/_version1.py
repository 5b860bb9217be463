# SPDX-License-Identifier: Apache-2.0
"""``tf.compat.v1`` in eager programs.

Each name has the meaning of version 1. An object of version 2 is used where both versions share its
code and parameters, and for classes, control flow and random numbers. Any other function of version
1 builds a small graph per call, which is executed immediately. While a program builds graphs, all
names come from :mod:`fastrec.compat.v1`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from .._tf.data.dataset import OF_VERSION_1
from .._tf.naming import uncovered
from .._tf.seeds import get_seed
from .._tf.structure import flatten, pack
from .._tf.tensor import Tensor
from .draws import draws

_GRAPHS = "fastrec.compat.v1"
_HERE = "fastrec.compat.v2"

# Names of version 1 whose object version 2 has under another name.
_RENAMED = {
    "FixedLenFeature": "io.FixedLenFeature",
    "FixedLenSequenceFeature": "io.FixedLenSequenceFeature",
    "SparseFeature": "io.SparseFeature",
    "VarLenFeature": "io.VarLenFeature",
    "image.resize_image_with_crop_or_pad": "image.resize_with_crop_or_pad",
    "matching_files": "io.matching_files",
    "parse_example": "io.parse_example",
    "parse_single_example": "io.parse_single_example",
    "python_io.TFRecordWriter": "io.TFRecordWriter",
    "random.set_random_seed": "random.set_seed",
    "random_crop": "image.random_crop",
    "random_gamma": "random.gamma",
    "random_normal": "random.normal",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "read_file": "io.read_file",
    "set_random_seed": "random.set_seed",
    "truncated_normal": "random.truncated_normal",
    "write_file": "io.write_file",
}
# Functions for which version 2 is used although the versions do not share their code.
_EAGER = {
    "case",
    "cond",
    "constant",
    "control_dependencies",
    "convert_to_tensor",
    "device",
    "executing_eagerly",
    "foldl",
    "foldr",
    "function",
    "get_static_value",
    "group",
    "is_tensor",
    "map_fn",
    "no_op",
    "numpy_function",
    "print",
    "py_function",
    "scan",
    "while_loop",
    *_RENAMED,
}
_VARIABLES = {"Variable", "get_local_variable", "get_variable"}
# Names that the modules of version 1 have in both modes.
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


def _of(package: str, path: str) -> Any:
    return functools.reduce(getattr, path.split("."), importlib.import_module(package))


_v1, _v2 = functools.partial(_of, _GRAPHS), functools.partial(_of, _HERE)


def _iterator(dataset: Any, shared_name: str | None = None) -> Any:
    """Return an iterator over a dataset, whose ``get_next`` returns the next element."""
    return iter(dataset)


def _get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of an operation; both None if neither seed was set."""
    pair = get_seed(op_seed)
    return pair if any(pair) else (None, None)


def _name_scope(
    name: str | None, default_name: str | None = None, values: Any = None
) -> AbstractContextManager[Any]:
    """Return a context that prefixes the names of operations."""
    scope: AbstractContextManager[Any] = _v2("name_scope")(name or default_name or "")
    return scope


_ADAPTED: dict[str, Callable[..., Any]] = {
    "data.get_output_classes": OF_VERSION_1["output_classes"],
    "data.get_output_shapes": OF_VERSION_1["output_shapes"],
    "data.get_output_types": OF_VERSION_1["output_types"],
    "data.make_one_shot_iterator": _iterator,
    "get_seed": _get_seed,
    "image.sample_distorted_bounding_box": draws.distorted_box,
    "multinomial": draws.multinomial,
    "name_scope": _name_scope,
    "random.get_seed": _get_seed,
    "random.multinomial": draws.multinomial,
}


def _building() -> bool:
    """Return whether a graph is being built, or eager execution is disabled."""
    if Version1.graphs:
        return True
    module = sys.modules.get(f"{_GRAPHS}.graph")
    return bool(module and module.inside.graphs)


def _executed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that executes the operations which `function` adds to a graph.

    It returns None for an operation without outputs, and other objects than tensors unchanged.
    """

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        structure, leaves = flatten((arguments, named), lists=True)
        places = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]
        others: list[Any] = []  # the result, unless it consists of tensors

        def in_graph(*tensors: Any) -> Any:
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            given_arguments, given_named = pack(structure, given)
            result = function(*given_arguments, **given_named)
            is_operation = isinstance(result, _v1("Operation"))
            if not is_operation and any(map(_has_value, flatten(result, lists=True)[1])):
                return result
            others.append(None if is_operation else result)
            with _v1("control_dependencies")([result] if is_operation else []):
                return _v1("constant")(0)

        graphs = importlib.import_module(f"{_GRAPHS}._functions")
        run = graphs.GraphFunction(in_graph, lambda dataset: dataset, lambda dataset: dataset)
        returned = run(*[leaves[place] for place in places])
        return others[0] if others else returned

    return called


def _either(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return a function that uses version 1 for parameters which only version 1 has."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        if not named or named.keys() <= inspect.signature(function).parameters.keys():
            return function(*arguments, **named)
        return _executed(_v1(path))(*arguments, **named)

    return called


def _is_shared(one: Any, other: Any) -> bool:
    """Return whether two functions have the same code and the same parameters."""
    codes = [
        getattr(getattr(inner, "__func__", inner), "__code__", None)
        for inner in map(inspect.unwrap, (one, other))
    ]
    if codes[0] is None or codes[0] is not codes[1]:
        return False
    first, second = (list(inspect.signature(each).parameters.values()) for each in (one, other))
    return [(p.name, p.kind) for p in first] == [(p.name, p.kind) for p in second]


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_raw")


def _has_value(value: Any) -> bool:
    """Return whether `value` is a tensor of a graph, or represents one, or is a dataset."""
    return isinstance(value, _kinds()) or hasattr(value, "_as_graph_element")


@functools.cache
def _kinds() -> tuple[type[Any], ...]:
    return tuple(map(_v1, ["Tensor", "SparseTensor", "RaggedTensor", "data.Dataset"]))


class Version1(ModuleType):
    """The names of version 1, or of one of its modules.

    Parameters
    ----------
    path : str
        The path of the module within version 1; empty for the top level.
    """

    graphs = False  # whether ``disable_eager_execution`` was called

    def __init__(self, path: str = "") -> None:
        super().__init__(f"{_HERE}.compat.v1{'.' if path else ''}{path}", __doc__)
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        path = f"{self._path}.{name}".lstrip(".")
        if path in ("disable_eager_execution", "disable_v2_behavior"):
            return self._disable
        if path in ("enable_eager_execution", "enable_v2_behavior"):
            return self._enable
        if path == "executing_eagerly":
            return lambda: not _building()
        if _building() or path.partition(".")[0] in _OF_GRAPHS:
            return _v1(path)
        if path in _ADAPTED:
            return _ADAPTED[path]
        if path in _VARIABLES:
            raise uncovered("v2", "compat.v1", path)
        found = self._of_version_2(path)
        if isinstance(found, ModuleType):
            return Version1(path)
        if found is not None and not _is_function(found):
            return found
        if path in _EAGER and found is not None:
            return _either(found, path)
        function = _v1(path)
        if found is not None and _is_shared(found, function):
            return found
        return _executed(function) if _is_function(function) else function

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

    @staticmethod
    def _enable(*settings: object, **named: object) -> None:
        """Do nothing, because version 2 executes operations immediately.

        Raises
        ------
        ValueError
            After :meth:`_disable`.
        """
        if Version1.graphs:
            raise ValueError("tf.enable_eager_execution must be called at program startup.")


v1 = Version1()
