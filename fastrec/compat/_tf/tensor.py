# SPDX-License-Identifier: Apache-2.0
"""Tensors: arrays with TensorFlow's interface, and symbols for them during tracing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

import fastrec

from . import errors as _errors
from .dtypes import OF_ARRAYS, DType, as_dtype, float32, int32, short_name, string
from .errors import invalid
from .shape import TensorShape as _TensorShape

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16  # strings that are worth a block of memory


class TensorShape(_TensorShape):
    """A shape whose sizes are plain numbers, or None where unknown."""

    __slots__ = ()
    _element = staticmethod(lambda size: size)

    def __str__(self) -> str:
        return "<unknown>" if self._sizes is None else str(self._sizes)


# Implementations of operators, filled by the module of operations, which depends on this one.
OPERATORS: dict[str, Callable[..., Any]] = {}


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda self: self._operate(name)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._operate(name, other)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._operate_reflected(name, other)


class Operators:
    """Python's operators, for the tensors of both versions."""

    __slots__ = ()

    @abstractmethod
    def _operate(self, name: str, *others: Any) -> Any:
        """Apply the operator with this name to the tensor and the other operand, if any."""

    @abstractmethod
    def _operate_reflected(self, name: str, other: Any) -> Any:
        """Apply the operator with this name to `other` and the tensor."""

    __neg__: Final = _unary("negative")
    __abs__: Final = _unary("abs")
    __invert__: Final = _unary("invert")
    __add__: Final = _binary("add")
    __radd__: Final = _reflected("add")
    __sub__: Final = _binary("subtract")
    __rsub__: Final = _reflected("subtract")
    __mul__: Final = _binary("multiply")
    __rmul__: Final = _reflected("multiply")
    __truediv__: Final = _binary("divide")
    __rtruediv__: Final = _reflected("divide")
    __floordiv__: Final = _binary("floordiv")
    __rfloordiv__: Final = _reflected("floordiv")
    __mod__: Final = _binary("floormod")
    __rmod__: Final = _reflected("floormod")
    __pow__: Final = _binary("pow")
    __rpow__: Final = _reflected("pow")
    __lt__: Final = _binary("less")
    __le__: Final = _binary("less_equal")
    __gt__: Final = _binary("greater")
    __ge__: Final = _binary("greater_equal")
    __and__: Final = _binary("and")
    __rand__: Final = _reflected("and")
    __or__: Final = _binary("or")
    __ror__: Final = _reflected("or")
    __xor__: Final = _binary("xor")
    __rxor__: Final = _reflected("xor")


class DenseOperators(Operators):
    """Python's operators for dense tensors, including matrix products and indexing."""

    __slots__ = ()
    __array_priority__ = 100
    __matmul__: Final = _binary("matmul")
    __rmatmul__: Final = _reflected("matmul")
    __getitem__: Final = _binary("getitem")


class Tensor(DenseOperators):
    """An array of one type, or the symbol for one while a function is traced."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The type of the elements."""

    @property
    @abstractmethod
    def shape(self) -> TensorShape:
        """The static shape."""

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The number of dimensions."""
        return self.shape.ndims

    def set_shape(self, shape: Any) -> None:
        """Add information to the static shape.

        Raises
        ------
        ValueError
            If the shapes are incompatible.
        """
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}."
            )

    def _operate(self, name: str, *others: Any) -> Any:
        return OPERATORS[name](self, *others)

    def _operate_reflected(self, name: str, other: Any) -> Any:
        return OPERATORS[name](convert_to_tensor(other, self.dtype), self)

    __eq__, __ne__ = _binary("equal"), _binary("not_equal")


class EagerTensor(Tensor):
    """A tensor with a value.

    Parameters
    ----------
    value : ndarray, Bytes or bytes
        The elements; strings may stay in fastrec's representation until they are read.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def array(self) -> NDArray[Any]:
        """The elements; object arrays of bytes for strings."""
        if not isinstance(self._value, np.ndarray):
            self._value = as_array(self._value)
        found: NDArray[Any] = self._value
        return found

    @property
    def raw(self) -> Any:
        """The elements in their stored form: an ndarray, bytes or :class:`fastrec.Bytes`."""
        return self._value

    @property
    def dtype(self) -> DType:
        value = self._value
        if isinstance(value, np.ndarray):
            return OF_ARRAYS.get(value.dtype) or as_dtype(value.dtype)
        return string

    @property
    def shape(self) -> TensorShape:
        return TensorShape(() if isinstance(self._value, bytes) else self._value.shape)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def numpy(self) -> Any:
        """Return the elements as an ndarray; for a scalar, a NumPy scalar or bytes."""
        array = self.array
        return array[()] if array.ndim == 0 else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.array
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __len__(self) -> int:
        if not self.shape.ndims:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self._value.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape.ndims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (EagerTensor(np.asarray(row, self.array.dtype)) for row in self.array)

    def __bool__(self) -> bool:
        return bool(self.array) if self.array.size else False

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        if not self.dtype.is_integer or self.array.ndim:
            raise TypeError("only integer scalar tensors can be converted to a scalar index")
        return int(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if not self.shape.ndims else format(str(self), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({_printed(self)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={_shown(self)}>"

    def __reduce__(self) -> Any:
        return EagerTensor, (self.array,)


def _printed(tensor: EagerTensor) -> str:
    value = tensor.numpy()
    text = repr(value) if isinstance(value, bytes) else str(value)
    return f"\n{text}" if "\n" in text else text


def _shown(tensor: EagerTensor) -> str:
    value = tensor.numpy()
    if isinstance(value, np.generic):
        return str(value.item())
    text = repr(value)
    return f"\n{text}" if "\n" in text else text


def as_array(value: Any) -> NDArray[Any]:
    """Convert strings in any form to an object array of bytes; return numbers unchanged."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic) and not isinstance(value, bytes):
        return np.asarray(value)
    if isinstance(value, fastrec.Bytes):
        return value.to_numpy()
    return boxed(value)


def as_texts(x: Any) -> fastrec.Bytes | None:
    """Return strings as Bytes, or None for a single string or a few."""
    if isinstance(x, fastrec.Bytes):
        return x
    if not isinstance(x, np.ndarray) or x.size < _BLOCK:
        return None
    texts = fastrec.Bytes.from_list(x.reshape(-1).tolist())
    return fastrec.Bytes(texts.data, texts.offsets, x.shape)


def boxed(value: Any) -> NDArray[Any]:
    """Return a scalar array that holds any object, for example bytes."""
    array = np.empty((), object)
    array[()] = value
    return array


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview, np.bytes_)):
        return bytes(value)
    raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype string")


def _strings(value: Any) -> NDArray[Any]:
    if isinstance(value, (bytes, str, bytearray, memoryview)):
        return boxed(_as_bytes(value))
    found = np.array(value, object) if not isinstance(value, np.ndarray) else value.astype(object)
    flat = found.reshape(-1).tolist()
    if set(map(type, flat)) == {bytes}:
        return found
    flat = [_as_bytes(each) for each in flat]
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(found.shape)


def _is_text(value: Any) -> bool:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "SUO" and value.dtype != bool
    return isinstance(value, (bytes, str, bytearray, memoryview))


# The kinds of numbers that are accepted for each kind; bfloat16's kind is "V".
_KINDS = {"f": "biuf", "i": "biu", "u": "biu", "b": "b", "c": "biufc", "V": "iuf"}


def _numeric(value: Any, dtype: DType | None) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from error
    if array.dtype == object:
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
            "Tensor."
        )
    array = _native(array)
    python = not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "__array__")
    if dtype is None:
        if array.dtype.kind in "US":
            raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
        return _of_sequence(value, array) if python else array
    if dtype.numpy == np.uint64 and array.dtype == np.float64 and python:
        array = _unsigned(value, array)
    kinds = _KINDS[dtype.kind]
    if array.size and array.dtype.kind not in kinds and not isinstance(value, np.ndarray):
        shown = value if np.ndim(value) == 0 else array.reshape(-1)[0]
        raise TypeError(f"Cannot convert {shown} to EagerTensor of dtype {short_name(dtype)}")
    return array.astype(dtype.numpy, copy=not python)


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _unsigned(value: Any, array: NDArray[Any]) -> NDArray[Any]:
    """Return an unsigned array for integers beyond int64, which NumPy converts to floats."""
    numbers = np.asarray(value, object)
    whole = all(isinstance(number, int) for number in numbers.reshape(-1).tolist())
    return numbers.astype(np.uint64) if whole else array


def _of_sequence(value: Any, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the type that TensorFlow chooses for a number or a list of numbers.

    Tensors in a list determine the type; otherwise NumPy floats do, if the first element is one.
    Python's numbers have 32 bits where they fit, and so do NumPy integers in a list.
    """
    if (tensor := _first_tensor(value)) is not None:
        return array.astype(tensor.dtype.numpy)
    first = value
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if not array.size:
        return array.astype(np.float32)
    if isinstance(first, bool) and array.dtype.kind != "b":
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if array.dtype.kind == "f":
        kept = isinstance(first, (np.floating, np.ndarray)) and first.dtype.kind == "f"
        return array.astype(first.dtype if kept else np.float32)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
            raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
        narrow = array.astype(np.int32)
        return narrow if (narrow == array).all() else array.astype(np.int64)
    return array


def _first_tensor(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return next((t for t in map(_first_tensor, value) if t is not None), None)
    return value if isinstance(value, Tensor) else None


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Convert `value` to a tensor: Python's numbers become int32 and float32, text becomes strings.

    Raises
    ------
    TypeError, ValueError
        If `value` cannot be converted, or not to this type.
    """
    kind = type(value)  # the fast path for most numbers
    if kind is int and -(1 << 31) <= value < 1 << 31:
        if dtype is None or dtype is int32:
            return EagerTensor(np.array(value, np.int32))
        if dtype is float32:
            return EagerTensor(np.array(value, np.float32))
    if kind is float and (dtype is None or dtype is float32):
        return EagerTensor(np.array(value, np.float32))
    if dtype is None and kind is np.ndarray and value.dtype.kind in "biufc":
        return EagerTensor(_native(value))
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype != wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, (list, tuple)) and must_be_stacked(value):
        each_dtype = wanted or _first_tensor(value).dtype
        return OPERATORS["stack"]([convert_to_tensor(each, each_dtype) for each in value])
    if isinstance(value, fastrec.Bytes):
        return EagerTensor(value)
    if value is None:
        raise ValueError(
            "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a "
            "Tensor."
        )
    if isinstance(value, _TensorShape):
        value = value.as_list()
    if (wanted is not None and wanted.name == "string") or (wanted is None and _is_text(value)):
        return EagerTensor(_strings(value))
    return EagerTensor(_numeric(value, wanted))


def must_be_stacked(value: Any) -> bool:
    """Return whether a nested list holds a tensor that NumPy cannot convert: a symbol or text."""
    if isinstance(value, (list, tuple)):
        return any(map(must_be_stacked, value))
    return isinstance(value, Tensor) and (
        not isinstance(value, EagerTensor) or value.dtype.name == "string"
    )


def mismatch(op: str, expected: DType, found: DType, number: int = 1) -> _errors.OpError:
    """Return TensorFlow's error for two tensors that must have the same type and do not."""
    return invalid(
        f"cannot compute {op} as input #{number}(zero-based) was expected to be a "
        f"{short_name(expected)} tensor but is a {short_name(found)} tensor [Op:{op}] name: "
    )
