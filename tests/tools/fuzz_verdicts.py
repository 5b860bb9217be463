# SPDX-License-Identifier: Apache-2.0
"""Parsing held against protobuf, on messages that are nearly right, for as long as asked.

    python tests/tools/fuzz_verdicts.py [SECONDS] [SEED] [MESSAGES]

Each message is parsed by fastrec in every form (all features and some, the survey of
infer_features, sequence examples) and by the protobuf that is installed: upb, or C++, which
protobuf 3.20 has under PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=cpp. Verdicts and values must be the
same, but for what documented() names. protobuf's pure Python is no oracle: it takes tags of more
than 32 bits and field number 0 in unknown groups, and makes signalling NaNs quiet.
"""

from __future__ import annotations

import random
import re
import sys
import time
import warnings
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError

import fastrec
from fastrec import _core, train

KEYS = ["a", "b", "c", "long key", ""]
RAGGED = {
    "a": fastrec.RaggedFeature(np.int64),
    "b": fastrec.RaggedFeature(np.float32),
    "c": fastrec.RaggedFeature(bytes),
}
KINDS = {"a": "int64_list", "b": "float_list", "c": "bytes_list"}
Rng = random.Random


# -- Messages ----------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def a_feature(rng: Rng) -> dict[str, Any]:
    kind = rng.choice(["int64_list", "float_list", "bytes_list", None])
    if kind is None:
        return {}
    count = rng.choice([0, 1, 2, 5, 40])
    values: dict[str, list[Any]] = {
        "int64_list": [rng.choice([0, 1, -1, 300, 2**62, -(2**63)]) for _ in range(count)],
        "float_list": [rng.choice([0.0, -0.0, 1.5, float("inf"), 1e-45]) for _ in range(count)],
        "bytes_list": [rng.randbytes(rng.choice([0, 1, 9, 130])) for _ in range(count)],
    }
    return {kind: {"value": values[kind]}}


def a_message(rng: Rng, sequence: bool) -> bytes:
    features = {rng.choice(KEYS): train.Feature(**a_feature(rng)) for _ in range(rng.randrange(5))}
    example = train.Example(features=train.Features(feature=features))
    if not sequence:
        return example.SerializeToString()
    lists = {
        rng.choice(KEYS): train.FeatureList(
            feature=[train.Feature(**a_feature(rng)) for _ in range(rng.randrange(4))]
        )
        for _ in range(rng.randrange(4))
    }
    return train.SequenceExample(
        context=example.features, feature_lists=train.FeatureLists(feature_list=lists)
    ).SerializeToString()


def odd_field(rng: Rng) -> bytes:
    """An unknown field, a group, or something close to one."""
    tag = varint(rng.choice([0, 1, 2, 3, 4, 9, 15, 16, 2**29 - 1]) << 3 | rng.randrange(8))
    body = rng.choice(
        [
            b"",
            varint(rng.getrandbits(rng.choice([3, 7, 31, 64]))),
            rng.randbytes(4),
            rng.randbytes(8),
        ]
    )
    if rng.random() < 0.3:
        inner = odd_field(rng) if rng.random() < 0.5 else b""
        field = rng.choice([0, 1, 5, 9])
        return varint(field << 3 | 3) + inner + varint(field << 3 | 4)
    return tag + body


def mutated(rng: Rng, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        at = rng.randrange(len(out) + 1)
        how = rng.randrange(6)
        if how == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif how == 1:
            del out[at : at + rng.choice([1, 2, 7])]
        elif how == 2:
            out[at:at] = odd_field(rng)
        elif how == 3 and out:
            out[at % len(out)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif how == 4:
            out += out[at : at + 40]
        else:
            del out[at:]
    return bytes(out)


# -- Verdicts ----------------------------------------------------------------------------------


def lenient_messages() -> dict[str, Any]:
    """The messages with keys of bytes: that a key is UTF-8 is not looked at, here as there."""
    file = descriptor_pb2.FileDescriptorProto(name="verdicts.proto", package="verdicts")
    file.syntax = "proto3"

    def message(name: str, *fields: tuple[str, int, int, str | int]) -> None:
        made = file.message_type.add(name=name)
        for field, number, label, kind in fields:
            added = made.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                added.type, added.type_name = 11, f".verdicts.{kind}"  # type: ignore[assignment]
            else:
                added.type = kind  # type: ignore[assignment]

    message("BytesList", ("value", 1, 3, 12))
    message("FloatList", ("value", 1, 3, 2))
    message("Int64List", ("value", 1, 3, 3))
    message(
        "Feature",
        ("bytes_list", 1, 1, "BytesList"),
        ("float_list", 2, 1, "FloatList"),
        ("int64_list", 3, 1, "Int64List"),
    )
    feature = file.message_type[-1]
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    message("Entry", ("key", 1, 1, 12), ("value", 2, 1, "Feature"))
    message("Features", ("feature", 1, 3, "Entry"))
    message("Example", ("features", 1, 1, "Features"))
    message("FeatureList", ("feature", 1, 3, "Feature"))
    message("ListEntry", ("key", 1, 1, 12), ("value", 2, 1, "FeatureList"))
    message("FeatureLists", ("feature_list", 1, 3, "ListEntry"))
    message(
        "SequenceExample", ("context", 1, 1, "Features"), ("feature_lists", 2, 1, "FeatureLists")
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory: Any = message_factory
    if not hasattr(factory, "GetMessageClassesForFiles"):  # protobuf 3
        return dict(factory.MessageFactory(pool).GetMessages(["verdicts.proto"]))
    return dict(factory.GetMessageClassesForFiles(["verdicts.proto"], pool))


MESSAGES = lenient_messages()


def expected(data: bytes, name: str) -> Any:
    """The result of protobuf; None if it rejects the bytes."""
    made = MESSAGES[f"verdicts.{name}"]()
    with warnings.catch_warnings(record=True) as stopped:
        warnings.simplefilter("always")
        try:
            made.ParseFromString(data)
        except DecodeError:
            return None
    return None if stopped else made  # C++ warns of the tag that it stopped at


def by_key(entries: Any) -> dict[bytes, Any]:
    """As a map has them: the last of a key counts."""
    return {entry.key: entry.value for entry in entries}


def of_lists(feature: Any) -> tuple[str | None, list[Any]]:
    kind = feature.WhichOneof("kind")
    return kind, [] if kind is None else list(getattr(feature, kind).value)


def wanted(features: Any, key: str) -> Any:
    """The values of a key that is of its own kind; "kind" when it is of another."""
    if key.encode() not in features:
        return []
    kind, values = of_lists(features[key.encode()])
    return values if kind in (None, KINDS[key]) else "kind"


def same(found: list[Any], values: list[Any]) -> bool:
    if values and isinstance(values[0], float):
        return np.array(found, "<f4").tobytes() == np.array(values, "<f4").tobytes()
    return found == values


def has_field_zero(data: bytes) -> bool:
    """Whether some tag of field number 0 may be in it: parsers disagree about these in groups."""
    return any(byte < 8 for byte in data)


# A varint of five bytes and more than 32 bits, which may be a tag.
WIDE_TAG = re.compile(rb"[\x80-\xff]{4}[\x10-\x7f]")


def documented(data: bytes, verdict: bool) -> bool:
    """Whether docs/parsing.md names the difference: in both, only one of the two engines agrees.

    upb takes field number 0 inside an unknown group; C++ drops the upper bits of a tag.
    """
    if verdict:
        return False
    if api_implementation.Type() == "upb":
        return has_field_zero(data) and any(byte & 7 == 3 for byte in data)
    return WIDE_TAG.search(data) is not None


def check_example(data: bytes, problems: list[str]) -> None:
    truth = expected(data, "Example")
    features = None if truth is None else by_key(truth.features.feature)
    forms: list[dict[str, Any]] = [RAGGED, {"a": RAGGED["a"]}, {"c": RAGGED["c"], "b": RAGGED["b"]}]
    for form in forms:
        try:
            columns = fastrec.parse_example([data], form)
        except fastrec.ExampleParseError as error:
            by_kind = features is not None and any(wanted(features, k) == "kind" for k in form)
            if not by_kind and features is not None and not documented(data, False):
                problems.append(f"refused {data.hex()} ({error})")
            continue
        if features is None:
            if form is RAGGED and not is_elsewhere(data):
                problems.append(f"accepted {data.hex()}")
            continue
        for key in form:
            found = columns[key].to_list()[0]
            if not same(found, wanted(features, key)):
                problems.append(f"{key} of {data.hex()}: {found}")
    survey = _core.Survey()
    try:
        survey.add([data])
        surveyed = True
    except fastrec.ExampleParseError:
        surveyed = False
    if surveyed != (truth is not None) and not documented(data, surveyed):
        problems.append(f"the survey says {surveyed} of {data.hex()}")


def is_elsewhere(data: bytes) -> bool:
    """Whether what is damaged is a feature that was not asked for, and so not looked at."""
    try:
        _core.Survey().add([data])
    except fastrec.ExampleParseError:
        return True
    return False


def steps_of(message: Any, key: str) -> list[Any]:
    lists = by_key(message.feature_lists.feature_list)
    return list(lists[key.encode()].feature) if key.encode() in lists else []


def check_sequence(data: bytes, problems: list[str]) -> None:
    truth = expected(data, "SequenceExample")
    lists = {key: fastrec.RaggedFeature(value.dtype) for key, value in RAGGED.items()}
    try:
        context, found, _ = fastrec.parse_sequence_example(
            [data], context_features=RAGGED, sequence_features=lists
        )
    except fastrec.ExampleParseError as error:
        if truth is None or documented(data, False):
            return
        kinds = [wanted(by_key(truth.context.feature), key) == "kind" for key in KINDS]
        for key in KINDS:
            steps = steps_of(truth, key)
            kinds += [of_lists(step)[0] not in (None, KINDS[key]) for step in steps]
        if not any(kinds):
            problems.append(f"refused sequence {data.hex()} ({error})")
        return
    if truth is None:
        return
    for key in KINDS:
        if not same(context[key].to_list()[0], wanted(by_key(truth.context.feature), key)):
            problems.append(f"context {key} of {data.hex()}")
        steps = steps_of(truth, key)
        rows = found[key].to_list()[0]
        if len(rows) != len(steps):
            problems.append(f"steps of {key} of {data.hex()}: {rows}")
        elif not all(same(row, of_lists(s)[1]) for row, s in zip(rows, steps, strict=True)):
            problems.append(f"values of {key} of {data.hex()}: {rows}")


def main() -> int:
    if api_implementation.Type() == "python":
        sys.exit("verdicts need protobuf's upb or C++ (PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION)")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    most = int(sys.argv[3]) if len(sys.argv) > 3 else sys.maxsize
    rng, cases, accepted = random.Random(seed), 0, 0
    problems: list[str] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until and cases < most and len(problems) < 20:
        sequence = rng.random() < 0.3
        data = mutated(rng, a_message(rng, sequence))
        (check_sequence if sequence else check_example)(data, problems)
        accepted += expected(data, "SequenceExample" if sequence else "Example") is not None
        cases += 1
    print("\n".join(problems))
    print(
        f"{cases} messages, {accepted} accepted by protobuf ({api_implementation.Type()}), "
        f"{len(problems)} problems, seed {seed}"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
