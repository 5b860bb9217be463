# SPDX-License-Identifier: Apache-2.0
"""Values of TFDS as tests/tools/write_tfds.py writes them down."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

__all__ = ["same"]


def same(ours: Any, theirs: Any, where: str = "") -> None:
    """Hold a value against what ``tfds.as_numpy`` gave, as write_tfds.plain() has it."""
    marks = set(theirs)
    if marks == {"bytes"}:
        assert ours == base64.b64decode(theirs["bytes"]), where
    elif marks == {"strings", "shape"}:
        flat = [base64.b64decode(each["bytes"]) for each in theirs["strings"]]
        assert (ours.shape, ours.dtype) == (tuple(theirs["shape"]), np.dtype(object)), where
        assert ours.reshape(-1).tolist() == flat, where
    elif marks == {"array", "dtype", "shape"}:
        assert np.asarray(ours).dtype.name == theirs["dtype"], where
        assert np.shape(ours) == tuple(theirs["shape"]), where
        assert np.asarray(ours).tobytes() == base64.b64decode(theirs["array"]), where
    elif marks == {"ragged", "dtype"}:
        found = json.loads(json.dumps(ours.to_list(), default=bytes.decode))
        assert found == theirs["ragged"], where
        if theirs["dtype"] != "string":
            assert ours.flat_values.dtype.name == theirs["dtype"], where
    elif marks == {"steps"} and not isinstance(ours, dict):
        assert len(ours) == len(theirs["steps"]), where
        for t, (one, other) in enumerate(zip(ours, theirs["steps"], strict=True)):
            same(one, other, f"{where}[{t}]")
    else:
        assert set(ours) == marks, where
        for key, value in theirs.items():
            same(ours[key], value, f"{where}/{key}")
