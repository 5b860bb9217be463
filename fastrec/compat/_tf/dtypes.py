# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's element types, each defined by a NumPy dtype."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class DType:
    """The type of a tensor's elements. Each type is one object, so that ``is`` compares them."""

    __slots__ = ("_enum", "_name", "_numpy")

    by_name: ClassVar[dict[str, DType]] = {}

    def __init__(self, name: str, numpy: type[Any], enum: int) -> None:
        self._name = name
        self._numpy: np.dtype[Any] = np.dtype(numpy)
        self._enum = enum
        DType.by_name[name] = self

    @property
    def name(self) -> str:
        """The name, for example ``"float32"``."""
        return self._name

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype: ``object`` for strings, whose elements are ``bytes``."""
        return self._numpy

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type, for example ``np.float32``; ``object`` for strings."""
        return object if self.kind == "O" else self.numpy.type

    @property
    def kind(self) -> str:
        """The kind of the NumPy dtype, for example ``"f"``; ``"O"`` for strings."""
        return self._numpy.kind

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in ``tensorflow/core/framework/types.proto``."""
        return self._enum

    @property
    def base_dtype(self) -> DType:
        """This type, because reference types are not supported."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part of a complex type; any other type itself."""
        return {"complex64": float32, "complex128": float64}.get(self._name, self)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; bool is not."""
        return self.kind in "iu"

    @property
    def is_floating(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f" or self._name == "bfloat16"

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex type."""
        return self.kind == "c"

    @property
    def is_bool(self) -> bool:
        """Whether it is bool."""
        return self.kind == "b"

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer type."""
        return self.kind == "u"

    @property
    def is_quantized(self) -> bool:
        """False, because quantized types are not supported."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy has the type."""
        return self is not resource

    @property
    def size(self) -> int:
        """Size of an element in bytes; 1 for strings."""
        return 1 if self.kind == "O" else self.numpy.itemsize

    @property
    def min(self) -> Any:
        """The smallest number of the type."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest number of the type."""
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of values in images of the type: 0 and 1 for floating-point types."""
        return (0, 1) if self.is_floating else (0, self.max)

    def _limit(self, which: str) -> Any:
        if self.kind in "iu":
            return int(getattr(np.iinfo(self.numpy), which))
        if self.kind == "f":
            return getattr(np.finfo(self.numpy), which)
        if self.kind == "b":
            return which == "max"
        raise TypeError(f"Cannot find {which}imum value of {self}.")

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether `other` names the same type."""
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        if isinstance(other, DType):
            return self is other
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._enum

    def __int__(self) -> int:
        return self._enum

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self._name,)


float32 = DType("float32", np.float32, 1)
float64 = DType("float64", np.float64, 2)
int32 = DType("int32", np.int32, 3)
uint8 = DType("uint8", np.uint8, 4)
int16 = DType("int16", np.int16, 5)
int8 = DType("int8", np.int8, 6)
string = DType("string", np.object_, 7)
complex64 = DType("complex64", np.complex64, 8)
int64 = DType("int64", np.int64, 9)
bool_ = DType("bool", np.bool_, 10)
uint16 = DType("uint16", np.uint16, 17)
complex128 = DType("complex128", np.complex128, 18)
float16 = DType("float16", np.float16, 19)
resource = DType("resource", np.object_, 20)
uint32 = DType("uint32", np.uint32, 22)
uint64 = DType("uint64", np.uint64, 23)

_ALIASES: dict[Any, DType] = {
    "half": float16,
    "float": float32,
    "double": float64,
    "str": string,
    float: float32,
    int: int64,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
    object: string,
}
#: The most frequent lookups: types of arrays in native byte order.
OF_ARRAYS: dict[Any, DType] = {
    **{t.numpy: t for t in DType.by_name.values() if t.numpy.kind != "O"},
    np.dtype(object): string,
}
_BY_NUMPY = {t.numpy: t for t in DType.by_name.values() if t.numpy.kind != "O"}
_BY_ENUM = {t.as_datatype_enum: t for t in DType.by_name.values()}

# Names of types in the core's messages that differ from their TensorFlow names.
IN_MESSAGES = {"float32": "float", "float64": "double", "float16": "half"}


class _BFloat16(DType):
    """The type of ``tf.bfloat16``, whose elements the package ``ml_dtypes`` defines.

    A program may name and compare it without that package.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._name, self._enum = "bfloat16", 14
        DType.by_name["bfloat16"] = _BY_ENUM[14] = self

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype.

        Raises
        ------
        ModuleNotFoundError
            Without ``ml_dtypes``.
        """
        try:
            from ml_dtypes import bfloat16 as kind
        except ImportError:
            raise ModuleNotFoundError(
                "elements of tf.bfloat16 require ml_dtypes: pip install ml_dtypes",
                name="ml_dtypes",
            ) from None
        found: np.dtype[Any] = np.dtype(kind)
        return found

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 2

    @property
    def kind(self) -> str:
        """The kind of the NumPy dtype."""
        return "V"


bfloat16 = _BFloat16()


def as_dtype(type_value: Any) -> DType:
    """Return the type for a DType, a string, a NumPy dtype or a Python type.

    Raises
    ------
    TypeError
        If `type_value` does not name a supported type.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str) and (found := DType.by_name.get(type_value)):
        return found
    if isinstance(type_value, (str, type)) and (found := _ALIASES.get(type_value)):
        return found
    if isinstance(type_value, int) and (found := _BY_ENUM.get(type_value)):
        return found
    if isinstance(type_value, (np.dtype, type)):
        numpy = np.dtype(type_value)
        if numpy.kind in "SUO":
            return string
        if (found := _BY_NUMPY.get(numpy.newbyteorder("="))) is not None:
            return found
        if numpy.name == "bfloat16":
            return bfloat16
    raise TypeError(
        f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
    )


def short_name(dtype: DType) -> str:
    """Return the name in messages of TensorFlow's kernels, such as ``float`` for float32."""
    return IN_MESSAGES.get(dtype.name, dtype.name)
