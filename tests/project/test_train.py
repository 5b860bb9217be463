# SPDX-License-Identifier: Apache-2.0
"""The message classes: TensorFlow's bytes and names, under whichever protobuf is installed.

`tests/oracle/protobuf_majors.py` runs this file under each release of protobuf that is supported.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pool, json_format, text_format
from google.protobuf.message import DecodeError, Message

from fastrec import train

# Three features, written out by hand from the wire format.
GOLDEN = bytes.fromhex(
    "0a37"  # features, 55 bytes
    "0a0e0a016212090a070a0568656c6c6f"  # "b": bytes_list ["hello"]
    "0a0d0a0166120812060a040000803f"  # "f": float_list [1.0], packed
    "0a160a016912111a0f0a0d01ac02ffffffffffffffffff01"  # "i": int64_list [1, 300, -1], packed
)

# message -> {field: (number, what it holds)}, as in TensorFlow's example.proto and feature.proto.
FIELDS = {
    "BytesList": {"value": (1, "bytes", "repeated")},
    "FloatList": {"value": (1, "float", "repeated")},
    "Int64List": {"value": (1, "int64", "repeated")},
    "Feature": {
        "bytes_list": (1, "tensorflow.BytesList", "kind"),
        "float_list": (2, "tensorflow.FloatList", "kind"),
        "int64_list": (3, "tensorflow.Int64List", "kind"),
    },
    "Features": {"feature": (1, "tensorflow.Feature", "map")},
    "FeatureList": {"feature": (1, "tensorflow.Feature", "repeated")},
    "FeatureLists": {"feature_list": (1, "tensorflow.FeatureList", "map")},
    "Example": {"features": (1, "tensorflow.Features", "one")},
    "SequenceExample": {
        "context": (1, "tensorflow.Features", "one"),
        "feature_lists": (2, "tensorflow.FeatureLists", "one"),
    },
}

# What TensorFlow does when it is imported: put its own description in protobuf's default pool.
BESIDE = """
import sys
from google.protobuf import descriptor_pb2, descriptor_pool

def theirs():
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/core/example/example.proto", package="tensorflow", syntax="proto3"
    )
    for name in ("Features", "Example"):
        file.message_type.add(name=name)
    field = file.message_type[1].field.add(name="features", number=1, label=1, type=11)
    field.type_name = ".tensorflow.Features"
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    return descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")

def ours():
    from fastrec import train
    return train.Example.DESCRIPTOR

first, second = (theirs, ours) if sys.argv[1] == "theirs" else (ours, theirs)
a, b = first(), second()
assert a.full_name == b.full_name == "tensorflow.Example" and a is not b
"""


def an_example() -> train.Example:
    example = train.Example()
    feature = example.features.feature
    feature["i"].int64_list.value.extend([1, 300, -1])
    feature["f"].float_list.value.append(1.0)
    feature["b"].bytes_list.value.append(b"hello")
    return example


def test_an_example_serializes_to_the_golden_bytes() -> None:
    assert an_example().SerializeToString(deterministic=True) == GOLDEN


def test_the_golden_bytes_parse_to_the_example() -> None:
    assert train.Example.FromString(GOLDEN) == an_example()


def test_every_class_is_a_protobuf_message_and_nothing_else_is_public() -> None:
    assert sorted(train.__all__) == sorted(FIELDS)
    assert all(issubclass(getattr(train, name), Message) for name in train.__all__)


@pytest.mark.parametrize("name", FIELDS)
def test_names_and_numbers_are_those_of_tensorflow(name: str) -> None:
    descriptor = getattr(train, name).DESCRIPTOR
    assert descriptor.full_name == f"tensorflow.{name}"
    assert descriptor.file.package == "tensorflow"
    found = {field.name: field for field in descriptor.fields}
    assert set(found) == set(FIELDS[name])
    for field_name, (number, holds, label) in FIELDS[name].items():
        field = found[field_name]
        assert field.number == number
        message = field.message_type
        if label == "map":
            assert message.GetOptions().map_entry
            assert message.fields_by_name["key"].type == field.TYPE_STRING
            message = message.fields_by_name["value"].message_type
        if message is None:
            assert field.type == getattr(field, f"TYPE_{holds.upper()}")
        else:
            assert message.full_name == holds
        oneof = field.containing_oneof
        assert (oneof.name if oneof else None) == ("kind" if label == "kind" else None)


def test_messages_reached_through_fields_are_of_the_public_classes() -> None:
    example = an_example()
    assert type(example.features) is train.Features
    assert type(example.features.feature["i"]) is train.Feature
    assert type(example.features.feature["i"].int64_list) is train.Int64List


def test_messages_can_be_made_in_one_expression() -> None:
    int64s = train.Feature(int64_list=train.Int64List(value=[1, 300, -1]))
    floats = train.Feature(float_list=train.FloatList(value=[1.0]))
    strings = train.Feature(bytes_list=train.BytesList(value=[b"hello"]))
    features = train.Features(feature={"i": int64s, "f": floats, "b": strings})
    assert train.Example(features=features) == an_example()


def test_setting_another_kind_clears_the_first() -> None:
    feature = train.Feature()
    assert feature.WhichOneof("kind") is None
    feature.int64_list.value.append(1)
    feature.float_list.value.append(2.0)
    assert feature.WhichOneof("kind") == "float_list"
    assert not feature.HasField("int64_list")


def test_a_sequence_example_has_context_and_feature_lists() -> None:
    sequence = train.SequenceExample()
    sequence.context.feature["n"].int64_list.value.append(2)
    frames = sequence.feature_lists.feature_list["words"].feature
    for word in (b"one", b"two"):
        frames.add().bytes_list.value.append(word)
    assert type(frames[0]) is train.Feature
    data = sequence.SerializeToString(deterministic=True)
    assert train.SequenceExample.FromString(data) == sequence
    # An Example with the same features has the bytes of the context alone.
    assert train.Example.FromString(data).features == sequence.context


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_messages_survive_pickling(protocol: int) -> None:
    for message in (an_example(), an_example().features.feature["f"], train.SequenceExample()):
        again = pickle.loads(pickle.dumps(message, protocol))
        assert type(again) is type(message)
        assert again == message


def test_messages_can_be_copied() -> None:
    example = an_example()
    again = copy.deepcopy(example)
    again.features.feature["i"].int64_list.value.append(4)
    assert copy.copy(example) == example != again


def test_classes_say_where_they_live() -> None:
    for name in train.__all__:
        cls = getattr(train, name)
        assert (cls.__module__, cls.__qualname__) == ("fastrec.train", name)


def test_json_and_text_forms_round_trip() -> None:
    example = an_example()
    assert json_format.Parse(json_format.MessageToJson(example), train.Example()) == example
    assert text_format.Parse(text_format.MessageToString(example), train.Example()) == example


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(DecodeError):
        train.Example.FromString(GOLDEN[:-1])


def test_importing_leaves_protobufs_default_pool_alone() -> None:
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindFileByName(train.Example.DESCRIPTOR.file.name)


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_another_description_of_the_same_messages_may_come_first_or_last(first: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", BESIDE, first], check=True, timeout=60)
