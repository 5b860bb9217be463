# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's example messages as protobuf messages, without TensorFlow.

``Example``, ``SequenceExample`` and their parts have TensorFlow's full names
(``tensorflow.Example``, ...), fields and numbers, so their bytes equal TensorFlow's bytes::

    example = fastrec.train.Example()
    example.features.feature["label"].int64_list.value.append(3)
    writer.write(example.SerializeToString())

The classes are built when this module is imported, from a description below and in a separate
descriptor pool. They therefore coexist with TensorFlow's in one process, in any import order, and
no generated code requires one release of protobuf: every release from 4.25 on works.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

_PACKAGE = "tensorflow"

# The fields of each message, by number: (name, "repeated" | "map" | "oneof" | "", type). A type in
# capitals is a scalar, and any other type is a message of this module; maps have string keys.
_MESSAGES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "BytesList": (("value", "repeated", "BYTES"),),
    "FloatList": (("value", "repeated", "FLOAT"),),
    "Int64List": (("value", "repeated", "INT64"),),
    "Feature": (
        ("bytes_list", "oneof", "BytesList"),
        ("float_list", "oneof", "FloatList"),
        ("int64_list", "oneof", "Int64List"),
    ),
    "Features": (("feature", "map", "Feature"),),
    "FeatureList": (("feature", "repeated", "Feature"),),
    "FeatureLists": (("feature_list", "map", "FeatureList"),),
    "Example": (("features", "", "Features"),),
    "SequenceExample": (("context", "", "Features"), ("feature_lists", "", "FeatureLists")),
}
_ONEOF = "kind"


def _add_field(message: Any, number: int, name: str, label: str, kind: str) -> None:
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if label in ("repeated", "map") else field.LABEL_OPTIONAL
    if label == "oneof":
        if not message.oneof_decl:
            message.oneof_decl.add(name=_ONEOF)
        field.oneof_index = 0
    if label == "map":
        entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
        entry.options.map_entry = True
        _add_field(entry, 1, "key", "", "STRING")
        _add_field(entry, 2, "value", "", kind)
        kind = f"{message.name}.{entry.name}"
    if kind.isupper():
        field.type = getattr(field, f"TYPE_{kind}")
        if label == "repeated" and kind != "BYTES":
            field.options.packed = True
    else:
        field.type = field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"


def _make_classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="fastrec/train.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(fields, 1):
            _add_field(message, number, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    classes = {}
    for name in _MESSAGES:
        cls = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        cls.__module__ = __name__  # pickle looks the class up here
        classes[name] = cls
    return classes


_classes = _make_classes()

BytesList = _classes["BytesList"]
FloatList = _classes["FloatList"]
Int64List = _classes["Int64List"]
Feature = _classes["Feature"]
Features = _classes["Features"]
FeatureList = _classes["FeatureList"]
FeatureLists = _classes["FeatureLists"]
Example = _classes["Example"]
SequenceExample = _classes["SequenceExample"]
