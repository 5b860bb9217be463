# SPDX-License-Identifier: Apache-2.0
"""``tf.estimator``: the modes that input functions receive."""

from __future__ import annotations

from typing import Any

from .._tf.uncovered import uncovered

__all__ = ["ModeKeys"]


class ModeKeys:
    """The purposes of a dataset's elements."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "estimator", name)
