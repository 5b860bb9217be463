# SPDX-License-Identifier: Apache-2.0
"""Every way to write an Example, right or wrong: protobuf's verdict, and protobuf's values.

TensorFlow's own parser differs in the rows marked below. Where it drops data (a second packed
chunk, a second list) or crashes we follow protobuf; the one exception is named as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
import strategies as make
import wire
from cost import check_proportion
from google.protobuf import __version__ as protobuf_release
from google.protobuf.message import DecodeError
from hypothesis import given
from verbs import assert_columns, assert_one_ascii_line, outcome
from wire import example, example_of, group, ints_feature, number, packed_ints, sized, unpacked_ints

import fastrec
from fastrec import train

A = {"a": fastrec.RaggedFeature(np.int64)}
ONE = ints_feature(1)

# What it is -> (the bytes, the values of the int64 feature "a"; None when it is no Example).
ACCEPTED: dict[str, tuple[bytes, list[int]]] = {
    "nothing at all": (b"", []),
    "two features fields": (example_of("b", ONE) + example_of("a", ONE), [1]),
    "two concatenated Examples, the last of a key counts": (
        example_of("a", ONE) + example_of("a", ints_feature(2, 3)),
        [2, 3],
    ),
    "an unknown varint at the top": (number(9, 2**40) + example_of("a", ONE), [1]),
    "unknown fixed fields at the top": (
        wire.fixed32(9) + example_of("a", ONE) + wire.fixed64(10),
        [1],
    ),
    "an unknown string at the top": (sized(9, b"what") + example_of("a", ONE), [1]),
    # TensorFlow: error
    "an unknown group at the top": (group(9, number(1, 1)) + example_of("a", ONE), [1]),
    "groups in groups": (example_of("a", ONE) + group(9, group(9, group(8))), [1]),
    # TensorFlow: error
    "an unknown field inside Features": (
        example(number(9, 1), wire.entry(b"a", ONE), group(4)),
        [1],
    ),
    "a value before its key": (example(sized(1, sized(2, ONE) + sized(1, b"a"))), [1]),
    # TensorFlow: error, in all of the next six
    "an entry without a key is of the empty key": (example(sized(1, sized(2, ONE))), []),
    "an entry without a value has no kind": (example(sized(1, sized(1, b"a"))), []),
    "an empty entry": (example(sized(1, b"")), []),
    "a key twice, the last counts": (
        example(sized(1, sized(1, b"b") + sized(1, b"a") + sized(2, ONE))),
        [1],
    ),
    "a value in two pieces is merged": (
        example(sized(1, sized(1, b"a") + sized(2, ONE) + sized(2, ints_feature(2)))),
        [1, 2],
    ),
    "a feature of no kind": (example_of("a", b""), []),
    "no kind last": (example_of("a", ONE) + example_of("a", b""), []),
    # TensorFlow: error
    "an unknown field before the list": (example_of("a", number(9, 1) + ONE), [1]),
    "an unknown field after the list": (example_of("a", ONE + sized(4, b"x")), [1]),
    # TensorFlow: the first list only
    "the same list twice is merged": (example_of("a", ONE + ints_feature(2)), [1, 2]),
    # TensorFlow: the first kind
    "the last of two kinds counts": (example_of("a", wire.floats_feature(2.0) + ONE), [1]),
    "a kind that comes back starts anew": (
        example_of("a", ints_feature(5) + wire.bytes_feature(b"x") + ONE),
        [1],
    ),
    "unpacked values": (example_of("a", sized(3, unpacked_ints([1, -2, 3]))), [1, -2, 3]),
    # TensorFlow: [1, 2]
    "two packed chunks": (
        example_of("a", sized(3, packed_ints([1, 2]) + packed_ints([3]))),
        [1, 2, 3],
    ),
    # TensorFlow: [1]
    "packed, then unpacked": (
        example_of("a", sized(3, packed_ints([1]) + unpacked_ints([2]))),
        [1, 2],
    ),
    # TensorFlow: error
    "unpacked, then packed": (
        example_of("a", sized(3, unpacked_ints([1]) + packed_ints([2]))),
        [1, 2],
    ),
    "an empty chunk": (example_of("a", sized(3, packed_ints([]) + packed_ints([2]))), [2]),
    # TensorFlow: error
    "an unknown field in a list": (
        example_of("a", sized(3, number(2, 1) + packed_ints([1]) + group(3))),
        [1],
    ),
    "the list's field with another wire type": (
        example_of("a", sized(3, wire.fixed32(1) + packed_ints([1]) + wire.fixed64(1))),
        [1],
    ),
    "a ten-byte varint whose surplus bits are set": (
        example_of("a", sized(3, sized(1, b"\x81" + 8 * b"\x80" + b"\x7e"))),
        [1],
    ),
    "varints longer than need be": (
        example_of("a", sized(3, sized(1, b"".join(wire.varint(1, n) for n in range(1, 11))))),
        [1] * 10,
    ),
    "the extremes": (
        example_of("a", ints_feature(-(2**63), 2**63 - 1, -1, 0)),
        [-(2**63), 2**63 - 1, -1, 0],
    ),
}

SIZE_31 = wire.tag(9, wire.SIZED) + wire.varint(2**31)
REFUSED: dict[str, bytes] = {
    "a byte too many": example_of("a", ONE) + b"\0",
    "a size of more than 64 bits": example_of("a", sized(3, b"\x0a" + 9 * b"\x80" + b"\x40")),
    # TensorFlow: accepted
    "an unknown string that overruns the record": example_of("a", ONE) + b"\x4a\x05abc",
    "a features field that overruns the record": b"\x0a\x05abc",
    "an entry that overruns its Features": example(b"\x0a\x7f" + b"\x0a\x01a"),
    "a feature that overruns its entry": example(sized(1, sized(1, b"a") + b"\x12\x20" + ONE)),
    # TensorFlow: accepted, clamped to what is there
    "a list that overruns its feature": example_of("a", b"\x1a\x05" + packed_ints([1])),
    "a chunk that overruns its list": example_of("a", sized(3, b"\x0a\x05\x01")),
    # TensorFlow: the remainder is ignored
    "garbage after the list": example_of("a", ONE + b"\xff"),
    "a varint that is cut off": example_of("a", sized(3, sized(1, b"\x01\x80"))),
    "an unpacked varint that is cut off": example_of("a", sized(3, b"\x08\x80")),
    "a varint of eleven bytes": example_of("a", sized(3, sized(1, b"\x80" * 10 + b"\x01"))),
    # TensorFlow: the low 32 bits count
    "a size of 2**32 + 3": b"\x0a" + wire.varint(2**32 + 3) + b"abc",
    # TensorFlow: the process dies
    "a string of 2**31 bytes in a short record": example_of("a", ONE) + SIZE_31,
    "a bytes value of 2**31 bytes": example_of("a", sized(1, b"\x0a" + wire.varint(2**31) + b"x")),
    "a size of 2**64 - 1": b"\x0a" + b"\xff" * 9 + b"\x01",
    # TensorFlow: floor(len / 4) values
    "floats that are no multiple of four bytes": example_of("a", sized(2, sized(1, bytes(7)))),
    "a float that is cut off": example_of("a", sized(2, b"\x0d\0\0\0")),
    "field number zero": b"\x02\x00",
    "field number zero in a list": example_of("a", sized(3, b"\x00\x00")),
    "wire type six": b"\x4e",
    "wire type seven": b"\x4f",
    "a group that does not end": example_of("a", ONE) + b"\x4b",
    "a group that another ends": example_of("a", ONE) + b"\x4b\x54",
    "the end of no group": example_of("a", ONE) + b"\x4c",
    "a group that reaches out of its message": example(b"\x4b") + b"\x4c",
    "a tag beyond 32 bits": wire.varint(2**32 + 8) + b"\0",
    "an earlier value of a key that is no Feature": example_of("a", b"\xff") + example_of("a", ONE),
    "an earlier list of a kind that is no list": example_of("a", sized(2, bytes(3)) + ONE),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_protobuf_accepts_is_accepted_with_its_values(name: str) -> None:
    data, values = ACCEPTED[name]
    assert list(train.Example.FromString(data).features.feature["a"].int64_list.value) == values
    assert fastrec.parse_example([data], A)["a"].to_list() == [values]


@pytest.mark.parametrize("name", REFUSED)
def test_what_protobuf_refuses_is_refused(name: str) -> None:
    data = REFUSED[name]
    # Before release 7, protobuf passes over the bits of a size behind the 64th.
    if name != "a size of more than 64 bits" or int(protobuf_release.split(".")[0]) >= 7:
        with pytest.raises(DecodeError):
            train.Example.FromString(data)
    with pytest.raises(fastrec.ExampleParseError) as caught:
        fastrec.parse_example([b"", data], A)
    assert (caught.value.kind, caught.value.record) in {("malformed", 1), ("schema", 1)}
    assert_one_ascii_line(caught.value)


def test_a_key_that_is_not_utf8_is_one_nobody_asked_for() -> None:
    # Here TensorFlow is followed: protobuf refuses such an Example, but its other features are
    # sound, and files that hold such keys exist.
    data = example(wire.entry(b"\xff\xfe", ONE), wire.entry(b"a", ONE))
    assert fastrec.parse_example([data], A)["a"].to_list() == [[1]]


def test_an_unknown_field_inside_an_entry_is_skipped() -> None:
    # Protobuf's runtimes disagree: C++ and pure Python skip the field, upb drops the entry.
    fields = number(7, 7) + sized(1, b"a") + sized(2, ONE) + group(3)
    assert fastrec.parse_example([example(sized(1, fields))], A)["a"].to_list() == [[1]]


def test_a_field_number_zero_inside_a_group_is_refused() -> None:
    # As everywhere else; among protobuf's runtimes upb alone lets it pass.
    data = group(9, number(0, 0)) + example_of("a", ONE)
    assert wire.has_field_zero_in_a_group(data)
    with pytest.raises(fastrec.ExampleParseError):
        fastrec.parse_example([data], A)


def test_what_nobody_asked_for_is_not_looked_into() -> None:
    data = example(wire.entry(b"other", b"\xff\xff"), wire.entry(b"a", ONE))
    assert fastrec.parse_example([data], A)["a"].to_list() == [[1]]


@pytest.mark.parametrize("key", ["", "\0", "a\0", "\N{SNOWMAN}", "k" * 1000, " a", "A"])
def test_keys_are_compared_byte_for_byte(key: str) -> None:
    data = example(
        *(wire.entry(k.encode(), ints_feature(i)) for i, k in enumerate(["a", "aa", key]))
    )
    columns = fastrec.parse_example([data], {key: fastrec.FixedLenFeature((), np.int64)})
    assert columns[key].tolist() == [2]


def verdicts(data: bytes, features: dict[str, Any]) -> None:
    """The library and the reference agree on one record, whatever it is."""
    try:
        expected = reference.parse(data, features)
    except (DecodeError, reference.Refused) as error:
        with pytest.raises(fastrec.ExampleParseError) as caught:
            fastrec.parse_example([data], features)
        assert_one_ascii_line(caught.value)
        assert caught.value.record == 0
        sound = is_example(data) and not wire.has_field_zero_in_a_group(data)
        if isinstance(error, reference.Refused) and sound:
            assert caught.value.kind == "schema"
        return
    columns = outcome(lambda: fastrec.parse_example([data], features))
    if columns is fastrec.ExampleParseError:
        # Damage in what does not count (an overwritten value, a key nobody asked for) may be seen.
        assert not is_example(data) or wire.has_field_zero_in_a_group(data)
        return
    assert_columns(columns, [expected])
    if set(features) >= keys_of(data):
        assert is_example(data), "protobuf refuses this, and every feature was asked for"


def is_example(data: bytes) -> bool:
    try:
        train.Example.FromString(data)
    except DecodeError:
        return False
    return True


def keys_of(data: bytes) -> set[str]:
    entries = reference.open_envelope(data).features.entry
    return {entry.key.decode("utf-8", "replace") for entry in entries}


@given(make.examples, make.some_wanted)
def test_any_example_gets_protobufs_values(data: bytes, features: dict[str, Any]) -> None:
    assert is_example(data)
    verdicts(data, features)


@given(make.mutated_examples(), make.all_wanted)
def test_any_damaged_example_gets_protobufs_verdict(data: bytes, features: dict[str, Any]) -> None:
    verdicts(data, features)


@given(make.examples, make.all_wanted)
def test_an_example_cut_anywhere_gets_protobufs_verdict(
    data: bytes, features: dict[str, Any]
) -> None:
    for size in range(len(data)):
        verdicts(data[:size], features)


@given(make.strings, make.all_wanted)
def test_any_bytes_get_protobufs_verdict(data: bytes, features: dict[str, Any]) -> None:
    verdicts(data, features)


@given(make.plain_examples, make.some_wanted)
def test_an_envelope_of_the_reference_holds_what_protobuf_finds(
    data: bytes, features: dict[str, Any]
) -> None:
    whole = train.Example.FromString(data).features.feature
    found = reference.find_features(data, features)
    for name, feature in found.items():  # by their bytes, because NaN differs from itself
        assert feature.SerializeToString() == whole[name].SerializeToString()
    assert all(whole[name].WhichOneof("kind") is None for name in set(features) - set(found))


# --- traps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 50, 99, 100, 101, 1000, 1_000_000])
def test_nested_groups_cost_no_stack(depth: int) -> None:
    groups = wire.tag(9, wire.GROUP) * depth + wire.tag(9, wire.GROUP_END) * depth
    data = groups + example_of("a", ONE)
    if is_example(data):
        assert fastrec.parse_example([data], A)["a"].to_list() == [[1]]
    else:
        with pytest.raises(fastrec.ExampleParseError):
            fastrec.parse_example([data], A)


TRAPS: dict[str, Callable[[int], bytes]] = {
    "keys": lambda n: example(*(wire.entry(b"k%d" % i, ONE) for i in range(n))),
    "one key": lambda n: example(wire.entry(b"a", ONE) * n),
    "chunks": lambda n: example_of("a", sized(3, packed_ints([1]) * n)),
    "lists": lambda n: example_of("a", ONE * n),
    "kinds": lambda n: example_of("a", (wire.bytes_feature(b"x") + ONE) * n),
    "values": lambda n: example(sized(1, sized(1, b"a") + sized(2, ONE) * n)),
    "features": lambda n: example_of("a", ONE) * n,
    "groups": lambda n: group(9) * n,
}


@pytest.mark.parametrize("name", TRAPS)
def test_time_is_linear_in_the_size_of_a_hostile_record(name: str) -> None:
    def parses(size: int) -> Callable[[], object]:
        data = TRAPS[name](size)
        return lambda: fastrec.parse_example([data], A)

    check_proportion(parses, 60_000)
