# SPDX-License-Identifier: Apache-2.0
"""Check the meaning of records: values, times, episodes, images, labels and texts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrec.cli.checks import (
    FLAGS,
    Duplicates,
    Examination,
    FeatureRecord,
    Place,
    Places,
    Tally,
    examine,
    hashes_of,
)
from fastrec.cli.files import expand, name_of
from fastrec.cli.grammar import FINDING, add_json, add_paths, add_selection, add_threads
from fastrec.cli.parallel import mapped
from fastrec.cli.report import Report, bytes_text, count_text, counted, shown
from fastrec.cli.select import Block, Selector
from fastrec.cli.typed import common_types
from fastrec.cli.values import number_text

__all__ = ["Finding", "add_arguments", "findings_of", "run"]

REMEDIES = {
    "message": "remove the record: it is not a tf.train.Example",
    "missing": "write a value, or read the feature with a default_value",
    "kind": "write the feature with one dtype",
    "length": "write the same number of values, or read the feature as ragged",
    "steps": "write the same number of values for each step",
    "nan": "write a number, or leave the record out",
    "constant": "leave the feature out, or look for the fault in the program that writes it",
    "range": "look for a wrong unit, or a number that stands for a missing value",
    "label": "correct the label, or the number of classes",
    "time": "sort the steps, and store times as int64: a float32 has 24 bits",
    "episode": "write each episode as one record; is_first is set in its first step, is_last in "
    "its last",
    "image": "encode the image again",
    "size": "resize the image, or read it with ImageFeature(shape, fit=...)",
    "repeated": "leave the second image out, or look for a camera that stood still",
    "duplicate": "leave the record out",
    "empty": "write a text, or leave the feature out",
    "text": "encode the text as UTF-8",
}
"""The remedy for the findings of each check."""

_LEAST = 100  # minimum number of records, or values, to call a property rare
_RARE = 1000  # a property of one in this number of records is rare
_FAR = 10  # a value is out of range at this distance, in widths of the range of all others
_LEAST_DISTINCT = 16  # different values of a feature that has a range
_SMALL = 256  # smaller records, in bytes, may be equal by chance
_MOST_NAME = 80  # characters of the name of a feature in a line
# Numbers that describe a dataset may be the same in all records.
_MAY_BE_CONSTANT = ("reward", "discount", "height", "width", "channels", "depth", "shape",
                    "version")  # fmt: skip


class Finding(NamedTuple):
    """A fault that a check has found in some records of a feature."""

    check: str
    feature: str
    places: Places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec doctor``."""
    add_paths(parser)
    parser.add_argument(
        "--labels", action="append", default=[], type=_label, metavar="NAME=COUNT",
        help="the feature NAME has labels from 0 to COUNT - 1; may be repeated (default: what "
        "features.json of TFDS states)",
    )  # fmt: skip
    parser.add_argument(
        "--ignore", type=_checks, default=(), metavar="A,B",
        help=f"checks to leave out: {', '.join(REMEDIES)}",
    )  # fmt: skip
    add_selection(parser)
    add_json(parser, "print JSON, one finding a line, and a summary")
    add_threads(parser)


def _label(text: str) -> tuple[str, int]:
    name, equals, count = text.rpartition("=")
    if not equals or not count.isdecimal() or not 0 < int(count) < 2**63:
        raise argparse.ArgumentTypeError(f"must be NAME=COUNT, such as label=10, got {text!r}")
    return name, int(count)


def _checks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in REMEDIES]:
        raise argparse.ArgumentTypeError(f"must be among {', '.join(REMEDIES)}, got {unknown[0]!r}")
    return names


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per finding, and a summary; return 1 if there are findings."""
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    for error in missing:
        selector.complain(error)
    labels = {
        name: range(-1, each.num_classes)  # TFDS writes -1 for an unknown class
        for name, each in common_types(files).items()
        if getattr(each, "num_classes", None)
    }
    labels.update((name, range(count)) for name, count in arguments.labels)
    found, duplicates = _survey(selector, files, arguments.threads, labels)
    named = {name for name, _ in arguments.labels}.union(selector.names or ())
    for name in sorted(named - found.features.keys()) if found.examples.count else ():
        report.complain(f"error: no record has a feature {shown(name)!r}")
        selector.status = max(selector.status, FINDING)
    if found.not_decoded:
        report.complain(f"warning: some images were not decoded: {found.not_decoded}")
    findings = [
        each
        for each in findings_of(found, duplicates, selector.names is None)
        if each.check not in arguments.ignore
    ]
    counts: dict[str, int] = {}
    for finding in findings:
        _print(finding, arguments.json, report)
        counts[finding.check] = counts.get(finding.check, 0) + finding.places.count
    if arguments.json:
        report.json({"records": found.records, "bytes": found.bytes, "files": len(files),
                     "not_examples": found.others.count, "features_left_out": found.left_out,
                     "findings": counts})  # fmt: skip
    elif found.records or not selector.status:
        if found.left_out:
            report.line("more than 4,096 features: the others are left out")
        if found.others.count and not found.examples.count:
            report.line("the records are not of tf.train.Example: only duplicates were looked for")
        data = f"{counted(found.records, 'record')} in {counted(len(files), 'file')}, "
        data += f"{bytes_text(found.bytes)} of data"
        kinds = ", ".join(f"{count_text(count)} {check}" for check, count in counts.items())
        report.line(f"{data}: {kinds or 'no findings'}")
    return selector.status or (FINDING if findings else 0)


def _survey(
    selector: Selector, files: Sequence[str], threads: int, labels: Mapping[str, range]
) -> tuple[Examination, Duplicates]:
    """Examine the selected records on several threads."""
    total, duplicates = Examination(), Duplicates()

    def work(block: Block) -> tuple[Examination, NDArray[np.uint64]]:
        return examine(block, selector.names, labels), hashes_of(block.records)

    for block, (part, hashes) in mapped(work, selector.blocks(files), threads):
        total.merge(part)
        duplicates.add(block, hashes)
    return total, duplicates


# -- Judgements ------------------------------------------------------------------------------------


def findings_of(
    found: Examination, duplicates: Duplicates, complete: bool = True
) -> Iterator[Finding]:
    """Yield what the properties of the records mean, by feature and check.

    With `complete`, all features were examined, so that one that is not there is missing.
    """
    if found.others.count and found.examples.count:
        yield Finding("message", "", found.others)
    # Records with few bytes, or of few different values, are equal by chance.
    is_small = found.bytes < _SMALL * found.records
    if 0 < duplicates.repeated.count <= max(1, duplicates.compared // (100 if is_small else 2)):
        yield Finding("duplicate", "", duplicates.repeated)
    for name, feature in sorted(found.features.items()):
        by_check = {check: Places(each.count, each.first)
                    for check, each in feature.certain.items()}  # fmt: skip
        for check, places in _unusual(name, feature):
            by_check.setdefault(check, Places()).add(places.count, places.first)
        if "constant" in by_check:
            by_check.pop("repeated", None)
        for check, places in sorted(by_check.items()):
            yield Finding(check, name, places)
    if complete:
        parts = [name.rpartition("/") for name in found.features]
        prefixes = {prefix for prefix, slash, leaf in parts if slash and leaf in FLAGS}
        flags = [f"{prefix}/{flag}" for prefix in sorted(prefixes) for flag in FLAGS]
        first = _with_text(found.examples, "no record has this feature").first[:1]
        for name in flags:
            if name not in found.features:
                yield Finding("episode", name, Places(1, first))


def _unusual(name: str, feature: FeatureRecord) -> Iterator[tuple[str, Places]]:
    """Yield the records that differ from nearly all others."""
    tallies = feature.tallies
    for _, places in _rare(tallies["missing"]) if _usual(tallies["missing"]) is False else ():
        yield "missing", _with_text(places, "no value, unlike in nearly all other records")
    kinds = tallies["kind"].places or {}
    usual = max(kinds, key=lambda kind: kinds[kind].count, default="")
    for kind, places in kinds.items():
        if kind != usual:
            yield "kind", _with_text(places, f"{kind}, but {usual} in most records")
    usual = _usual(tallies["length"])
    for length, places in _rare(tallies["length"]):
        yield "length", _with_text(places, f"{length} values, but {usual} in other records")
    usual = _usual(tallies["content"])
    for content, places in _rare(tallies["content"]):
        if content == "empty":
            yield "empty", _with_text(places, "an empty value")
        elif usual == "image":
            yield "image", _with_text(places, "not an image, unlike nearly all other values")
        elif usual == "text" and content == "bytes":
            yield (
                "text",
                _with_text(places, "not printable UTF-8 text, unlike nearly all other values"),
            )
    usual = _usual(tallies["size"])
    for size, places in _rare(tallies["size"]):
        yield "size", _with_text(places, f"{size} pixels, but {usual} in other records")
    yield from _constant(name, feature)
    yield from _out_of_range(feature)


def _rare(tally: Tally) -> list[tuple[object, Places]]:
    """Return the values that differ from that of nearly all records, or nothing."""
    if not tally.places:
        return []
    total = sum(places.count for places in tally.places.values())
    usual = _usual(tally)
    others = [item for item in tally.places.items() if item[0] != usual]
    count = sum(places.count for _, places in others)
    return others if total >= _LEAST and count <= max(1, total // _RARE) else []


def _usual(tally: Tally) -> object:
    places = tally.places or {}
    return max(places, key=lambda value: places[value].count, default=None)


def _with_text(places: Places, text: str) -> Places:
    return Places(places.count, [place._replace(text=text) for place in places.first])


def _constant(name: str, feature: FeatureRecord) -> Iterator[tuple[str, Places]]:
    """Yield a finding if a number or an image is the same in all records."""
    leaf = name.rpartition("/")[2]
    if feature.same is None or feature.count < _LEAST:
        return
    if leaf.startswith(("is_", "has_")) or leaf in _MAY_BE_CONSTANT:
        return
    what = "images are equal"
    if not isinstance(feature.same, bytes):
        what = f"values are {number_text(feature.same)}"
    lengths = feature.tallies["kind"].places or {}
    first = [place._replace(text=f"all {count_text(feature.count)} {what}")
             for places in lengths.values() for place in places.first[:1]]  # fmt: skip
    yield "constant", Places(1, first)


def _out_of_range(feature: FeatureRecord) -> Iterator[tuple[str, Places]]:
    """Yield values that are far from the range of nearly all others."""
    if feature.count < _LEAST or len(feature.distinct) < _LEAST_DISTINCT:
        return
    low, high = feature.low, feature.high
    most = min(len(low) - 1, max(1, feature.count // _RARE))
    splits = [(a, b) for a in range(most + 1) for b in range(most + 1 - a) if a + b]
    for a, b in sorted(splits, key=sum, reverse=True):
        least, largest = low[a][0], high[b][0]
        far = _FAR * (largest - least)
        if far <= 0 or (a and least - low[a - 1][0] <= far):
            continue
        if b and high[b - 1][0] - largest <= far:
            continue
        around = f"all others are {number_text(least)} to {number_text(largest)}"
        first = [place._replace(text=f"{number_text(value)}; {around}")
                 for value, place in low[:a] + high[:b]]  # fmt: skip
        yield "range", Places(len(first), first)
        return


# -- Output ----------------------------------------------------------------------------------------


def _print(finding: Finding, json: bool, report: Report) -> None:
    check, feature, places = finding
    for place in places.first:
        _print_place(finding, place, json, report)
    more = places.count - len(places.first)
    if more > 0 and json:
        report.json({"check": check, "feature": feature, "more": more})
    elif more > 0:
        report.line(f"{check:9}  ... and {count_text(more)} more")


def _print_place(finding: Finding, place: Place, json: bool, report: Report) -> None:
    check, feature, _ = finding
    path, remedy = name_of(place.path), REMEDIES[check]
    if json:
        report.json({"path": path, "record": place.record, "check": check, "feature": feature,
                     "finding": place.text, "remedy": remedy})  # fmt: skip
        return
    name = feature if len(feature) <= _MOST_NAME else f"{feature[: _MOST_NAME - 3]}..."
    where = f"{shown(path)}:{place.record}: " + (f"{shown(name)}: " if feature else "")
    report.line(f"{check:9}  {where}{shown(place.text)}; {remedy}")
