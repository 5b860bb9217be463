# SPDX-License-Identifier: Apache-2.0
"""``TensorProto`` as a message whose fields programs read and set, with TensorFlow's numbers."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .dtypes import as_dtype
from .tensor import convert_to_tensor
from .tensor_proto import UNREADABLE, decode, serialize

# The fields of each message: name, number, type, and whether it is a list.
_MESSAGES: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "Dim": (("size", 1, "INT64", False), ("name", 2, "STRING", False)),
    "TensorShapeProto": (("dim", 2, "Dim", True), ("unknown_rank", 3, "BOOL", False)),
    "TensorProto": (
        ("dtype", 1, "INT32", False),
        ("tensor_shape", 2, "TensorShapeProto", False),
        ("version_number", 3, "INT32", False),
        ("tensor_content", 4, "BYTES", False),
        ("float_val", 5, "FLOAT", True),
        ("double_val", 6, "DOUBLE", True),
        ("int_val", 7, "INT32", True),
        ("string_val", 8, "BYTES", True),
        ("scomplex_val", 9, "FLOAT", True),
        ("int64_val", 10, "INT64", True),
        ("bool_val", 11, "BOOL", True),
        ("dcomplex_val", 12, "DOUBLE", True),
        ("half_val", 13, "INT32", True),
        ("uint32_val", 16, "UINT32", True),
        ("uint64_val", 17, "UINT64", True),
    ),
}
# The field that holds the values of each type, for one element and types not stored as bytes.
_LISTS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "string": "string_val",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int_val"),
}
_AS_BYTES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8")


def _make_classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="fastrec/tensor.proto", package="fastrec", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, several in fields:
            added = message.field.add(name=field, number=number)
            added.label = added.LABEL_REPEATED if several else added.LABEL_OPTIONAL
            if kind in _MESSAGES:
                added.type, added.type_name = added.TYPE_MESSAGE, f".fastrec.{kind}"
            else:
                added.type = getattr(added, f"TYPE_{kind}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = message_factory.GetMessageClass
    return {name: make(pool.FindMessageTypeByName(f"fastrec.{name}")) for name in _MESSAGES}


_classes = _make_classes()
TensorProto = _classes["TensorProto"]
TensorShapeProto = _classes["TensorShapeProto"]


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return the message for a tensor.

    Raises
    ------
    TypeError, ValueError
        If the values are not a tensor of this type and shape.
    """
    array = convert_to_tensor(values, None if dtype is None else as_dtype(dtype)).array
    element = as_dtype(array.dtype)
    sizes = array.shape if shape is None else tuple(int(size) for size in shape)
    if sizes != array.shape:
        if verify_shape:
            raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
        # One element fills the whole shape.
        array = array if array.size == 1 else array.reshape(sizes)
    few = array.size == 1 or (array.size and element.name not in _AS_BYTES)
    if few and element.name in _LISTS:
        made = TensorProto(dtype=int(element))
        made.tensor_shape.SetInParent()
        for size in sizes:
            made.tensor_shape.dim.add(size=size)
        getattr(made, _LISTS[element.name]).extend(array.reshape(-1).tolist())
        return made
    return TensorProto.FromString(serialize(array, element))


def make_ndarray(tensor: Any) -> Any:
    """Return the array of a message.

    Raises
    ------
    TypeError
        If the message has an unknown type or contains no tensor.
    """
    try:
        return decode(tensor.SerializeToString())
    except UNREADABLE as error:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}, {error}") from error
