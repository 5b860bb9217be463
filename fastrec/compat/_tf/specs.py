# SPDX-License-Identifier: Apache-2.0
"""Specs of the elements of a dataset: type and shape of each component."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from .dtypes import DType, as_dtype, int64
from .shape import common_shape
from .structure import flatten
from .tensor import Tensor, TensorShape, convert_to_tensor


class TypeSpec:
    """A type and a shape.

    Parameters
    ----------
    shape : TensorShape or a value that can be converted to one
    dtype : dtype-like
    """

    value_type: ClassVar[type]  # class of the values; the modules of composites set theirs

    def __init__(self, shape: Any = None, dtype: Any = "float32") -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    def reshaped(self, shape: Any) -> TypeSpec:
        """Return the spec with another shape."""
        return type(self)(shape, self._dtype)

    def _kind(self) -> tuple[Any, ...]:
        """Return the properties that are equal in specs which differ only in shape."""
        return type(self), self._dtype

    def is_compatible_with(self, value: Any) -> bool:
        """Return whether a tensor, or another spec, matches this type and shape."""
        spec = _spec_of(value)
        return self._kind() == spec._kind() and self._shape.is_compatible_with(spec._shape)

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every value of this spec is also a value of `other`."""
        if not isinstance(other, TypeSpec) or self._kind() != other._kind():
            return False
        if (name := getattr(self, "name", None)) and name != getattr(other, "name", None):
            return False
        return common(self, other).shape.sizes == other.shape.sizes

    def most_specific_common_supertype(self, others: Any) -> TypeSpec | None:
        """Return the most specific spec that includes this one and the others, or None."""
        found = self
        for other in others:
            if not isinstance(other, TypeSpec) or found._kind() != other._kind():
                return None
            if getattr(self, "name", None) != getattr(other, "name", None):
                return None
            found = common(found, other)
        return TensorSpec.from_spec(found, self.name) if isinstance(self, TensorSpec) else found

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Return the most specific spec that includes this one and `other`.

        Raises
        ------
        ValueError
            If there is no such spec.
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    @classmethod
    def from_value(cls, value: Any) -> TypeSpec:
        """Return the spec of a value."""
        return _spec_of(value)

    def _key(self) -> tuple[Any, ...]:
        return type(self), self._shape.sizes, self._dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class TensorSpec(TypeSpec):
    """Type and shape of a tensor.

    Parameters
    ----------
    shape : TensorShape or a value that can be converted to one
    dtype : dtype-like
    name : str, optional
    """

    value_type = Tensor

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        super().__init__(shape, dtype)
        self.name = name

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.name == getattr(other, "name", None)

    __hash__ = TypeSpec.__hash__

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Return the spec of `tensor`."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return a copy of a spec with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class NoneTensorSpec:
    """The spec of None in an element."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def is_compatible_with(self, value: Any) -> bool:
        """Return whether a value, or another spec, is None."""
        return value is None or self == value

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class ElementsSpec:
    """The spec of a collection of elements.

    Parameters
    ----------
    element_spec : structure of TypeSpec
        The spec of the elements.
    """

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the spec of a value."""
        return cls(value.element_spec)

    def is_compatible_with(self, value: Any) -> bool:
        """Return whether a value, or another spec, has such elements."""
        spec = value if isinstance(value, type(self)) else self.from_value(value)
        (one, own), (other, theirs) = flatten(self.element_spec), flatten(spec.element_spec)
        pairs = zip(own, theirs, strict=False)
        return one == other and all(mine.is_compatible_with(each) for mine, each in pairs)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


class DatasetSpec(ElementsSpec):
    """The spec of datasets within a dataset.

    Parameters
    ----------
    element_spec : structure of TypeSpec
        The spec of their elements.
    dataset_shape : TensorShape or a value that can be converted to one
        The shape of the array of datasets.
    """

    dtype = None

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec)
        self.shape: Final = TensorShape(dataset_shape)

    def reshaped(self, shape: Any) -> DatasetSpec:
        """Return the spec of an array of another shape."""
        return DatasetSpec(self.element_spec, shape)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.shape!r})"


class SparseTensorSpec(TypeSpec):
    """Type and shape of a sparse tensor."""

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


class RaggedTensorSpec(TypeSpec):
    """Type and shape of a ragged tensor.

    Parameters
    ----------
    shape : TensorShape or a value that can be converted to one
    dtype : dtype-like
    ragged_rank : int, optional
        Number of dimensions with rows of varying length; all except the first by default.
    row_splits_dtype : dtype-like
    """

    flat_values_spec = None  # the spec of values that are not tensors

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = "float32",
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
    ) -> None:
        super().__init__(shape, dtype)
        rank = self.shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )
        self.ragged_rank = ragged_rank
        self.row_splits_dtype: Final = as_dtype(row_splits_dtype)

    def reshaped(self, shape: Any) -> TypeSpec:
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self.row_splits_dtype)

    def _kind(self) -> tuple[Any, ...]:
        return (*super()._kind(), self.ragged_rank, self.row_splits_dtype)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.ragged_rank, self.row_splits_dtype)

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )


class TensorArraySpec(TypeSpec):
    """Type of an array of tensors.

    Parameters
    ----------
    element_shape : TensorShape or a value that can be converted to one
        The shape of the tensors.
    dtype : dtype-like
    dynamic_size : bool
        Whether writing can extend the array.
    infer_shape : bool
        Whether all tensors must have the shape of the first one.
    """

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = "float32",
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        super().__init__((), dtype)
        self.element_shape: Final = TensorShape(element_shape)
        self.dynamic_size: bool = dynamic_size
        self.infer_shape: bool = infer_shape

    def reshaped(self, shape: Any) -> TensorArraySpec:
        return self

    def written(self, shape: Any) -> TensorArraySpec:
        """Return the spec of the array after writing a tensor of this shape."""
        merged = self.element_shape.merge_with(shape) if self.infer_shape else self.element_shape
        if merged.sizes == self.element_shape.sizes:
            return self
        return TensorArraySpec(merged, self.dtype, self.dynamic_size, self.infer_shape)

    def _key(self) -> tuple[Any, ...]:
        kind = self.dynamic_size, self.infer_shape
        return (*super()._key(), self.element_shape.sizes, *kind)

    def __repr__(self) -> str:
        return (
            f"TensorArraySpec({self.element_shape!r}, {self.dtype!r}, {self.dynamic_size}, "
            f"{self.infer_shape})"
        )


def _spec_of(value: Any) -> TypeSpec:
    if isinstance(value, TypeSpec):
        return value
    if hasattr(value, "_spec"):
        found: TypeSpec = value._spec
        return found
    tensor = convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)


def batched(spec: TypeSpec, size: int | None) -> TypeSpec:
    """Return the spec of a batch of such elements."""
    sizes = spec.shape.sizes
    shape = None if sizes is None else (size, *sizes)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    return spec.reshaped(shape)


def unbatched(spec: TypeSpec) -> TypeSpec:
    """Return the spec of a row of such a batch."""
    sizes = spec.shape.sizes
    shape = None if sizes is None else sizes[1:]
    if isinstance(spec, RaggedTensorSpec):
        if spec.ragged_rank == 1:
            return TensorSpec(shape, spec.dtype)
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return spec.reshaped(shape)


def common(one: TypeSpec, other: TypeSpec) -> TypeSpec:
    """Return the spec that includes two specs of one type."""
    if isinstance(one, TensorArraySpec) and isinstance(other, TensorArraySpec):
        return one.written(other.element_shape)  # one of the arrays may have been written to
    return one.reshaped(common_shape(one.shape, other.shape))


def sample(spec: TypeSpec, unknown: int, number: int) -> Any:
    """Return an example value filled with `number`; unknown sizes become `unknown`."""
    sizes = spec.shape.sizes
    shape = [unknown if size is None else size for size in sizes or ()]
    text = spec.dtype.name == "string"
    return np.full(shape, b"" if text else number, spec.dtype.numpy)
