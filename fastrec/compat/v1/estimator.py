# SPDX-License-Identifier: Apache-2.0
"""``tf.estimator``: of it, what input functions are told that they are called for."""

from __future__ import annotations

from typing import Any

from .._tf.uncovered import uncovered

__all__ = ["ModeKeys"]


class ModeKeys:
    """What the elements of a data set are for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "estimator", name)
