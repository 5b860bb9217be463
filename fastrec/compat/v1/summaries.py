# SPDX-License-Identifier: Apache-2.0
"""``tf.summary``, ``tf.logging``, and switches between the behaviours of TensorFlow's versions.

Summaries are accepted and discarded, because nothing displays them: they evaluate to an empty
string, and event files are not written. The switches are ignored.
"""

from __future__ import annotations

import logging as _logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from .._tf.dtypes import string
from .._tf.methods import Methods
from .._tf.tensor import boxed
from ._nodes import Tensor
from .constants import convert_to_tensor
from .graph import GraphKeys, create_op, get_default_graph


def _nothing(*values: Any) -> tuple[Any]:
    return (boxed(b""),)


def _summary(name: str, tensor: Any, collections: Sequence[str] | None) -> Tensor:
    given = convert_to_tensor(tensor)
    op = create_op("Summary", (given,), [(string, [])], _nothing, name=name, stateful=True)
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    get_default_graph().add_to_collections(keys, op.outputs[0])
    return op.outputs[0]


def scalar(name: str, tensor: Any, collections: Any = None, family: Any = None) -> Tensor:
    """Add a summary of a number."""
    return _summary(name, tensor, collections)


def histogram(name: str, values: Any, collections: Any = None, family: Any = None) -> Tensor:
    """Add a summary of the distribution of values."""
    return _summary(name, values, collections)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: Any = None
) -> Tensor:
    """Add a summary of images."""
    return _summary(name, tensor, collections)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: Any = None,
) -> Tensor:
    """Add a summary of sounds."""
    return _summary(name, tensor, collections)


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """Add a summary of text."""
    return _summary(name, tensor, collections)


def merge(inputs: Sequence[Tensor], collections: Any = None, name: str | None = None) -> Tensor:
    """Merge several summaries."""
    op = create_op("MergeSummary", inputs, [(string, [])], _nothing, name=name, stateful=True)
    get_default_graph().add_to_collections(collections or [], op.outputs[0])
    return op.outputs[0]


def merge_all(key: str = GraphKeys.SUMMARIES, scope: Any = None, name: Any = None) -> Any:
    """Merge all summaries of the graph; return None for a graph without summaries."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """Accepts events without writing them."""

    def __init__(self, logdir: Any, graph: Any = None, *others: Any, **more: Any) -> None:
        self._logdir = logdir

    def get_logdir(self) -> Any:
        """Return the directory of the events."""
        return self._logdir

    def _ignored(self, *arguments: Any, **settings: Any) -> None:
        """Do nothing."""

    add_summary = _ignored
    add_graph = _ignored
    add_event = _ignored
    add_meta_graph = _ignored
    add_run_metadata = _ignored
    add_session_log = _ignored
    flush = _ignored
    close = _ignored
    reopen = _ignored

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        pass


class ModeKeys:
    """The purposes of a dataset's elements."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)

_logger = _logging.getLogger("fastrec.compat")
log: Final = _logger.log
debug: Final = _logger.debug
info: Final = _logger.info
error: Final = _logger.error
warning: Final = _logger.warning
warn = warning
fatal: Final = _logger.critical


def set_verbosity(v: int) -> None:
    """Show messages of level `v` and above."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """Return the lowest level of shown messages."""
    return _logger.getEffectiveLevel()


def disable_v2_behavior() -> None:
    """Do nothing, because this is the only behaviour."""


def disable_eager_execution() -> None:
    """Do nothing, because eager execution is not supported."""


def disable_resource_variables() -> None:
    """Do nothing."""


disable_control_flow_v2 = disable_resource_variables
enable_control_flow_v2 = disable_resource_variables
disable_tensor_equality = disable_resource_variables
disable_v2_tensorshape = disable_resource_variables
enable_resource_variables = disable_resource_variables


def enable_eager_execution(*arguments: object, **settings: object) -> None:
    """Raise an error, because this version supports only graphs."""
    raise NotImplementedError(
        "fastrec.compat.v1 runs graphs in sessions; fastrec.compat.v2 runs at once"
    )


def executing_eagerly() -> bool:
    """Return False."""
    return False


def control_flow_v2_enabled() -> bool:
    """Return False."""
    return False


resource_variables_enabled = control_flow_v2_enabled


def function(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Return the function unchanged: its calls add operations to the graph."""
    return (lambda f: f) if func is None else func


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor (dense, sparse or ragged) or a variable."""
    return isinstance(x, (Tensor, Methods)) or hasattr(x, "initialized_value")
