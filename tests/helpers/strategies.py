# SPDX-License-Identifier: Apache-2.0
"""Strategies for hypothesis: values, Examples in unusual encodings, and requests for them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import wire
from hypothesis import strategies as st

import fastrec

NAMES = ["a", "b", "label"]
INT_DTYPES = [np.dtype(name) for name in ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]]
FLOAT_DTYPES = [np.dtype(name) for name in ["f2", "f4", "f8"]]
RAW_DTYPES = [*INT_DTYPES[1:], *FLOAT_DTYPES, np.dtype("c8"), np.dtype("c16")]

int64s = st.one_of(
    st.integers(-2, 2),
    st.integers(-300, 70000),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 2**32]),
)
float32s = st.one_of(
    st.floats(width=32),
    st.integers(0, 2**32 - 1).map(lambda bits: struct.unpack("<f", struct.pack("<I", bits))[0]),
)
strings = st.binary(max_size=12)

# --- Examples on the wire -----------------------------------------------------------------------

# Fields of numbers that no message here has, nested in groups now and then.
unknown_fields = st.recursive(
    st.one_of(
        st.builds(wire.number, st.integers(4, 2**29 - 1), st.integers(0, 2**64 - 1)),
        st.builds(wire.sized, st.integers(4, 20), strings),
        st.builds(wire.fixed32, st.integers(4, 20)),
        st.builds(wire.fixed64, st.integers(4, 20)),
    ),
    lambda inner: st.builds(
        wire.group, st.integers(4, 20), st.lists(inner, max_size=3).map(b"".join)
    ),
    max_leaves=4,
)
# Known numbers with a wire type that is not theirs are unknown fields, too.
misplaced_fields = st.builds(
    lambda make, field: make(field),
    st.sampled_from([wire.fixed64, wire.group]),
    st.integers(1, 3),
)
odd_fields = st.one_of(unknown_fields, misplaced_fields)


def pieces(*choices: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(st.one_of(*choices), max_size=4).map(b"".join)


long_varints = st.builds(lambda value, size: wire.varint(value, size), int64s, st.integers(1, 10))
int_lists = pieces(
    st.lists(int64s, max_size=5).map(wire.packed_ints),
    st.lists(int64s, max_size=5).map(wire.unpacked_ints),
    st.lists(long_varints, max_size=3).map(lambda varints: wire.sized(1, b"".join(varints))),
    odd_fields,
)
float_lists = pieces(
    st.lists(float32s, max_size=5).map(wire.packed_floats),
    st.lists(float32s, max_size=5).map(wire.unpacked_floats),
    odd_fields,
)
bytes_lists = pieces(st.lists(strings, max_size=4).map(wire.strings), odd_fields)

plain_features = st.one_of(
    st.lists(int64s, max_size=6).map(lambda values: wire.ints_feature(*values)),
    st.lists(float32s, max_size=6).map(lambda values: wire.floats_feature(*values)),
    st.lists(strings, max_size=6).map(lambda values: wire.bytes_feature(*values)),
    st.just(b""),
)
odd_features = pieces(
    st.builds(wire.sized, st.just(wire.INT64), int_lists),
    st.builds(wire.sized, st.just(wire.FLOAT), float_lists),
    st.builds(wire.sized, st.just(wire.BYTES), bytes_lists),
    odd_fields,
)
features_on_wire = st.one_of(plain_features, plain_features, odd_features)

keys = st.sampled_from([name.encode() for name in NAMES])
plain_entries = st.builds(wire.entry, keys, features_on_wire)
odd_entries = pieces(
    st.builds(wire.sized, st.just(1), keys),
    st.builds(wire.sized, st.just(2), features_on_wire),
    odd_fields,
).map(lambda fields: wire.sized(1, fields))
entries = st.one_of(plain_entries, plain_entries, odd_entries)

plain_examples = st.lists(plain_entries, max_size=4).map(lambda parts: wire.example(*parts))
odd_examples = pieces(
    st.lists(st.one_of(entries, odd_fields), max_size=4).map(lambda parts: wire.example(*parts)),
    unknown_fields,
)
examples = st.one_of(plain_examples, odd_examples)


@st.composite
def mutated_examples(draw: Any) -> bytes:
    """An Example that is damaged, lightly: most of it still makes sense."""
    data = bytearray(draw(examples))
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        how = draw(st.sampled_from(["set", "add", "flip", "insert", "delete", "cut"]))
        if how == "set":
            data[at] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x12, 0x0B, 0x0C]))
        elif how == "add":
            data[at] = (data[at] + draw(st.sampled_from([-1, 1]))) % 256
        elif how == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=3))
        elif how == "delete":
            del data[at]
        else:
            del data[at:]
    return bytes(data)


# --- what is asked of them ----------------------------------------------------------------------

shapes = st.lists(st.integers(0, 3), max_size=2).map(tuple)
dtypes = st.sampled_from([bytes, *INT_DTYPES, *FLOAT_DTYPES])


@st.composite
def defaults(draw: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    if dtype is bytes:
        return draw(strings) if shape == () else None
    return draw(st.sampled_from([None, 0, 1]))


@st.composite
def fixed_features(draw: Any) -> fastrec.FixedLenFeature:
    shape, dtype = draw(shapes), draw(dtypes)
    return fastrec.FixedLenFeature(shape, dtype, draw(defaults(shape, dtype)))


raw_features = st.builds(
    fastrec.RawFeature,
    st.one_of(st.none(), st.lists(st.integers(0, 4), max_size=2).map(tuple)),
    st.sampled_from(RAW_DTYPES),
    little_endian=st.booleans(),
)
wanted_features = st.one_of(
    fixed_features(), st.builds(fastrec.RaggedFeature, dtypes), raw_features
)
all_wanted = st.fixed_dictionaries(dict.fromkeys(NAMES, wanted_features))
some_wanted = st.dictionaries(st.sampled_from(NAMES), wanted_features, min_size=1)

# --- values to encode ---------------------------------------------------------------------------

text = st.text(max_size=8)
encodable = st.one_of(
    st.none(),
    st.booleans(),
    int64s,
    float32s,
    st.floats(allow_nan=False, min_value=-3e38, max_value=3e38),
    text,
    strings,
    strings.map(bytearray),
    strings.map(lambda data: memoryview(data)),
    st.lists(int64s, max_size=5),
    st.lists(float32s, min_size=1, max_size=5),
    st.lists(st.one_of(strings, text), max_size=4),
    st.lists(st.booleans(), min_size=1, max_size=4),
)
