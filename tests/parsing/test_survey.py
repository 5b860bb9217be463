# SPDX-License-Identifier: Apache-2.0
"""A survey counts records the same together as one by one, and in blocks in any order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastrec import _core
from fastrec.errors import ExampleParseError
from fastrec.parsing.feature_stats import FeatureStats


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sized(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


runs = st.sampled_from(
    [
        b"",
        b"\x05",
        b"\x85\x01",
        b"\x05\x06",
        b"\x80" * 9 + b"\x01",
        b"\x80" * 10 + b"\x01",
        b"\x85",
        b"\x00\x01\x02\x03",
        b"\x80\x01\x02\x03",
        b"12345678",
    ]
)
lists = st.lists(runs.map(lambda run: sized(1, run)), max_size=2).map(b"".join) | st.just(
    b"\x08\x07"
)
values = st.lists(st.builds(sized, st.sampled_from([1, 2, 3, 4]), lists), max_size=2).map(b"".join)
keys = st.sampled_from([b"a", b"b", b"feature-with-a-name", b"n" * 60])
entries = st.builds(
    lambda key, value, form: {
        "plain": sized(1, key) + sized(2, value),
        "turned": sized(2, value) + sized(1, key),
        "twice": sized(1, key) + sized(2, value) + sized(2, value),
        "unknown": sized(1, key) + sized(2, value) + sized(3, b"?"),
    }[form],
    keys,
    values,
    st.sampled_from(["plain", "plain", "plain", "turned", "twice", "unknown"]),
)
records = st.lists(entries.map(lambda entry: sized(1, entry)), max_size=4).map(
    lambda parts: sized(1, b"".join(parts))
)


def counts(*surveys: _core.Survey) -> dict[bytes, Any]:
    """The sums of the counts of several surveys."""
    found: dict[bytes, FeatureStats] = {}
    for survey in surveys:
        for key, count in survey.counts()[0].items():
            found.setdefault(key, FeatureStats()).add_counts(*count)
    return {
        key: (stats.records, stats.first, stats.named, stats.fewest, stats.most)
        for key, stats in found.items()
    }


def survey_of(block: list[bytes], start: int = 0) -> _core.Survey:
    survey = _core.Survey()
    survey.add(block, start)
    return survey


# Records of one form differ in the bytes of their values, and in the sizes of these.
RUNS = [
    [b"\x05", b"\x85"],
    [b"\x05\x06", b"\x85\x01", b"\x85\x86"],
    [b"abcd", b"\x80\x80\x80\x01"],
    [b"\x05", b"\x85\x01", b"\x85\x86\x87\x01", b"\x80" * 8 + b"\x01", b"\x80" * 9 + b"\x01"],
    [b"", b"a", b"b" * 12, b"c" * 60, b"d" * 108, b"e" * 119, b"f" * 130],
]


@st.composite
def alike(draw: st.DrawFn) -> list[bytes]:
    columns = [
        (draw(keys), draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from(RUNS)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return [
        sized(
            1,
            b"".join(
                sized(
                    1, sized(1, key) + sized(2, sized(kind, sized(1, draw(st.sampled_from(runs)))))
                )
                for key, kind, runs in columns
            ),
        )
        for _ in range(draw(st.integers(2, 6)))
    ]


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    block = draw(alike())
    number = draw(st.integers(0, len(block) - 1))
    record = bytearray(block[number])
    at = draw(st.integers(0, len(record) - 1))
    record[at] = (record[at] + draw(st.sampled_from([-8, -2, -1, 1, 2, 8, 128]))) % 256
    block[number] = bytes(record)
    return block


mixed = st.lists(records, min_size=1, max_size=3).flatmap(
    lambda kinds: st.lists(st.sampled_from(kinds), max_size=30)
)


def plain(key: bytes, kind: int, run: bytes) -> bytes:
    return sized(1, sized(1, sized(1, key) + sized(2, sized(kind, sized(1, run)))))


@given(alike() | damaged() | mixed)
@example([plain(b"a", 1, b"b" * size) for size in (0, 1, 60, 108, 115, 116, 117, 118, 119, 130)])
@example([plain(b"a", 2, bytes(size)) for size in (4, 8, 4, 7, 6)])
@example([plain(b"a", 3, run) for run in (b"\x05", b"\x85\x01", b"\x05", b"\x05\x06", b"\x85")])
# Sizes in two bytes, which end where sizes in one byte would.
@example(
    [
        plain(b"a", 1, b"?"),
        sized(1, sized(1, sized(1, b"a") + b"\x12\x85\x00\x0a\x82\x00\x0a\x00")),
        sized(1, sized(1, sized(1, b"a") + b"\x12\x87\x00\x0a\x84\x00\x0a\x02??")),
        sized(1, sized(1, sized(1, b"a") + b"\x12\x88\x00\x0a\x85\x00\x0a\x03???")),
    ]
)
def test_records_count_the_same_together_as_one_by_one(block: list[bytes]) -> None:
    alone: list[_core.Survey] = []
    refused = None
    for number, record in enumerate(block):
        try:
            alone.append(survey_of([record], number))
        except ExampleParseError:
            refused = number
            break
    if refused is not None:
        with pytest.raises(ExampleParseError) as caught:
            survey_of(block)
        assert caught.value.record == refused
        return
    whole = survey_of(block)
    assert counts(whole) == counts(*alone)
    middle = len(block) // 2
    assert counts(survey_of(block[middle:], middle), survey_of(block[:middle])) == counts(whole)


@given(damaged() | mixed)
def test_malformed_records_do_not_count(block: list[bytes]) -> None:
    sound, malformed = [], []
    for row, record in enumerate(block):
        try:
            survey_of([record])
        except ExampleParseError:
            malformed.append(row)
        else:
            sound.append(record)
    misfits: Any = []
    survey = _core.Survey()
    survey.add(block, misfits=misfits)
    assert [row for row, _ in misfits] == malformed
    assert all(error.kind == "malformed" for _, error in misfits)
    # The numbers of the first records are those in the block.
    kept = {key: (a, *rest) for key, (a, _, *rest) in counts(survey).items()}
    assert kept == {key: (a, *rest) for key, (a, _, *rest) in counts(survey_of(sound)).items()}
