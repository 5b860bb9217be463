# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's operations on single records, and partitions inside of feature lists.

TensorFlow has a second parser for single records, with messages and faults of its own. What is said
in test_every_kind_of_feature.py about damaged records goes here, too.
"""

from __future__ import annotations

from typing import Any

import pytest
from oracle_cases import (
    CASES,
    as_ours,
    canonical,
    example_case,
    is_partitioned,
    sequence_case,
    tensorflow_parses_sequence,
    theirs,
    uneven,
)
from parsing_cases import (
    DTYPES,
    Maker,
    Schema,
    parsed_sequence,
    parsed_single,
    parsed_single_sequence,
)

from fastrec import train


def tensorflow_parses_single(tf: Any, record: bytes, schema: Schema) -> Any:
    features = {name: theirs(tf, description) for name, description in schema.items()}
    try:
        result = tf.io.parse_single_example(record, features)
    except (tf.errors.InvalidArgumentError, ValueError):
        return None
    return {name: as_ours(tf, value) for name, value in result.items()}


def tensorflow_parses_single_sequence(tf: Any, record: bytes, *schemas: Schema) -> Any:
    features = (
        {name: theirs(tf, description) for name, description in schema.items()} or None
        for schema in schemas
    )
    try:
        results = tf.io.parse_single_sequence_example(record, *features)
    except (tf.errors.InvalidArgumentError, ValueError):
        return None
    return [{name: as_ours(tf, value) for name, value in result.items()} for result in results]


def has_row_splits(schema: Schema) -> bool:
    partitions = [d.get("partitions", []) for d in schema.values()]
    return any(kind == "RowSplits" for each in partitions for kind, _ in each)


@pytest.mark.parametrize("part", range(5))
def test_single_examples_become_the_same(tf: Any, part: int) -> None:
    for number in range(CASES * 6 // 100):
        schema, records = example_case(f"single-{part}-{number}")
        found = parsed_single(records[0], schema)
        plainly = canonical(train.Example, records[0])
        if plainly is None:
            continue
        expected = tensorflow_parses_single(tf, plainly, schema)
        why = f"{part}-{number}: {schema} {records[0]!r}"
        if found is None and expected is not None:
            assert is_partitioned(schema) or uneven([plainly], schema), why
        elif expected is None and found is not None:
            # A missing feature of row splits is no rows, but to TensorFlow's single operation.
            assert has_row_splits(schema), why
        else:
            assert found == expected, why


@pytest.mark.parametrize("part", range(5))
def test_single_sequence_examples_become_the_same(tf: Any, part: int) -> None:
    for number in range(CASES * 2 // 100):
        context, lists, records = sequence_case(f"single-{part}-{number}")
        found = parsed_single_sequence(records[0], context, lists)
        plainly = canonical(train.SequenceExample, records[0])
        if plainly is None:
            continue
        expected = tensorflow_parses_single_sequence(tf, plainly, context, lists)
        assert found == expected, f"{part}-{number}: {context} {lists} {records[0]!r}"


def frames_case(seed: str) -> tuple[Schema, list[bytes]]:
    maker = Maker(seed)
    partitioned: dict[str, Any] = {}
    while not partitioned:
        partitioned = maker.ragged()
    dtype = maker.random.choice(list(DTYPES))
    lists: Schema = {"rows": {"feature": "RaggedFeature", "dtype": dtype, **partitioned}}
    records = [maker.partitioned_sequence(lists) for _ in range(maker.random.choice([1, 2, 3]))]
    return lists, [record.SerializeToString(deterministic=True) for record in records]


@pytest.mark.parametrize("part", range(5))
def test_partitions_in_feature_lists_become_the_same(tf: Any, part: int) -> None:
    agreed = 0
    for number in range(CASES * 2 // 100):
        lists, records = frames_case(f"frames-{part}-{number}")
        found = parsed_sequence(records, {}, lists)
        plainly = [canonical(train.SequenceExample, record) for record in records]
        if None in plainly:
            continue
        expected = tensorflow_parses_sequence(tf, plainly, {}, lists)
        if found is None:
            continue  # partitions that do not cover the values are errors, and not to TensorFlow
        assert found == expected, f"{part}-{number}: {lists} {records}"
        agreed += 1
    assert agreed > CASES // 100
