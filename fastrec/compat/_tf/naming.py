# SPDX-License-Identifier: Apache-2.0
"""Names of functions, errors for names that do not exist, and imports of attributes."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import inspect

F = TypeVar("F")


def named(
    function: F, name: str, owner: str = "", doc: str | None = None, parameters: str = ""
) -> F:
    """Give a generated function its public name, and return it.

    Parameters
    ----------
    function : function
        A function that a factory created, named after the factory's inner function.
    name : str
    owner : str, optional
        The class that the function belongs to.
    doc : str, optional
        The docstring.
    parameters : str, optional
        Public names of its first parameters, separated by spaces.
    """
    inner: Any = function
    if parameters:
        inner.__code__ = _with_parameters(inner.__code__, tuple(parameters.split()))
    inner.__name__ = name
    inner.__qualname__ = f"{owner}.{name}" if owner else name
    if doc is not None:
        inner.__doc__ = doc
    return function


@functools.cache
def _with_parameters(code: CodeType, names: tuple[str, ...]) -> CodeType:
    """Return a copy of the code with other names of parameters."""
    return code.replace(co_varnames=names + code.co_varnames[len(names) :])


def accepting(name: str, signature: inspect.Signature) -> Callable[..., None]:
    """Return a function with no effect, whose calls raise Python's error for wrong arguments."""
    empty = signature.empty
    plain = [
        each.replace(annotation=empty, default=empty if each.default is empty else None)
        for each in signature.parameters.values()
    ]
    text = signature.replace(parameters=plain, return_annotation=empty)
    scope: dict[str, Any] = {}
    exec(f"def {name}{text}: pass", scope)
    made: Callable[..., None] = scope[name]
    return made


def renamed(function: F, name: str) -> F:
    """Return a function, or a copy if its name differs; return anything else unchanged."""
    value: Any = function
    inner = getattr(value, "__func__", value)
    if isinstance(inner, FunctionType) and inner.__name__ != name:
        copy: Any = _copied(inner, name)
        if isinstance(value, MethodType):
            copy = MethodType(copy, value.__self__)
        return cast(F, copy)
    return function


@functools.cache
def _copied(function: FunctionType, name: str) -> FunctionType:
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        name,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__, copy.__dict__ = function.__kwdefaults__, dict(function.__dict__)
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    copy.__annotations__ = function.__annotations__
    owner = function.__qualname__.rpartition(".")[0]
    copy.__qualname__ = f"{owner}.{name}" if owner and "<" not in owner else name
    return copy


def under_own_names(names: dict[str, Any]) -> dict[str, Any]:
    """Name each public function of a namespace after its key; return the namespace.

    A function with two names becomes two equivalent functions.
    """
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value):
            names[name] = renamed(value, name)
    return names


_RESUME = (
    "positions of iterators are not saved; fastrec.Batcher goes on where it was, by its "
    "state_dict() and load_state_dict() (docs/resuming.md)"
)
_SHARE = (
    "data are divided among processes by Dataset.shard(count, index), or by "
    "fastrec.Batcher(..., shard=(index, count)) (docs/many-machines.md)"
)
_TRAIN = (
    "it loads records and does not train; PyTorch, JAX and TensorFlow itself take its batches, "
    "which are NumPy arrays (docs/start.md)"
)
_COVERS = (
    "it covers what reads, writes, parses and batches records, images and text, and what such "
    "programs call besides"
)

# Patterns that match ``tf.NAME`` from its beginning, and the advice for each.
_ADVICE = (
    (r".*(make_saveable_from_iterator|CheckpointInputPipelineHook)$", _RESUME),
    (r"train\.Checkpoint", f"{_TRAIN}; {_RESUME}"),
    (r"(contrib\.)?(distribute|tpu|cluster_resolver)\b|data\.experimental\.service\b", _SHARE),
    (r"train\.(replica_device_setter|Server|ClusterSpec)$|distribute_lib", _SHARE),
    (r"train\.|nn\.|(contrib\.)?(keras|layers|losses|metrics|estimator|optimizers?)\b", _TRAIN),
    (
        r"(Variable|Module|GradientTape|gradients|custom_gradient|saved_model|initializers)\b",
        _TRAIN,
    ),
    (r"summary\b", "event files are read by fastrec.events (docs/events.md)"),
    (r"(contrib\.)?distributions\b", "numbers are drawn by tf.random"),
)


def uncovered(version: str, where: str, name: str) -> AttributeError:
    """Return the error for ``tf.where.name``, or ``tf.name`` if `where` is empty.

    Parameters
    ----------
    version : {"v1", "v2"}
    where, name : str
    """
    path = f"{where}.{name}" if where else name
    advice = next((say for pattern, say in _ADVICE if re.match(pattern, path)), _COVERS)
    owner = ".".join(filter(None, ["fastrec.compat", version, where]))
    return AttributeError(
        f"{owner} has no {name!r}: {advice}. The list of names is in docs/compat-{version}.md."
    )


class _Loader:
    """Returns an existing object as the imported module."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None for the default module, which is replaced immediately."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._found


class _Finder:
    """Finds attributes of some packages, at any depth."""

    packages: tuple[str, ...] = ()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if last.startswith("_") or not f"{parent}.".startswith(cls.packages):
            return None
        try:
            found = getattr(sys.modules[parent], last)
        except AttributeError as error:
            # The error states the alternative. Its attribute `name` is not set, because
            # `from package import name` would then replace the message.
            raise ModuleNotFoundError(str(error)) from None
        loader: Any = _Loader(found)  # importing importlib.abc is slow
        return None if callable(found) else ModuleSpec(name, loader, is_package=True)


def importable(package: str) -> None:
    """Allow import statements for the attributes of a package and its modules."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    _Finder.packages = (*_Finder.packages, f"{package}.")
