# SPDX-License-Identifier: Apache-2.0
"""Collect the properties of records that :mod:`fastrec.cli.doctor` judges, in one pass.

Each block of records is examined separately, and the results are merged in order, so that findings
do not depend on the number of threads. Memory is bounded: of each property only the number of
records and the first few of them are kept.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrec.cli.files import name_of
from fastrec.cli.report import explained, shown
from fastrec.cli.rows import Piece, is_other, pieces
from fastrec.cli.select import Block
from fastrec.cli.values import brief_bytes, number_text
from fastrec.columns import Bytes, Ragged
from fastrec.features.image import ImageFeature
from fastrec.records.content import image_format, image_size
from fastrec.records.content.values import is_text

__all__ = [
    "FLAGS",
    "Duplicates",
    "Examination",
    "FeatureRecord",
    "Place",
    "Places",
    "Tally",
    "examine",
    "hashes_of",
]

MOST_PLACES = 10  # records of a finding that are named; the others are counted
MOST_FEATURES = 4096  # features that are examined, which bounds memory for hostile names
_MOST_VALUES = 16  # different lengths or sizes; a feature with more has a variable length or size
_EXTREMES = 8  # smallest and largest values that may be outside of the range of all others
_MOST_HASHES = 1 << 18  # records that are compared with each other; of more, a sample
_PIECE = 1 << 20  # bytes of a text that are decoded in one call
FLAGS = ("is_first", "is_last", "is_terminal")
_TIMES = re.compile(r"(.*_)?timestamps?(_[a-z]+)?|times?")
_GAP = 3  # a step of regular times that is this number of usual steps long is a gap
_LEAST_STEPS = 10  # minimum number of time steps to compute the usual step

Ints = NDArray[np.int64]


class Place(NamedTuple):
    """A record by its file and its number there, and a text about its value."""

    path: str
    record: int
    text: str = ""


class Places:
    """The number of records that have a property, and the first of them."""

    def __init__(self, count: int = 0, first: Sequence[Place] = ()) -> None:
        self.count: int = count
        self.first: list[Place] = list(first[:MOST_PLACES])

    def add(self, count: int, first: Sequence[Place]) -> None:
        """Add later records."""
        self.count += count
        self.first += first[: MOST_PLACES - len(self.first)]


class Tally:
    """Records by the value of one property; ``places`` is None if there are too many values."""

    def __init__(self) -> None:
        self.places: dict[Any, Places] | None = {}

    def add(self, value: Any, count: int, first: Sequence[Place]) -> None:
        """Add later records with one value of the property."""
        if self.places is None or not count:
            return
        if value not in self.places and len(self.places) == _MOST_VALUES:
            self.places = None
            return
        self.places.setdefault(value, Places()).add(count, first)

    def merge(self, other: Tally) -> None:
        """Add the tally of later records."""
        if other.places is None:
            self.places = None
        for value, places in (other.places or {}).items():
            self.add(value, places.count, places.first)


class FeatureRecord:
    """Properties of one feature.

    Attributes
    ----------
    tallies : dict of str to Tally
        Records by presence, kind, number of values, content of bytes, and size of images.
    certain : dict of str to Places
        Findings that one record is sufficient evidence for, by check.
    count : int
        Number of values.
    same : number, bytes or None
        The value, or the hash of the image, that all values are equal to.
    distinct : set of float
        Some different numbers.
    low, high : list of (number, Place)
        The smallest numbers, ascending, and the largest, descending.
    """

    def __init__(self) -> None:
        names = ("missing", "kind", "length", "content", "size")
        self.tallies: Final = {name: Tally() for name in names}
        self.certain: Final[dict[str, Places]] = {}
        self.count: int = 0
        self.same: Any = None
        self.distinct: set[float] = set()
        self.low: list[tuple[float, Place]] = []
        self.high: list[tuple[float, Place]] = []

    def merge(self, other: FeatureRecord) -> None:
        """Add the properties of the feature in later records."""
        for name, tally in self.tallies.items():
            tally.merge(other.tallies[name])
        for check, places in other.certain.items():
            self.certain.setdefault(check, Places()).add(places.count, places.first)
        if not self.count:
            self.same = other.same
        elif other.count and self.same != other.same:
            self.same = None
        self.count += other.count
        if len(self.distinct) < _MOST_VALUES:
            self.distinct |= other.distinct
        self.low = sorted(self.low + other.low)[: _EXTREMES + 1]
        self.high = sorted(self.high + other.high, key=_descending)[: _EXTREMES + 1]


def _descending(extreme: tuple[float, Place]) -> tuple[float, Place]:
    return -extreme[0], extreme[1]


class Examination:
    """Properties of records.

    Attributes
    ----------
    records, bytes : int
        Number and size of the records.
    examples, others : Places
        Records that are Examples or SequenceExamples, and those that are not.
    features : dict of str to FeatureRecord
        Properties of at most 4,096 features.
    left_out : bool
        Whether there are more features.
    not_decoded : str
        Why images could not be decoded because of this installation.
    """

    def __init__(self) -> None:
        self.records: int = 0
        self.bytes: int = 0
        self.examples: Final = Places()
        self.others: Final = Places()
        self.features: Final[dict[str, FeatureRecord]] = {}
        self.left_out: bool = False
        self.not_decoded: str = ""

    def merge(self, other: Examination) -> None:
        """Add the properties of later records."""
        absent = self.examples
        for name, feature in self.features.items():
            if name not in other.features:
                feature.tallies["missing"].add(True, other.examples.count, other.examples.first)
        for name, feature in other.features.items():
            if name not in self.features:
                if len(self.features) == MOST_FEATURES:
                    self.left_out = True
                    continue
                self.features[name] = FeatureRecord()
                self.features[name].tallies["missing"].add(True, absent.count, absent.first)
            self.features[name].merge(feature)
        self.records, self.bytes = self.records + other.records, self.bytes + other.bytes
        self.examples.add(other.examples.count, other.examples.first)
        self.others.add(other.others.count, other.others.first)
        self.left_out |= other.left_out
        self.not_decoded = self.not_decoded or other.not_decoded


class Duplicates:
    """Records that are equal to earlier ones, by hashes of 64 bits.

    Beyond 262,144 different hashes, only a sample of the records is compared.
    """

    def __init__(self) -> None:
        self.repeated: Final = Places()
        self.compared: int = 0
        self._seen: dict[int, Place] = {}
        self._mask = 0

    def add(self, block: Block, hashes: NDArray[np.uint64]) -> None:
        """Compare the records of a block with earlier ones."""
        for row in np.flatnonzero((hashes & np.uint64(self._mask)) == 0).tolist():
            value, place = int(hashes[row]), Place(block.path, int(block.numbers[row]))
            if value & self._mask:
                continue
            self.compared += 1
            earlier = self._seen.setdefault(value, place)
            if earlier is not place:
                text = f"equal to record {earlier.record}"
                if earlier.path != block.path:
                    text += f" of {shown(name_of(earlier.path))}"
                self.repeated.add(1, [place._replace(text=text)])
            elif len(self._seen) > _MOST_HASHES:
                self._mask = 2 * self._mask + 1
                self._seen = {key: at for key, at in self._seen.items() if not key & self._mask}


def hashes_of(records: Bytes) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each record."""
    digests = b"".join(hashlib.blake2b(record, digest_size=8).digest() for record in records)
    return np.frombuffer(digests, np.uint64)


def examine(
    block: Block, names: Collection[str] | None, labels: Mapping[str, range]
) -> Examination:
    """Return the properties of a block of records; `labels` are the valid numbers of classes."""
    found, first = Examination(), 0
    for piece in pieces(block.records, names):
        stop = first + len(piece.records)
        found.merge(_examine_piece(piece, block.path, block.numbers[first:stop], labels))
        first = stop
    return found


def _examine_piece(
    piece: Piece, path: str, numbers: Sequence[int], labels: Mapping[str, range]
) -> Examination:
    found, columns = Examination(), piece.columns or {}
    found.records, found.bytes = len(piece.records), piece.records.nbytes

    def place(row: int, text: str = "") -> Place:
        return Place(path, int(numbers[row]), text)

    if not columns:
        for row, record in enumerate(piece.records):
            is_foreign = piece.columns is None or is_other(record)
            (found.others if is_foreign else found.examples).add(
                1, [place(row, brief_bytes(record) if is_foreign else "")]
            )
        return found
    found.examples.add(len(numbers), [place(row) for row in range(min(len(numbers), MOST_PLACES))])
    steps: dict[str, Ints] = {}  # number of steps in each record, by the prefix of their features
    for name, column in columns.items():
        prefix, slash, leaf = name.rpartition("/")
        if slash and leaf in FLAGS:
            lengths = column.row_lengths
            steps[f"{prefix}/"] = np.maximum(steps.get(f"{prefix}/", lengths), lengths)
    for name, column in columns.items():
        if len(found.features) == MOST_FEATURES:
            found.left_out = True
            break
        of_step = [counts for prefix, counts in steps.items() if name.startswith(prefix)]
        examined = _Feature(name, column, place, of_step[0] if of_step else None)
        examined.values(labels.get(name))
        found.features[name] = examined.found
        found.not_decoded = found.not_decoded or examined.not_decoded
    return found


class _Feature:
    """The examination of one column of a piece.

    `step_counts` is the number of steps in each record, for a feature of the steps of episodes.
    """

    def __init__(
        self, name: str, column: Ragged, place: Callable[..., Place], step_counts: Ints | None
    ) -> None:
        self.found, self.not_decoded = FeatureRecord(), ""
        self._name, self._place = name.rpartition("/")[2], place
        self._is_flag = "/" in name and self._name in FLAGS
        self._is_ragged = "/ragged_" in name  # steps of several lengths, as TFDS stores them
        inner = column.values
        # Positions of the values of each record.
        self._splits = column.row_splits if not isinstance(inner, Ragged) else (
            inner.row_splits[column.row_splits]
        )  # fmt: skip
        self._values: Any = column.flat_values
        self._lengths(column.row_lengths, step_counts)

    def _tally(self, check: str, rows: Ints, values: Any) -> None:
        """Add rows to a tally, by their values."""
        for value in dict.fromkeys(values.tolist()):
            if self.found.tallies[check].places is None:
                return
            same = rows[values == value]
            first = [self._place(row) for row in same[:MOST_PLACES].tolist()]
            self.found.tallies[check].add(value, len(same), first)

    def _lengths(self, lengths: Ints, step_counts: Ints | None) -> None:
        rows = np.arange(len(lengths))
        self._tally("missing", rows, lengths == 0)
        present = lengths > 0
        if step_counts is not None and not self._is_ragged:
            divisors = np.maximum(step_counts, 1)
            bad = (lengths % divisors != 0) | (present & (step_counts == 0))
            if self._is_flag:
                bad |= lengths != step_counts
            self._note_rows("steps", np.flatnonzero(bad), lambda row:
                            f"{lengths[row]} values for {step_counts[row]} steps")  # fmt: skip
            present &= ~bad
            lengths = np.where(present, lengths // divisors, lengths)
        self._tally("length", rows[present], lengths[present])
        if present.any():
            kind = "bytes"
            if not isinstance(self._values, Bytes):
                kind = "float" if self._values.dtype.kind == "f" else "int64"
            self._tally("kind", rows[present], np.full(int(present.sum()), kind))

    def _rows(self, indices: Any) -> Ints:
        """Return the rows of values."""
        rows: Ints = np.searchsorted(self._splits, indices, side="right") - 1
        return rows

    def _note(self, check: str, indices: Any, text: Callable[[int, int], str]) -> None:
        """Note a finding in each record of the values with these indices."""
        rows, first = np.unique(self._rows(indices), return_index=True)
        index_of = dict(zip(rows[:MOST_PLACES].tolist(), first.tolist(), strict=False))
        self._note_rows(check, rows, lambda row: text(int(indices[index_of[row]]), row))

    def _note_rows(self, check: str, rows: Ints, text: Callable[[int], str]) -> None:
        """Note a finding in each of some rows."""
        places = [self._place(row, text(row)) for row in rows[:MOST_PLACES].tolist()]
        if places:
            self.found.certain.setdefault(check, Places()).add(len(rows), places)

    def _within(self, index: int, row: int) -> int:
        return index - int(self._splits[row])

    def values(self, classes: range | None) -> None:
        """Examine the values."""
        values, found = self._values, self.found
        found.count = len(values)
        if not found.count:
            return
        if isinstance(values, Bytes):
            self._bytes(list(values))
            return
        found.same = values[0].item() if (values == values[0]).all() else None
        finite = np.isfinite(values)
        self._note("nan", np.flatnonzero(~finite), lambda index, row:
                   f"value {self._within(index, row)} is {values[index]}")  # fmt: skip
        self._extremes(np.flatnonzero(finite))
        if classes is not None:
            bad = (values < classes.start) | (values >= classes.stop)
            self._note("label", np.flatnonzero(bad), lambda index, row:
                       f"{values[index]} is out of range "
                       f"({classes.start} to {classes.stop - 1})")  # fmt: skip
        if self._is_flag:
            self._flags(values != 0)
        elif _TIMES.fullmatch(self._name):
            self._times(values)

    def _extremes(self, indices: Ints) -> None:
        values, found = self._values, self.found
        found.distinct = set(np.unique(values[indices[:1024]])[:_MOST_VALUES].tolist())
        for most in (False, True):
            some = indices
            if len(indices) > _EXTREMES + 1:
                at = len(indices) - _EXTREMES - 1 if most else _EXTREMES
                order = np.argpartition(values[indices], at)
                some = indices[order[at:] if most else order[: at + 1]]
            places = [
                (values[index].item(), self._place(int(self._rows(index))))
                for index in some.tolist()
            ]
            if most:
                found.high = sorted(places, key=_descending)
            else:
                found.low = sorted(places)

    def _flags(self, flags: NDArray[np.bool_]) -> None:
        """Examine the flags of the steps of episodes: the first, the last, the terminal step."""
        begins, ends = self._splits[:-1], self._splits[1:]
        begins, ends = begins[ends > begins], ends[ends > begins]
        edge = begins if self._name == "is_first" else ends - 1
        word = "first" if self._name == "is_first" else "last"
        misplaced = flags.copy()
        misplaced[edge] = False
        self._note("episode", np.flatnonzero(misplaced), lambda index, row:
                   f"{self._name} is set in step {self._within(index, row)}, "
                   f"which is not the {word} one")  # fmt: skip
        if self._name != "is_terminal":
            self._note("episode", edge[~flags[edge]], lambda index, row:
                       f"{self._name} is not set in the {word} step")  # fmt: skip

    def _times(self, values: NDArray[Any]) -> None:
        """Note times that do not increase within a record, and gaps between regular times."""
        with np.errstate(invalid="ignore"):
            change = np.diff(values)
        inside = np.diff(self._rows(np.arange(len(values)))) == 0

        def unordered(index: int, row: int) -> str:
            relation = "equal to" if values[index] == values[index - 1] else "before"
            return (
                f"value {self._within(index, row)} ({values[index]}) is {relation} the value "
                f"before it ({values[index - 1]})"
            )

        self._note("time", np.flatnonzero((change <= 0) & inside) + 1, unordered)
        for begin, end in zip(self._splits[:-1].tolist(), self._splits[1:].tolist(), strict=True):
            steps = change[begin : end - 1]
            if len(steps) >= _LEAST_STEPS and np.isfinite(steps).all():
                self._note("time", _gaps(steps)[:1] + begin + 1, lambda index, row:
                           f"a gap of {number_text(change[index - 1].item())} before value "
                           f"{self._within(index, row)}")  # fmt: skip

    def _bytes(self, items: list[bytes]) -> None:
        contents = np.array([_content(item) for item in items])
        self._tally("content", self._rows(np.arange(len(items))), contents)
        images = np.flatnonzero(contents == "image")
        if not len(images):
            return
        sizes = [(at, size) for at in images.tolist() if (size := image_size(items[at]))]
        if sizes:
            rows = self._rows(np.array([at for at, _ in sizes]))
            self._tally("size", rows, np.array([f"{wide}x{high}" for _, (wide, high) in sizes]))
        # Images of different records follow each other only if each record has one.
        rows = self._rows(np.arange(len(items)))
        follows = np.diff(rows) <= int((np.diff(rows) > 0).all())
        repeated = [
            at for at in images.tolist() if at and follows[at - 1] and items[at] == items[at - 1]
        ]
        self._note("repeated", np.array(repeated, np.int64), lambda index, row:
                   f"image {self._within(index, row)} is equal to the one before it")  # fmt: skip
        if items.count(items[0]) == len(items):
            self.found.same = hashlib.blake2b(items[0], digest_size=8).digest()
        self._decode([at for at in images.tolist() if image_format(items[at]) in _DECODED], items)

    def _decode(self, indices: list[int], items: list[bytes]) -> None:
        """Decode images to a few pixels, which needs little memory for images of any size."""
        bad: dict[int, str] = {}

        def failed(row: int, error: Exception) -> None:
            bad[indices[row]] = explained(error)

        try:
            _DECODER.decode([items[at] for at in indices], None, 0, failed)
        except ImportError as error:
            self.not_decoded = str(error)
        self._note("image", np.array(sorted(bad), np.int64), lambda index, row:
                   f"image {self._within(index, row)} does not decode: {bad[index]}")  # fmt: skip


def _gaps(steps: NDArray[Any]) -> Ints:
    """Return the positions of steps that are much longer than the usual one, if that is regular."""
    usual = float(np.median(steps))
    regular = np.count_nonzero(np.abs(steps - usual) <= usual / 2)
    is_regular = usual > 0 and 10 * regular >= 9 * len(steps)
    return np.flatnonzero(steps > _GAP * usual if is_regular else np.zeros(len(steps), np.bool_))


_DECODED = ("JPEG", "PNG")  # formats that the core decodes without an optional package
_DECODER = ImageFeature((8, 8), fit="resize", dtype="uint8")._decoder


def _content(value: bytes) -> str:
    """Return ``"empty"``, ``"image"``, ``"text"`` or ``"bytes"``."""
    if not value:
        return "empty"
    if image_format(value):
        return "image"
    if not is_text(value):
        return "bytes"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for begin in range(0, len(value), _PIECE):
            decoder.decode(value[begin : begin + _PIECE], begin + _PIECE >= len(value))
    except UnicodeDecodeError:
        return "bytes"
    return "text"
