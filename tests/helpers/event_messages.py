# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's messages, so far as the tests need them, without TensorBoard."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_LAYOUTS: dict[str, dict[str, tuple[str, int]]] = {
    "PluginData": {"plugin_name": ("string", 1)},
    "Metadata": {"plugin_data": ("PluginData", 1)},
    "Tensor": {
        "dtype": ("int32", 1),
        "tensor_content": ("bytes", 4),
        "float_val": ("float*", 5),
        "double_val": ("double*", 6),
        "int_val": ("int32*", 7),
        "string_val": ("bytes*", 8),
        "int64_val": ("int64*", 10),
    },
    "Histogram": {
        "min": ("double", 1),
        "max": ("double", 2),
        "bucket_limit": ("double*", 6),
        "bucket": ("double*", 7),
    },
    "Image": {"height": ("int32", 1), "width": ("int32", 2), "encoded": ("bytes", 4)},
    "Value": {
        "tag": ("string", 1),
        "simple_value": ("float", 2),
        "image": ("Image", 4),
        "histo": ("Histogram", 5),
        "tensor": ("Tensor", 8),
        "metadata": ("Metadata", 9),
    },
    "Summary": {"value": ("Value*", 1)},
    "Event": {
        "wall_time": ("double", 1),
        "step": ("int64", 2),
        "file_version": ("string", 3),
        "summary": ("Summary", 5),
    },
}
_ONEOF = {"simple_value", "image", "histo", "tensor"}


def _make() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="fastrec/test_events.proto", package="fastrec_test", syntax="proto3"
    )
    for name, fields in _LAYOUTS.items():
        message = file.message_type.add(name=name)
        for field, (kind, number) in fields.items():
            added = message.field.add(name=field, number=number)
            repeated = added.LABEL_REPEATED if kind.endswith("*") else added.LABEL_OPTIONAL
            added.label = repeated
            kind = kind.rstrip("*")
            if kind[0].isupper():
                added.type, added.type_name = added.TYPE_MESSAGE, f".fastrec_test.{kind}"
            else:
                added.type = getattr(added, f"TYPE_{kind.upper()}")
            if name == "Value" and field in _ONEOF:
                if not message.oneof_decl:
                    message.oneof_decl.add(name="value")
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    get: Any = message_factory.GetMessageClass  # type: ignore[attr-defined,unused-ignore]
    return {name: get(pool.FindMessageTypeByName(f"fastrec_test.{name}")) for name in _LAYOUTS}


MESSAGES = _make()
Event = MESSAGES["Event"]
Summary = MESSAGES["Summary"]
Value = MESSAGES["Value"]
Tensor = MESSAGES["Tensor"]
Histogram = MESSAGES["Histogram"]
Image = MESSAGES["Image"]


def event(step: int, *values: Any, wall_time: float = 1.0) -> bytes:
    message = Event(wall_time=wall_time, step=step, summary=Summary(value=list(values)))
    return bytes(message.SerializeToString())


def for_plugin(name: str, tag: str, **fields: Any) -> Any:
    """A value of a tensor for a plugin."""
    value = Value(tag=tag, tensor=Tensor(**fields))
    value.metadata.plugin_data.plugin_name = name
    return value
