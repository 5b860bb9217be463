# SPDX-License-Identifier: Apache-2.0
"""Special functions and rarely used operations on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from .._tf.dtypes import DType, as_dtype, float32
from .._tf.errors import invalid
from .._tf.ops import Array, Op, constant_of, same_spec
from .._tf.ops.arithmetic import (
    binary,
    broadcast_sizes,
    elementwise,
    float_function,
    selected,
    unary,
)
from .._tf.ops.reductions import accumulating
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array


def special(name: str) -> Callable[..., Array]:
    """Return a native special function, whose result has the type of its first operand."""

    def function(*operands: Array) -> Array:
        dtype = operands[0].dtype
        wide = np.float64 if dtype == np.float64 else np.float32
        values = [each.astype(wide, copy=False) for each in operands]
        return _tensor.special(name, *values).astype(dtype, copy=False)

    return function


def erfcinv(y: Array) -> Array:
    """Return the inverse of the complementary error function."""
    part = np.minimum(y, 2 - y)
    inside = (part > 0) & (part <= 1)
    given = np.where(inside, part, 0.5).astype(float)
    logs = np.log(given) + np.log(2 - given)
    middle = 2 / (np.pi * 0.147) + logs / 2
    x = np.sqrt(np.sqrt(middle**2 - logs / 0.147) - middle)
    for _ in range(4):
        slope = -2 / math.sqrt(math.pi) * np.exp(-x * x)
        step = np.divide(
            _tensor.special("erfc", x) - given, slope, out=np.zeros_like(x), where=slope != 0
        )
        x = x - step / (1 + x * step)
    x = np.where(part == 0, np.inf, np.where(inside, x, np.nan))
    return np.where(y > 1, -x, x)


def erfinv(z: Array) -> Array:
    """Return the inverse of the error function."""
    size = np.abs(z).astype(float)
    small = size < 0.5
    given = np.where(small, size, 0.25)
    x = given * math.sqrt(math.pi) / 2
    for _ in range(5):
        step = (_tensor.special("erf", x) - given) * math.sqrt(math.pi) / 2 * np.exp(x * x)
        x = x - step / (1 + x * step)
    return np.copysign(np.where(small, x, erfcinv(1 - np.where(small, 0.0, size))), z)


def ndtri(p: Array) -> Array:
    """Return the quantile function of the standard normal distribution."""
    p = p.astype(float)
    middle = np.abs(p - 0.5) < 0.25
    near = erfinv(np.where(middle, 2 * p - 1, 0.0))
    return math.sqrt(2) * np.where(middle, near, -erfcinv(np.where(middle, 1.0, 2 * p)))


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + _tensor.special("erf", x / math.sqrt(2))))


def _gelu_approximately(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _selu(x: Array) -> Array:
    return np.where(x > 0, _SELU_SCALE * x, _SELU_SCALE * _SELU_ALPHA * np.expm1(np.minimum(x, 0)))


def _inverse_or_zero(x: Array) -> Array:
    zero, one = x.dtype.type(0), x.dtype.type(1)
    return selected(x == 0, zero, np.divide(one, x))


UNARY = {
    "bessel_i0": float_function("BesselI0", special("i0"), "f"),
    "bessel_i0e": float_function("BesselI0e", special("i0e"), "f"),
    "bessel_i1": float_function("BesselI1", special("i1"), "f"),
    "bessel_i1e": float_function("BesselI1e", special("i1e"), "f"),
    "digamma": unary("Digamma", special("digamma"), "f"),
    "erfcinv": float_function("Erfcinv", erfcinv, "f"),
    "erfinv": float_function("Erfinv", erfinv, "f"),
    "ndtri": float_function("Ndtri", ndtri, "f"),
    "acosh": float_function("Acosh", np.arccosh),
    "asinh": float_function("Asinh", np.arcsinh),
    "atanh": float_function("Atanh", np.arctanh),
    "elu": float_function("Elu", lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "f"),
    "erfc": float_function("Erfc", special("erfc"), "f"),
    "lgamma": unary("Lgamma", special("lgamma"), "f"),
    "log_sigmoid": float_function("LogSigmoid", lambda x: -np.logaddexp(-x, 0), "f"),
    "reciprocal_no_nan": unary("ReciprocalNoNan", _inverse_or_zero, "f"),
    "relu6": unary("Relu6", lambda x: np.clip(x, x.dtype.type(0), x.dtype.type(6)), "fiu"),
    "selu": float_function("Selu", _selu, "f"),
    "softsign": float_function("Softsign", lambda x: x / (1 + np.abs(x)), "f"),
}
SILU = float_function("Silu", lambda x: x / (1 + np.exp(-x)), "f")
GELU = {
    False: float_function("Gelu", _gelu, "f"),
    True: float_function("GeluTanh", _gelu_approximately, "f"),
}


def _unless_zero(function: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Array]:
    """Return a function that is 0 if the first operand is 0, regardless of the second."""

    def apply(x: Array, y: Array) -> Array:
        return selected(x == 0, x.dtype.type(0), function(x, y))

    return apply


def _logarithm(native: str, function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    return lambda x: _tensor.elementwise(native, x) if x.dtype == np.float32 else function(x)


_LOG, _LOG1P = _logarithm("log", np.log), _logarithm("log1p", np.log1p)
BINARY = {
    "igamma": binary("Igamma", special("igamma"), "f"),
    "igammac": binary("Igammac", special("igammac"), "f"),
    "polygamma": binary("Polygamma", special("polygamma"), "f"),
    "zeta": binary("Zeta", special("zeta"), "f"),
    "nextafter": binary("NextAfter", np.nextafter, "f"),
    "xdivy": binary("Xdivy", _unless_zero(np.true_divide), "fc"),
    "xlog1py": binary("Xlog1py", _unless_zero(lambda x, y: x * _LOG1P(y)), "fc"),
    "xlogy": binary("Xlogy", _unless_zero(lambda x, y: x * _LOG(y)), "fc"),
}


def _part(dtype: DType) -> DType:
    return {"complex64": float32, "complex128": as_dtype("float64")}.get(dtype.name, dtype)


def _of_complex(name: str, function: Callable[[Array], Any]) -> Op:
    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, _part(specs[0].dtype))]

    def part(x: Array) -> Array:
        return np.asarray(function(x), _part(as_dtype(x.dtype)).numpy)

    return unary(name, part, "fc", infer)


REAL = _of_complex("Real", np.real)
IMAG = _of_complex("Imag", np.imag)
ANGLE = _of_complex("Angle", np.angle)


def _complex_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    wide = "complex64" if specs[0].dtype is float32 else "complex128"
    return [TensorSpec(broadcast_sizes("Complex", specs), wide)]


def _complex(real: Array, imag: Array) -> Array:
    found: Array = real + 1j * imag
    return found.astype(np.complex64 if real.dtype == np.float32 else np.complex128)


COMPLEX = Op("Complex", _complex, _complex_spec, kinds="f")


def _along(function: Any) -> Callable[[Array, int], Array]:
    """Return the function that accumulates the results of another one along an axis."""
    return lambda x, axis: function.accumulate(x, axis, dtype=x.dtype) if x.size else x.copy()


CUMPROD = accumulating("Cumprod", _along(np.multiply), 1, "fiuc")
CUMULATIVE_LOGSUMEXP = accumulating("CumulativeLogsumexp", _along(np.logaddexp), -math.inf, "f")


def _ordered(name: str, compare: Callable[[Array, Array], Any]) -> Op:
    def kernel(x: Array) -> Array:
        flat = x.reshape(-1)
        return np.asarray(compare(flat[1:], flat[:-1]).all())

    return Op(name, kernel, lambda *_: [TensorSpec([], "bool")])


IS_NON_DECREASING = _ordered("IsNonDecreasing", np.greater_equal)
IS_STRICTLY_INCREASING = _ordered("IsStrictlyIncreasing", np.greater)


def _zero_fraction(x: Any) -> Array:
    array = as_array(x)
    zeros = array.size - np.count_nonzero(array)
    return np.asarray(zeros / array.size if array.size else np.nan, np.float32)


ZERO_FRACTION = Op("ZeroFraction", _zero_fraction, lambda *_: [TensorSpec([], float32)])


def _in_top_k(predictions: Array, targets: Array, k: Array) -> Array:
    rows, classes = predictions.shape
    if targets.shape != (rows,):
        raise invalid(
            f"First dimension of predictions {rows} must match length of targets "
            f"{targets.shape[0] if targets.ndim else 0}"
        )
    inside = (targets >= 0) & (targets < classes)
    marks = predictions[np.arange(rows), np.where(inside, targets, 0)]
    is_better = predictions > marks[:, np.newaxis]
    is_valid = inside & np.isfinite(predictions).all(axis=1)
    return np.asarray(is_valid & (is_better.sum(axis=1) < int(k)))


IN_TOP_K = Op("InTopKV2", _in_top_k, lambda specs, *_: [TensorSpec(specs[1].shape, "bool")])


def _confusion(
    labels: Array, predictions: Array, *rest: Array, classes: int | None, dtype: DType
) -> Array:
    given = [np.squeeze(each) if each.ndim > 1 else each for each in (labels, predictions)]
    for name, each in zip(("labels", "predictions"), given, strict=True):
        if each.size and each.min() < 0:
            raise invalid(f"`{name}` contains negative values")
        if classes is not None and each.size and each.max() >= classes:
            raise invalid(f"`{name}` out of bound")
    size = classes
    if size is None:
        size = 1 + max((int(each.max()) for each in given if each.size), default=-1)
    found = np.zeros((size, size), dtype.numpy)
    weights = rest[0].astype(dtype.numpy).reshape(-1) if rest else dtype.numpy.type(1)
    np.add.at(found, (given[0].reshape(-1), given[1].reshape(-1)), weights)
    return found


CONFUSION_MATRIX = Op(
    "ConfusionMatrix",
    _confusion,
    lambda *_, classes, dtype: [TensorSpec([classes, classes], dtype)],
)


def _unraveled(indices: Array, dims: Array) -> Array:
    sizes = dims.tolist()
    total = math.prod(sizes)
    if indices.size and not 0 <= indices.min() <= indices.max() < total:
        raise invalid("index is out of bound as with dims")
    found = np.array(np.unravel_index(indices, sizes), indices.dtype)
    return found.reshape(len(sizes), -1) if indices.ndim else found


def _unraveled_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    dims = constant_of(raws[1])
    count = None if dims is None else len(dims)
    total = specs[0].shape.num_elements()
    return [TensorSpec([count, total] if specs[0].shape.ndims else [count], specs[0].dtype)]


UNRAVEL_INDEX = Op("UnravelIndex", _unraveled, _unraveled_spec)


def _bitcast(x: Array, *, type: DType) -> Array:
    wanted, size = type.numpy, x.dtype.itemsize
    if wanted.itemsize == size:
        return np.ascontiguousarray(x).view(wanted).reshape(x.shape)
    if wanted.itemsize < size:
        return np.ascontiguousarray(x).reshape(*x.shape, 1).view(wanted)
    if not x.ndim or x.shape[-1] * size != wanted.itemsize:
        raise invalid(f"Cannot bitcast from {as_dtype(x.dtype).name} to {type.name}")
    return np.ascontiguousarray(x).view(wanted).reshape(x.shape[:-1])


def _bitcast_spec(specs: Sequence[Any], *_: Any, type: DType) -> list[TypeSpec]:
    sizes, size, wanted = specs[0].shape.sizes, specs[0].dtype.size, type.size
    if sizes is None or wanted == size:
        return [TensorSpec(sizes, type)]
    return [TensorSpec([*sizes, size // wanted] if wanted < size else sizes[:-1], type)]


BITCAST = Op("Bitcast", _bitcast, _bitcast_spec)


def _over_root(total: Array, ids: Array) -> Array:
    flat = ids.reshape(-1)
    counts = _tensor.count_segments(flat, len(total))
    roots = np.sqrt(np.maximum(counts, 1)).astype(total.dtype)
    found: Array = total / roots.reshape(-1, *(1,) * (total.ndim - 1))
    return found


OVER_ROOT_OF_COUNT = Op("OverRootOfCount", _over_root, same_spec, kinds="f")


def _beta_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes = broadcast_sizes("Betainc", specs[:2])
    joint = TensorSpec(sizes, specs[0].dtype)
    return [TensorSpec(broadcast_sizes("Betainc", [joint, specs[2]]), specs[0].dtype)]


BETAINC = elementwise("Betainc", special("betainc"), "f", _beta_spec)


def _log_beta(x: Array) -> Array:
    wide, log_gamma = x.astype(float), special("lgamma")
    sums = log_gamma(wide).sum(axis=-1) - log_gamma(wide.sum(axis=-1))
    return np.asarray(sums, x.dtype)


LOG_BETA = Op(
    "Lbeta",
    _log_beta,
    lambda specs, *_: [TensorSpec((specs[0].shape.sizes or (None,))[:-1], specs[0].dtype)],
    kinds="f",
)
