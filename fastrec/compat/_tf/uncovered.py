# SPDX-License-Identifier: Apache-2.0
"""Errors for unsupported names of TensorFlow, which state the alternative."""

from __future__ import annotations

import re

__all__ = ["uncovered"]

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
