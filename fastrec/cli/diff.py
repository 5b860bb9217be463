# SPDX-License-Identifier: Apache-2.0
"""Compare the records of two files."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastrec.cli.files import expand, name_of
from fastrec.cli.grammar import FINDING, USAGE, add_any_shards, add_json
from fastrec.cli.report import Failure, Report, count_text, counted, json_text
from fastrec.cli.rows import Frames, Row, rows_of
from fastrec.cli.select import Found, Selector
from fastrec.cli.values import brief, brief_bytes, whole
from fastrec.columns import Bytes

__all__ = ["add_arguments", "run"]

_MOST = 10  # differences that are printed by default


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec diff``."""
    for side in ("A", "B"):
        parser.add_argument(side.lower(), metavar=side, help="a file, a directory or a pattern")
    parser.add_argument(
        "--key", metavar="FEATURE", help="compare records with the same value of this feature, in "
        "whatever order they are; default: record by record",
    )  # fmt: skip
    parser.add_argument(
        "--unordered", action="store_true", help="compare the records as a set, by their bytes"
    )
    parser.add_argument(
        "--bytes", action="store_true",
        help="records with the same values in another encoding differ, too",
    )  # fmt: skip
    parser.add_argument(
        "-n", "--limit", type=int, default=_MOST, metavar="N",
        help=f"number of differences to print (default {_MOST})",
    )  # fmt: skip
    add_json(parser)
    add_any_shards(parser)


class _Differences:
    def __init__(self, arguments: argparse.Namespace, report: Report) -> None:
        self._json, self._limit = arguments.json, arguments.limit
        self._bytes = arguments.bytes
        self._report = report
        self.only = {"a": 0, "b": 0}
        self.different = self.same = self.encoded = 0

    @property
    def some(self) -> int:
        return self.only["a"] + self.only["b"] + self.different

    def only_in(self, side: str, found: Found) -> None:
        """Report a record without a counterpart."""
        self.only[side] += 1
        if self.some > self._limit:
            return
        if self._json:
            self._report.json({"only": side, "path": found.path, "record": found.number})
        else:
            row = brief_bytes(found.record) if found.row is None else _brief_row(found.row)
            self._report.line(f"only in {side.upper()}: {_place(found)}: {json_text(row)}")

    def compare(self, a: Found, b: Found) -> None:
        """Compare two corresponding records."""
        if a.record == b.record:
            self.same += 1
            return
        names = _differing(a, b)
        if not names and not self._bytes and _canonical(a.record) == _canonical(b.record):
            self.encoded += 1
            return
        self.different += 1
        if self.some > self._limit:
            return
        if self._json:
            self._report.json({"a": [a.path, a.number], "b": [b.path, b.number],
                               "features": {name: [_json(a, name), _json(b, name)]
                                            for name in names}})  # fmt: skip
            return
        what = "" if names else ": the same values, other bytes"
        self._report.line(f"differ: {_place(a)} and {_place(b)}{what}")
        for name in names:
            left, right = _shown(a, name), _shown(b, name)
            if left == right:
                left += _first_difference(a, b, name)
            self._report.line(f"   {json_text(name)[1:-1]}: {left} | {right}")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print the first differences and a summary; return 1 if there are differences."""
    if arguments.key is not None and arguments.unordered:
        raise Failure("--key and --unordered are mutually exclusive", USAGE)
    if arguments.limit < 0:
        raise Failure("--limit must be at least 0", USAGE)
    found = _Differences(arguments, report)
    sides = []
    for word in (arguments.a, arguments.b):
        files, missing = expand([word], any_shards=arguments.any_shards)
        if missing:
            raise missing[0]
        sides.append((Selector(report), files))
    (first, a), (second, b) = sides
    if a == b == ["-"]:
        raise Failure("A and B must not both be standard input", USAGE)
    if arguments.key is not None:
        _by_key(arguments.key, first.records(a), second.records(b), found)
    elif arguments.unordered:
        _as_sets(first.records(a), second.records(b), found)
    else:
        _in_order(first, a, second, b, found)
    status = max(first.status, second.status)
    if arguments.json:
        report.json({"same": found.same, "same_values": found.encoded, "only_a": found.only["a"],
                     "only_b": found.only["b"], "different": found.different})  # fmt: skip
    else:
        same = f"{counted(found.same, 'record')} the same"
        if found.encoded:
            same += f", {count_text(found.encoded)} with the same values in another encoding"
        only = ", ".join(f"{count_text(found.only[side])} only in {side.upper()}" for side in "ab")
        report.line(f"{same}; {count_text(found.different)} different, {only}")
    return status or (FINDING if found.some else 0)


def _in_order(
    first: Selector, a: list[str], second: Selector, b: list[str], found: _Differences
) -> None:
    """Compare blocks as bytes; only records that differ are parsed."""
    left, right = _Stream(first, a), _Stream(second, b)
    while left.fill() and right.fill():
        count = min(left.count, right.count)
        one, other = left.records(count), right.records(count)
        if one == other:
            found.same += count
        else:
            for index in range(count):
                if one[index] == other[index]:
                    found.same += 1
                else:
                    found.compare(left.found(index), right.found(index))
        left.skip(count)
        right.skip(count)
    for side, stream in (("a", left), ("b", right)):
        while stream.fill():
            for index in range(stream.count):
                found.only_in(side, stream.found(index))
            stream.skip(stream.count)


class _Stream:
    """The records of one side; some of them are loaded."""

    def __init__(self, selector: Selector, files: list[str]) -> None:
        self._blocks = selector.blocks(files)
        self._block: Any = None
        self._begin = 0

    def fill(self) -> bool:
        """Load at least one record; return False at the end."""
        while self._block is None or self._begin == len(self._block.records):
            self._block = next(self._blocks, None)
            self._begin = 0
            if self._block is None:
                self._blocks = iter(())
                return False
        return True

    @property
    def count(self) -> int:
        return len(self._block.records) - self._begin

    def records(self, count: int) -> Bytes:
        found: Bytes = self._block.records[self._begin : self._begin + count]
        return found

    def found(self, index: int) -> Found:
        place = self._begin + index
        [row] = rows_of(self._block.records[place : place + 1])
        return Found(self._block.path, self._block.numbers[place], self._block.records[place], row)

    def skip(self, count: int) -> None:
        self._begin += count


def _by_key(key: str, a: Iterator[Found], b: Iterator[Found], found: _Differences) -> None:
    kept: dict[Any, Found] = {}
    for each in a:
        value = _key(each, key)
        if value in kept:
            raise Failure(f"--key: two records of A have {key!r} {json_text(_plain(value))}: "
                          f"{_place(kept[value])} and {_place(each)}", USAGE)  # fmt: skip
        kept[value] = each
    seen = set()
    for each in b:
        value = _key(each, key)
        if value in seen:
            raise Failure(f"--key: two records of B have {key!r} {json_text(_plain(value))}", USAGE)
        seen.add(value)
        if value in kept:
            found.compare(kept.pop(value), each)
        else:
            found.only_in("b", each)
    for each in kept.values():
        found.only_in("a", each)


def _key(found: Found, key: str) -> Any:
    values = None if found.row is None else found.row.get(key)
    if values is None or isinstance(values, Frames):
        raise Failure(f"--key: {_place(found)} has no feature {key!r}", USAGE)
    return tuple(values) if isinstance(values, Bytes) else tuple(values.tolist())


def _plain(value: tuple[Any, ...]) -> Any:
    plain = [brief_bytes(each) if isinstance(each, bytes) else each for each in value]
    return plain[0] if len(plain) == 1 else plain


def _as_sets(a: Iterator[Found], b: Iterator[Found], found: _Differences) -> None:
    left: dict[bytes, list[Found]] = {}
    for each in a:
        left.setdefault(hashlib.blake2b(each.record, digest_size=16).digest(), []).append(each)
    for each in b:
        same = left.get(hashlib.blake2b(each.record, digest_size=16).digest())
        if same:
            same.pop()
            found.same += 1
        else:
            found.only_in("b", each)
    for some in left.values():
        for each in some:
            found.only_in("a", each)


def _differing(a: Found, b: Found) -> list[str]:
    if a.row is None or b.row is None:
        return ["record"]
    names = sorted({*a.row, *b.row})
    return [name for name in names if not _equal(a.row.get(name), b.row.get(name))]


def _canonical(record: bytes) -> bytes:
    """Return the record as protobuf writes it, with unknown fields, for comparison."""
    # An Example is a SequenceExample without feature lists.
    from fastrec.train import SequenceExample

    try:
        return bytes(SequenceExample.FromString(record).SerializeToString(deterministic=True))
    except Exception:  # the class of protobuf's error depends on its version
        return record


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, Frames) and isinstance(b, Frames):
        pairs = zip(a.frames, b.frames, strict=False)
        return len(a.frames) == len(b.frames) and all(_equal(*pair) for pair in pairs)
    if type(a) is not type(b):
        return False
    if isinstance(a, Bytes):
        return bool(a == b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _first_difference(a: Found, b: Found, name: str) -> str:
    """Return the position of the first difference between values whose short forms are equal."""
    one, other = (None if each.row is None else each.row.get(name) for each in (a, b))
    if one is None or other is None or isinstance(one, Frames):
        return ""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return f" (from value {index} on)" if not isinstance(left, bytes) else " (other bytes)"
    return ""


def _json(found: Found, name: str) -> Any:
    values = None if found.row is None else found.row.get(name)
    return None if values is None else whole(values)


def _shown(found: Found, name: str) -> str:
    if found.row is None:
        return json_text(brief_bytes(found.record))
    return json_text(brief(found.row[name])) if name in found.row else "missing"


def _brief_row(row: Row) -> Any:
    return {name: brief(values) for name, values in row.items()}


def _place(found: Found) -> str:
    return f"{json_text(name_of(found.path))[1:-1]}:{found.number}"
