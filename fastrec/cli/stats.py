# SPDX-License-Identifier: Apache-2.0
"""Print statistics of every feature: presence, ranges, quantiles, common values."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec.cli.files import expand
from fastrec.cli.grammar import add_json, add_paths, add_selection, add_threads
from fastrec.cli.parallel import mapped
from fastrec.cli.report import Failure, Report, bytes_text, count_text, counted, shown
from fastrec.cli.select import Selector
from fastrec.cli.statistics import FeatureSummary, Numbers, Summary, histogram, summarize
from fastrec.cli.typed import class_text, common_types
from fastrec.cli.values import brief_bytes, number_text, whole
from fastrec.columns import Bytes
from fastrec.parsing.feature_stats import unusual

__all__ = ["add_arguments", "as_json", "run", "survey", "top_texts"]

_POINTS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_TOP_SHOWN = 5  # common values of a feature in the table
_TOP_JSON = 20  # common values of a feature in JSON
_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = ".:-=+*#@"  # for terminals without block characters
_INDENT = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec stats``."""
    add_paths(parser)
    add_selection(parser)
    add_json(parser, "print one JSON object, with quantiles, histograms and top values")
    add_threads(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one row per feature, and the most common values; return 1 if there is damage."""
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    for error in missing:
        selector.complain(error)
    found = survey(selector, files, arguments.threads)
    if arguments.json:
        report.json(as_json(found))
        return selector.status
    if not found.records and selector.status:
        return selector.status
    report.line(
        f"{counted(found.records, 'record')} in {counted(len(files), 'file')}, "
        f"{bytes_text(found.bytes)} of data"
    )
    if found.others:
        report.line(f"{counted(found.others, 'record')} not of tf.train.Example")
    if found.sequences:
        report.line(f"{counted(found.sequences, 'record')} with feature lists")
    if found.left_out:
        report.line("more than 4,096 features: the others are left out")
    if found.features:
        report.line()
        _print_table(found, report)
        _print_top(found, report)
    elif found.records == 0:
        raise Failure("no records")
    else:
        report.line("no features; `fastrec schema` tells what the records are")
    return selector.status


def survey(selector: Selector, files: Sequence[str], threads: int) -> Summary:
    """Return statistics of the selected records, computed on several threads."""
    total, types = Summary(), common_types(files)
    # The merging thread decides which features have too diverse values.
    items = ((seed, block.records, total.rare())
             for seed, block in enumerate(selector.blocks(files)))  # fmt: skip

    def work(item: tuple[int, Bytes, frozenset[tuple[str, str]]]) -> Summary:
        seed, records, rare = item
        return summarize(records, seed, rare, selector.names, types)

    for _, part in mapped(work, items, threads):
        total.merge(part)
    return total


# -- Tables ----------------------------------------------------------------------------------------


def _print_table(found: Summary, report: Report) -> None:
    headers = ["feature", "kind", "present", "values", "min", "median", "mean", "max", "distinct",
               "histogram"]  # fmt: skip
    bars = _BARS if report.can_write(_BARS) else _PLAIN_BARS
    rows = [
        [
            shown(name),
            _kind(each) + (" frames" if each.of_frames else ""),
            _percent(each.records, found.records),
            _lengths(each.lengths),
            _number(each.values.low),
            _median(each.values),
            _number(each.values.mean, each.values.finite),
            _number(each.values.high),
            _distinct(each),
            _histogram(each.values, bars),
        ]
        for name, each in _sorted(found)
    ]
    extra = [unusual(each.values.nan, each.values.infinite) for _, each in _sorted(found)]
    if any(extra):
        headers.insert(8, "not finite")
        for row, text in zip(rows, extra, strict=True):
            row.insert(8, text)
    spare = ("histogram", "median", "mean", "distinct", "values", "max", "min")
    right = range(2, len(headers) - 1)
    report.table(headers, rows, right=right, spare=[headers.index(each) for each in spare])
    if any(each.kind == "bytes" for each in found.features.values()):
        report.line(f"{' ' * _INDENT}(of bytes: the sizes)")


def _sorted(found: Summary) -> list[tuple[str, FeatureSummary]]:
    known = {name for name, kind in found.features if kind != "none"}
    return [
        (name, found.features[name, kind])
        for name, kind in sorted(found.features)
        if kind != "none" or name not in known
    ]


def _print_top(found: Summary, report: Report) -> None:
    rows = []
    for name, each in _sorted(found):
        for text, count in _formats(each) or _top_values(each):
            share = _percent(count, each.values.count) if count else ""
            rows.append((shown(name), text, count_text(count) if count else "", share))
    if rows:
        report.line()
        report.table(("feature", "most common values", "count", "share"), rows, right=(2, 3))


def _top_values(each: FeatureSummary) -> list[tuple[str, int]]:
    """Return the texts and counts of the most common values, and how many others there are.

    Return an empty list if all values are about equally common.
    """
    counts, total, different = each.top.counts, each.values.count, each.distinct.count
    if not counts or (different > 20 and 2 * total > counts.most_common(1)[0][1] * different):
        return []
    found = [
        (shown(class_text(each.connector, value) or _brief(value)), count)
        for value, count in _ranked(each)[:_TOP_SHOWN]
    ]
    more = different - len(found)
    return found + ([(f"({count_text(more)} more)", 0)] if more > 0 else [])


def top_texts(each: FeatureSummary) -> list[str]:
    """Return the most common values, each with its share."""
    total = each.values.count
    return [
        f"{text}: {_percent(count, total)}" if count else text for text, count in _top_values(each)
    ]


def _ranked(each: FeatureSummary) -> list[tuple[Any, int]]:
    """Sort values by count, and equal counts by value."""
    return sorted((each.top.counts or {}).items(), key=lambda item: (-item[1], item[0]))


def _formats(each: FeatureSummary) -> list[tuple[str, int]]:
    """Return the formats of images and their counts, and the range of sizes in pixels."""
    found = each.formats.most_common()
    if each.widths is not None and each.heights is not None:
        low = f"{each.widths.low}x{each.heights.low}"
        high = f"{each.widths.high}x{each.heights.high}"
        found.append((f"{low} pixels" if low == high else f"{low} to {high} pixels", 0))
    return found


def _brief(value: Any) -> str:
    if value == b"":
        return '""'
    return (
        brief_bytes(value)
        if isinstance(value, bytes)
        else f"{value:.7g}"
        if isinstance(value, float)
        else str(value)
    )


def _kind(each: FeatureSummary) -> str:
    return next(iter(each.formats)) if len(each.formats) == 1 else each.kind


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.3g} %" if total else ""


def _number(value: Any, some: int = 1) -> str:
    if value is None or not some:
        return ""
    return number_text(value)


def _lengths(lengths: Numbers) -> str:
    if lengths.low is None:
        return "0"
    return str(lengths.low) if lengths.low == lengths.high else f"{lengths.low} to {lengths.high}"


def _distinct(each: FeatureSummary) -> str:
    return ("" if each.distinct.exact else "about ") + count_text(each.distinct.count)


def _median(values: Numbers) -> str:
    found = values.quantiles([0.5])
    return _number(found[0]) if found else ""


def _histogram(values: Numbers, bars: str) -> str:
    counts, _ = histogram(values, 10)
    most = max(counts, default=0)
    return "".join(" " if not count else bars[(count * 7 + most - 1) // most] for count in counts)


# -- JSON ------------------------------------------------------------------------------------------


def as_json(found: Summary) -> dict[str, Any]:
    """Return all statistics for JSON."""
    features = [{"name": name, **_feature_json(each)} for name, each in _sorted(found)]
    return {
        "records": found.records,
        "bytes": found.bytes,
        "not_examples": found.others,
        "with_feature_lists": found.sequences,
        "features_left_out": found.left_out,
        "record_sizes": None if found.sizes is None else _numbers_json(found.sizes),
        "features": features,
    }


def _feature_json(each: FeatureSummary) -> dict[str, Any]:
    top = [{"value": _top_value(value, each.kind), "count": count}
           for value, count in _ranked(each)[:_TOP_JSON]]  # fmt: skip
    found: dict[str, Any] = {
        "kind": each.kind,
        "of_frames": each.of_frames,
        "records": each.records,
        "lengths": _numbers_json(each.lengths),
        "sizes" if each.kind == "bytes" else "values": _numbers_json(each.values),
        "distinct": each.distinct.count,
        "distinct_is_exact": each.distinct.exact,
        "top": top,
        "top_is_exact": each.top.exact,
    }
    if each.formats:
        found["formats"] = dict(each.formats)
    if each.widths is not None and each.heights is not None:
        found["widths"] = _numbers_json(each.widths)
        found["heights"] = _numbers_json(each.heights)
    return found


def _top_value(value: Any, kind: str) -> Any:
    if kind == "bytes":
        return whole(Bytes.from_list([value]))[0]
    return whole(np.array([value], np.float32 if kind == "float" else None))[0]


def _numbers_json(numbers: Numbers) -> dict[str, Any]:
    counts, edges = histogram(numbers, 20)
    quantiles = numbers.quantiles(_POINTS)
    return {
        "count": numbers.count,
        "min": numbers.low,
        "max": numbers.high,
        "mean": numbers.mean if numbers.finite else None,
        "deviation": numbers.deviation if numbers.finite else None,
        "zeros": numbers.zeros,
        "nan": numbers.nan,
        "infinite": numbers.infinite,
        "quantiles": {
            f"{point:g}": value for point, value in zip(_POINTS, quantiles, strict=False)
        },
        "histogram": {"counts": counts, "edges": edges},
    }
