# SPDX-License-Identifier: Apache-2.0
"""Functions that version 2 has, too, under version 1's names."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import as_dtype
from .._tf.faces.more import IN_BOTH, IN_MATH, Operations
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from ._nodes import Tensor
from ._ops import checked_kind, record_all, unary
from .constants import convert_to_tensor

__all__ = ["SHARED", "operations"]


def _tensor(value: Any, dtype: Any = None) -> Tensor:
    return convert_to_tensor(value, None if dtype is None else as_dtype(dtype))


def _applied(op: Op, inputs: list[Tensor], name: str | None, **attributes: Any) -> Any:
    checked_kind(op, inputs[0])
    found = record_all(op, inputs, name, **attributes)
    return found if len(found) > 1 else found[0]


operations = Operations(_applied, _tensor)

#: By name in ``tf``: the function.
SHARED: dict[str, Any] = {
    **{name: getattr(operations, name) for name in sorted(IN_BOTH | IN_MATH)},
    "decode_compressed": operations.decode_compressed,
    "div_no_nan": operations.divide_no_nan,  # type: ignore[attr-defined]
    "log1p": unary(rows.LOG1P),
    "rsqrt": unary(rows.RSQRT),
    "setdiff1d": operations.setdiff1d,
    "string_to_hash_bucket_fast": operations.to_hash_bucket_fast,
    "space_to_depth": operations.space_to_depth,
    "depth_to_space": operations.depth_to_space,
    "matrix_band_part": operations.band_part,
    "matrix_diag": operations.diag,
    "matrix_diag_part": operations.diag_part,
    "matrix_inverse": operations.inv,
    "matrix_determinant": operations.det,
    "trace": operations.trace,
}
for _name in ("softmax", "log_softmax", "softplus", "multiply_no_nan", "divide_no_nan"):
    del SHARED[_name]
