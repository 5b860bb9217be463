# SPDX-License-Identifier: Apache-2.0
"""Every kind of feature over random and damaged records, against tf.io.parse_example and its like.

TensorFlow's parser is no protobuf parser: it drops data, and accepts what is damaged. So a record
is first brought into the form in which protobuf would write what it reads of it. What TensorFlow
makes of that, fastrec has to make of the record as it was. A record that protobuf refuses has to be
refused, when every feature was asked for, or to be read without a crash.

FASTREC_ORACLE_CASES says how many cases there are.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from oracle_cases import (
    CASES,
    canonical,
    example_case,
    is_partitioned,
    sequence_case,
    tensorflow_parses,
    tensorflow_parses_sequence,
    uneven,
)
from parsing_cases import Schema, parsed, parsed_sequence

from fastrec import train

GOLDEN = Path(__file__).parent.parent / "data" / "parsed_by_tensorflow.json"


def check_example(tf: Any, seed: str) -> None:
    schema, records = example_case(seed)
    found = parsed(records, schema)
    plainly = [canonical(train.Example, record) for record in records]
    if None in plainly:
        return  # that it did not crash is all there is to say
    expected = tensorflow_parses(tf, plainly, schema)
    if found is None and expected is not None:
        # Partitions that do not cover the values, and sparse values without an index, are errors:
        # TensorFlow drops the values, or gives them to another record.
        assert is_partitioned(schema) or uneven(plainly, schema), f"{seed}: {schema} {records}"
        return
    assert settle(found, schema) == settle(expected, schema), f"{seed}: {schema} {records}"


def settle(columns: Any, schema: Schema) -> Any:
    """The columns, with sparse values of the same index in any order, when there are many.

    TensorFlow keeps their order, as fastrec does, up to 16 values; its sort is not a stable one.
    """
    for name, column in (columns or {}).items():
        if schema[name]["feature"] == "SparseFeature" and len(column[1]) > 16:
            column[1:3] = zip(*sorted(zip(*column[1:3], strict=True)), strict=True)
    return columns


def check_sequence(tf: Any, seed: str) -> None:
    context, lists, records = sequence_case(seed)
    found = parsed_sequence(records, context, lists)
    plainly = [canonical(train.SequenceExample, record) for record in records]
    if None in plainly:
        return
    expected = tensorflow_parses_sequence(tf, plainly, context, lists)
    assert found == expected, f"{seed}: {context} {lists} {records}"


@pytest.mark.parametrize("part", range(10))
def test_examples_become_the_same(tf: Any, part: int) -> None:
    for number in range(CASES * 7 // 100):
        check_example(tf, f"{part}-{number}")


@pytest.mark.parametrize("part", range(10))
def test_sequence_examples_become_the_same(tf: Any, part: int) -> None:
    for number in range(CASES * 3 // 100):
        check_sequence(tf, f"{part}-{number}")


def golden_cases(tf: Any) -> list[Any]:
    cases = []
    for number in range(150):
        schema, records = example_case(f"golden-{number}")
        if number % 3 and None not in [canonical(train.Example, record) for record in records]:
            records = [canonical(train.Example, record) or b"" for record in records]
            result = tensorflow_parses(tf, records, schema)
            if result is None or parsed(records, schema) is not None:
                cases.append(["example", [schema], [r.hex() for r in records], result])
    for number in range(50):
        context, lists, records = sequence_case(f"golden-{number}")
        canonicals = [canonical(train.SequenceExample, record) for record in records]
        if None not in canonicals:
            result = tensorflow_parses_sequence(tf, canonicals, context, lists)
            hexes = [(record or b"").hex() for record in canonicals]
            cases.append(["sequence", [context, lists], hexes, result])
    return cases


def test_the_golden_results_are_still_what_tensorflow_gives(tf: Any) -> None:
    """FASTREC_WRITE_GOLDEN=1 writes them anew."""
    text = "[\n" + ",\n".join(json.dumps(case) for case in golden_cases(tf)) + "\n]\n"
    if os.environ.get("FASTREC_WRITE_GOLDEN") == "1":
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text
